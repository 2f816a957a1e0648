import { type NewEntries, type Sandbox, startSandbox } from '../../../sandbox/index.ts';
import { createRandom, type Random } from '../../../sandbox/random.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { readFeedbackPage } from '../../../src/service/client.ts';
import { type DocPage, docPages, snippetRemarks } from './voices.ts';

const dayMs = 86_400_000;
const days = 430;
/** A release that readers of its guide struggled with until it was mended, in days before the end. */
const release = { from: 170, until: 75 };

interface SceneOptions {
  org: string;
  project: string;
  /** The last day. */
  until: Date;
  seed: number;
}

interface Pending {
  id: string;
  closesAt: number;
  status: string;
}

/**
 * Fills a store as daily syncs of some 14 months would have: entries of the sandbox, their statuses changing over time,
 * each day's new and changed ones committed as a pass of that day.
 */
export async function fillStore(store: FeedbackStore, { org, project, until, seed }: SceneOptions): Promise<void> {
  const sandbox = await startSandbox({ organizations: [{ id: org, projects: [{ id: project, entries: 0 }] }] });
  try {
    const random = createRandom(seed);
    const pending: Pending[] = [];
    for (let left = days; left >= 0; left--) {
      const today = until.getTime() - left * dayMs;
      const ids = addDay(sandbox, project, random, today - dayMs, left, pending);
      ids.push(...closeDue(sandbox, project, pending, today));
      await commitDay(store, { org, project }, sandbox, new Set(ids), new Date(today));
    }
  } finally {
    await sandbox.stop();
  }
}

function addDay(
  sandbox: Sandbox,
  project: string,
  random: Random,
  begin: number,
  left: number,
  pending: Pending[],
): string[] {
  const weekend = [0, 6].includes(new Date(begin).getUTCDay()) ? 0.35 : 1;
  const count = Math.round((9 + 12 * (1 - left / days) + (isRough(left) ? 6 : 0)) * weekend * (0.6 + random() * 0.8));
  return Array.from({ length: count }).flatMap(() => {
    const at = begin + Math.floor(random() * dayMs);
    const entry = rollEntry(random, left);
    const fate = rollFate(random, at, left);
    const status = random() < 0.3 ? 'in_progress' : 'pending';
    const ids = sandbox.addEntries(project, { ...entry, createdAt: new Date(at).toISOString(), status });
    if (fate !== null) pending.push(...ids.map((id) => ({ id, ...fate })));
    return ids;
  });
}

function rollEntry(random: Random, left: number): NewEntries {
  const agents = 0.06 + 0.2 * (1 - left / days);
  const kind = random();
  const page = weightedPage(random);
  const { path } = page;
  if (kind < agents && page.agents.length > 0) {
    return { source: 'agent', fields: { path, comment: oneOf(random, page.agents) } };
  }
  if (kind < agents + 0.13) {
    const comment = random() < 0.6 ? oneOf(random, snippetRemarks) : null;
    const code = { code: "import { connect } from '@acme/queue';", filename: 'consumer.ts', lang: 'typescript' };
    return { source: 'code_snippet', fields: { path, comment, ...code } };
  }
  if (kind < agents + 0.35) return { source: 'thumbs_only', fields: { path, comment: null } };
  const helpful = random() < helps(page, left);
  const said = helpful ? page.praise : page.blame;
  const comment = said.length > 0 && random() < (helpful ? 0.18 : 0.55) ? oneOf(random, said) : null;
  return { source: 'contextual', fields: { path, comment, helpful, contact: null } };
}

function helps({ path, helps }: DocPage, left: number): number {
  if (path === '/guides/migrate-to-v4') return isRough(left) ? 0.24 : helps;
  return isRough(left) ? helps - 0.1 : helps + 0.05 * (1 - left / days);
}

function isRough(left: number): boolean {
  return left <= release.from && left > release.until;
}

/** When the team closes it, and how; null for what stays open. The team grew faster after the rough months. */
function rollFate(random: Random, at: number, left: number): Omit<Pending, 'id'> | null {
  if (random() < (left < 30 ? 0.35 : 0.05)) return null;
  const typical = isRough(left) ? 6 : left > release.from ? 4 : 2;
  const closesAt = at + (0.2 - Math.log(1 - random())) * typical * dayMs;
  return { closesAt, status: random() < 0.62 ? 'resolved' : 'dismissed' };
}

function closeDue(sandbox: Sandbox, project: string, pending: Pending[], now: number): string[] {
  const due = pending.filter(({ closesAt }) => closesAt <= now);
  sandbox.changeEntries(
    project,
    due.map(({ id, status }) => ({ id, status })),
  );
  const later = pending.filter(({ closesAt }) => closesAt > now);
  pending.splice(0, pending.length, ...later);
  return due.map(({ id }) => id);
}

async function commitDay(
  store: FeedbackStore,
  at: { org: string; project: string },
  sandbox: Sandbox,
  changed: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  const passId = `scene-${now.toISOString().slice(0, 10)}`;
  const sent = [...sandbox.truth(at.project)].filter((entry) => changed.has(idOf(entry)));
  const { entries, rejected } = readFeedbackPage(JSON.stringify({ feedback: sent, nextCursor: null, hasMore: false }));
  const workflow = { workflowId: `sync:${at.org}:${at.project}:incremental`, runId: passId };
  await store.beginPass({
    ...at,
    ...workflow,
    passId,
    pass: 'incremental',
    dateFrom: null,
    dateTo: null,
    startedAt: now,
  });
  const from = { page: 0, cursor: null, complete: false };
  await store.upsertPage({
    passId,
    from,
    entries,
    rejected,
    nextCursor: null,
    hasMore: false,
    requests: 1,
    seenAt: now,
  });
  await store.finishPass(passId, { outcome: 'completed', error: null, waitedMs: 0, finishedAt: now });
}

function idOf(entry: unknown): string {
  return typeof entry === 'object' && entry !== null && 'id' in entry ? String(entry.id) : '';
}

function weightedPage(random: Random): DocPage {
  const tickets = docPages.flatMap((page) => Array.from({ length: page.weight }, () => page));
  return oneOf(random, tickets);
}

function oneOf<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
