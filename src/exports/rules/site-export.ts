import type { RefusedKey } from '../../budget/rules/key-tries.ts';
import type { WithHandover } from '../../temporal/rules/failover.ts';
import type { ArchiveFacts, Reason } from './archive-facts.ts';
import type { ProgressSample } from './cadence.ts';
import type { ContentChanges } from './content-changes.ts';
import type { ExportOutcome, RollbackOutcome } from './export-outcome.ts';
import type { Transfer } from './transfer.ts';

/** Phases of an export, in their order (architecture.md). */
export const exportPhases = [
  'starting',
  'rendering',
  'fetching',
  'verifying',
  'publishing',
  'awaiting-approval',
  'rolling-out',
  'done',
] as const;
export type ExportPhase = (typeof exportPhases)[number];

/**
 * The values of `DocferryPhase` for a running export: phases that may last, and by which people filter. Each change is
 * written to the history and to the index of workflows.
 */
export const searchedPhase = {
  starting: 'rendering',
  rendering: 'rendering',
  fetching: 'fetching',
  verifying: 'fetching',
  publishing: 'fetching',
  'awaiting-approval': 'awaiting-approval',
  'rolling-out': 'rolling-out',
  done: 'done',
} as const satisfies Record<ExportPhase, ExportPhase>;

/** Result of the rollout to one target. */
export interface RolloutResult {
  /** The target's name, unique within a site, e.g. `directory:./site`. */
  target: string;
  outcome: 'rolled-out' | 'already-current' | 'failed';
  detail: string;
}

/** Longest reason a person can give, in characters: it appears in results and in Current Details (architecture.md). */
export const longestReason = 500;

/** Parameters of an export; requests with equal parameters are the same request (E1). */
export interface ExportParameters {
  siteVersion?: string;
  paths?: string[];
  /** Make an export limited by `paths` the current version too. */
  promote?: boolean;
  /** Publish and roll out even if nothing changed. */
  force?: boolean;
  /** Never set for an export: the version that a rollback under the same workflow id puts back. */
  rollback?: string;
}

/** Input of `exportSite`. */
export interface ExportInput extends WithHandover {
  org: string;
  domain: string;
  parameters: ExportParameters;
  /** Set by continue-as-new only. */
  carried?: ExportProgress;
  /** Set by continue-as-new only, while the key is refused. */
  refused?: { since: number; refusals: number };
}

/** What an export has done so far. */
export interface ExportProgress {
  startedAt: number;
  /** Identity of the bundle store the export writes to. */
  storeId: string;
  jobId: string | null;
  jobStartedAt: number | null;
  jobsStarted: number;
  /** Starts whose answer was lost: each may have left another job at the service. */
  possibleDuplicates: number;
  polls: number;
  percent: number | null;
  pageCount: number | null;
  samples: ProgressSample[];
  linksRequested: number;
  /** How long the job had run when it was last seen running. */
  runningMs: number;
  /** How long the completed job took, as far as polls can tell. */
  jobMs?: number;
  /** The moment in the name of the version that the fetch publishes: all its attempts and runs use the same name (E6). */
  namedAt?: number;
  /** Signals that made no sense. */
  ignored?: number;
}

/** Result of `exportSite` (contracts.md, `export start --wait`). */
export interface ExportResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: ExportOutcome;
  jobId: string | null;
  jobsStarted: number;
  possibleDuplicates: number;
  version: string | null;
  contentDigest: string | null;
  archive: ArchiveFacts | null;
  pages: number;
  files: number;
  url: string | null;
  polls: number;
  linksRequested: number;
  rollouts: RolloutResult[];
  reasons: Reason[];
  /** The version at which a person holds the site; null when it is not held. A held site keeps that version. */
  held: string | null;
}

/** Input of `rollBack`. */
export interface RollbackInput extends WithHandover {
  org: string;
  domain: string;
  version: string;
  reason: string | null;
  /** Who rolls back; absent if the sender did not say. */
  who?: string;
}

/** Result of `rollBack` (E7, `export rollback --wait`). */
export interface RollbackResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: RollbackOutcome;
  version: string;
  /** The version that was current before. */
  previous: string | null;
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
  held: string;
  rollouts: RolloutResult[];
}

/** A version that waits for a person's approval. */
export interface AwaitedApproval {
  version: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** When the version counts as rejected. */
  expiresAt: number;
  changes: ContentChanges;
}

/** Answer of the query `state`. */
export interface ExportState {
  org: string;
  domain: string;
  phase: ExportPhase;
  parameters: ExportParameters;
  progress: ExportProgress | null;
  /** Set while rendering: when the job is polled next, why then, and when it may be done. */
  nextPoll: { at: number; reason: string; expectedAt: number | null } | null;
  /** Set while the service refuses the key (401); the export continues by itself when it works. */
  unauthorized: RefusedKey | null;
  /** Set while the archive is downloaded, once a heartbeat tells of it; the workflow itself does not know. */
  download: Transfer | null;
  version: string | null;
  /** Set while a version waits for approval. */
  approval: AwaitedApproval | null;
  rollouts: RolloutResult[];
  /** Signals that made no sense. */
  ignored: number;
}

/** Whether two requests are equal, the order of paths aside: equal requests are joined, others refused (E1). */
export function sameParameters(a: ExportParameters, b: ExportParameters): boolean {
  const key = (p: ExportParameters) =>
    JSON.stringify([
      p.siteVersion ?? null,
      [...(p.paths ?? [])].sort(),
      p.promote ?? false,
      p.force ?? false,
      p.rollback ?? null,
    ]);
  return key(a) === key(b);
}

/** An export's content, and what it is compared with. */
export interface Published {
  contentDigest: string;
  current: { version: string; contentDigest: string } | null;
  /** While the site is held: the version that waits for the release, or a kept one of this content; null for none. */
  waiting: { version: string; contentDigest: string } | null;
}

/**
 * The version that has this content already; null when the content is new (E6). A, B, A makes three
 * versions, unless the site is held: then what waits, or was rolled back from, is not published again.
 */
export function versionWithContent({ contentDigest, current, waiting }: Published): string | null {
  if (current?.contentDigest === contentDigest) return current.version;
  return waiting?.contentDigest === contentDigest ? waiting.version : null;
}

/** Whether an export becomes the current version (E6). */
export function becomesCurrent(parameters: ExportParameters): boolean {
  return parameters.promote === true || (parameters.paths ?? []).length === 0;
}
