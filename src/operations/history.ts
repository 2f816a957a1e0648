import { type EndDetail, isBadEnd, whyEnded } from '../exports/rules/site-export.ts';
import type { PassRow } from '../feedback/reading/passes.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import type { ExportRunRow } from '../feedback/store/run-records.ts';
import { withoutFailureType } from '../rules/errors.ts';
import { counted, spanText } from '../rules/text.ts';

/** A site, a project, or all projects of an organization, which a refresh reads. */
interface Subject {
  org: string;
  domain?: string;
  project?: string;
}

/** A run or pass that has ended; neither of a site nor of a project where a refresh was cut off or failed. */
export interface EndedRun extends Subject {
  pass?: string;
  outcome: string;
  /** Whether a person should look at it. */
  bad: boolean;
  version?: string | null;
  /** UTC ISO 8601. */
  startedAt: string;
  finishedAt: string;
  reason: string | null;
  workflowId: string;
  runId: string;
}

/** Ends that a person should look at, of exports and passes; `isBadEnd` says which of the rejected ones are. */
const badOutcomes = ['failed', 'rejected', 'rollout-failed'] as const;

export interface EndedRuns {
  /** Failed ones first, each group newest first. */
  runs: EndedRun[];
  /** Whether more ended than were asked for. */
  more: boolean;
}

/**
 * What ended of these since a moment (UTC ISO 8601). Reads the store alone: at most the `most` newest exports, as many
 * passes, and as many of each outcome that a person should look at.
 */
export async function endedRuns(
  store: Pick<FeedbackStore, 'listExportRuns' | 'listPasses'>,
  since: string,
  subjects: readonly Subject[],
  most?: number,
): Promise<EndedRuns> {
  const wanted = new Set(subjects.map(nameOf));
  const newest = { endedSince: since, ...(most !== undefined && { limit: most }) };
  const found = new Map<string, EndedRun>();
  let more = false;
  for (const outcome of most === undefined ? [undefined] : [undefined, ...badOutcomes]) {
    const exports = await store.listExportRuns({ ...newest, ...(outcome && { outcome }) });
    const isOfPasses = outcome === undefined || outcome === 'failed';
    const passes = isOfPasses ? await store.listPasses({ ...newest, ...(outcome && { outcome }) }) : [];
    more ||= exports.length === most || passes.length === most;
    for (const row of exports) found.set(`${row.workflowId} ${row.runId}`, endedRun(row));
    for (const row of passes) for (const end of endedPass(row)) found.set(row.passId, end);
  }
  const runs = [...found.values()]
    .filter((run) => wanted.has(nameOf(run)))
    .sort((a, b) => Number(b.bad) - Number(a.bad) || b.finishedAt.localeCompare(a.finishedAt));
  return { runs, more };
}

/** `40 runs ended in the last 24 h, 2 failed`. */
export const endedText = (found: readonly EndedRun[], sinceMs: number): string =>
  `${counted(found.length, 'run')} ended in the last ${spanText(sinceMs)}, ${found.filter(({ bad }) => bad).length} failed`;

function endedRun(row: ExportRunRow): EndedRun {
  const { org, domain, outcome, version, startedAt, finishedAt, detail, workflowId, runId } = row;
  const end = JSON.parse(detail) as EndDetail;
  const [bad, reason] = [isBadEnd(outcome, end), whyEnded(end) || null];
  return { org, domain, outcome, bad, version, startedAt, finishedAt, reason, workflowId, runId };
}

function endedPass(row: PassRow): EndedRun[] {
  const { org, project, pass, outcome, startedAt, finishedAt, error, workflowId, runId } = row;
  if (finishedAt === null) return [];
  const [bad, reason] = [outcome === 'failed', error === null ? null : withoutFailureType(error)];
  const subject = { org, ...(project !== '' && { project }) };
  return [{ ...subject, pass, outcome, bad, startedAt, finishedAt, reason, workflowId, runId }];
}

const nameOf = ({ org, domain, project }: Subject): string => JSON.stringify([org, domain ?? null, project ?? null]);
