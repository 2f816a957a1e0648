import { Database } from '../../src/sqlite.ts';
import { Stage } from '../budget/budget-stage.ts';
import { statusChanges } from '../status/status-changes.ts';
import type { Track } from '../tools/track.ts';
import { plainFetch } from './plain-fetch.ts';

/** What a way of reading cost and brought after the changes. */
interface ReadingFigures {
  way: string;
  requests: number;
  /** Of the changes of status, and of the new entries. */
  changesSeen: number;
  newSeen: number;
}

export interface ChangesFigures {
  entries: number;
  openShare: number;
  changes: number;
  added: number;
  /** Requests of the sweep that filled the store. */
  sweepRequests: number;
  ways: ReadingFigures[];
}

const project = 'prj_1';
const added = 200;
const dayMs = 86_400_000;

/** bench/README.md "changes", through a real worker and a real Temporal server, with a budget that never makes it wait. */
export async function measureChanges(entries: number, openShare: number, track: Track): Promise<ChangesFigures> {
  const budget = { requests: 10_000, windowMs: 60_000, arrivalMs: 5_000 };
  const sandboxFlags = ['--open-share', `${openShare}`, '--days', '400'];
  const opening = Stage.open({ ...budget, entries, projects: [project], workers: 1, sandboxFlags });
  track(opening);
  const stage = await opening;
  try {
    await stage.startWorkers();
    const run = async (pass: 'sweep' | 'incremental' | 'review'): Promise<number> => {
      const before = (await stage.sandbox.log()).length;
      await stage.resultOf(await stage.startPass(project, pass));
      return (await stage.sandbox.log()).length - before;
    };
    const sweepRequests = await run('sweep');
    const before = await truthOf(stage);
    const changes = statusChanges(before.values(), Date.now());
    await stage.sandbox.changeEntries(project, changes);
    const ids = await stage.sandbox.addEntries(project, added);
    const seenIn = (held: ReadonlyMap<string, string>) => ({
      changesSeen: changes.filter(({ id, status }) => held.get(id) === status).length,
      newSeen: ids.filter((id) => held.has(id)).length,
    });

    const ways: ReadingFigures[] = [];
    const requests = (await run('incremental')) + (await run('review'));
    ways.push({ way: 'docferry, incremental + review', requests, ...seenIn(storedStatuses(stage)) });
    const source = { service: stage.serviceUrl, key: stage.apiKey, project };
    const aMonthAgo = new Date(Date.now() - 30 * dayMs).toISOString().slice(0, 10);
    for (const [way, from] of [['everything again'], ['the last 30 days again', aMonthAgo]] as const) {
      const held = new Map([...before].map(([id, { status }]) => [id, status]));
      ways.push({ way: `a plain script, ${way}`, requests: await plainFetch(source, held, from), ...seenIn(held) });
    }
    return { entries, openShare, changes: changes.length, added, sweepRequests, ways };
  } finally {
    await stage.stop();
  }
}

async function truthOf(stage: Stage) {
  const entries = new Map<string, { id: string; status: string; createdAt: string | null }>();
  for await (const entry of stage.sandbox.truthOf(project)) entries.set(entry.id, entry);
  return entries;
}

function storedStatuses(stage: Stage): Map<string, string> {
  const db = new Database(stage.feedbackFile, { readOnly: true });
  try {
    const rows = db.prepare<{ id: string; status: string }>('select id, status from feedback').all();
    return new Map(rows.map(({ id, status }) => [id, status]));
  } finally {
    db.close();
  }
}
