import type { RefusedKey } from '../budget/key-tries.ts';
import type { ArchiveFacts, Reason } from './archive-facts.ts';
import type { ProgressSample } from './cadence.ts';
import type { ContentChanges } from './content-changes.ts';
import type { Transfer } from './transfer.ts';

/** Phases of an export in the order they are taken (architecture.md). */
export type ExportPhase =
  | 'starting'
  | 'rendering'
  | 'fetching'
  | 'verifying'
  | 'publishing'
  | 'awaiting-approval'
  | 'rolling-out'
  | 'done';

/** What became of one rollout target. */
export interface RolloutResult {
  /** The target's name, unique within a site, e.g. `directory:./site`. */
  target: string;
  outcome: 'rolled-out' | 'already-current' | 'failed';
  detail: string;
}

/** Longest reason of a person, in characters: it stands in results and details (architecture.md). */
export const longestReason = 500;

/** What a person can ask of an export; two requests with equal parameters are the same request (E1). */
export interface ExportParameters {
  siteVersion?: string;
  paths?: string[];
  /** Make an export limited by `paths` the current version all the same. */
  promote?: boolean;
  /** Publish and roll out even if nothing changed. */
  force?: boolean;
  /** Never asked of an export: the version that a rollback, running under the same id, puts back. */
  rollback?: string;
}

/** Input of `exportSite`. */
export interface ExportInput {
  org: string;
  domain: string;
  parameters: ExportParameters;
  /** Set by continue-as-new only. */
  carried?: ExportProgress;
}

/** What an export has done so far. */
export interface ExportProgress {
  startedAt: number;
  /** Identity of the bundle store the export writes to. */
  storeId: string;
  jobId: string | null;
  jobStartedAt: number | null;
  jobsStarted: number;
  /** Starts whose answer was lost: each may have left a job of its own at the service. */
  possibleDuplicates: number;
  polls: number;
  percent: number | null;
  pageCount: number | null;
  samples: ProgressSample[];
  linksRequested: number;
  /** How long the job had run when it was last seen running. Absent in runs that began with release 0.1.0. */
  runningMs?: number;
  /** How long the completed job took, as far as polls can tell. */
  jobMs?: number;
}

/** Result of `exportSite` (contracts.md, `export start --wait`). */
export interface ExportResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: 'published' | 'unchanged' | 'rejected';
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
  /** The version at which a person holds the site; null when nobody does. A held site goes on with that version. */
  held: string | null;
}

/** Input of `rollBack`. */
export interface RollbackInput {
  org: string;
  domain: string;
  version: string;
  reason: string | null;
}

/** Result of `rollBack` (E7, `export rollback --wait`). */
export interface RollbackResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: 'rolled-back';
  version: string;
  /** What was current before. */
  previous: string | null;
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
  held: string;
  rollouts: RolloutResult[];
}

/** A version that waits for a person. */
export interface AwaitedApproval {
  version: string;
  /** Milliseconds since the epoch, as is `expiresAt`: then it counts as rejected. */
  since: number;
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
  /** Set while rendering: when the job is asked next, why then, and when it may be done. */
  nextPoll: { at: number; reason: string; expectedAt: number | null } | null;
  /** Set while the service refuses the key (401); the export goes on by itself when it works. */
  unauthorized: RefusedKey | null;
  /** Set while the archive is fetched and something is known of it. */
  download: Transfer | null;
  version: string | null;
  /** Set while a person is waited for. */
  approval: AwaitedApproval | null;
  rollouts: RolloutResult[];
}

/** Equal requests are joined, others refused (E1): the order of paths does not matter. */
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

/** What an export compares its content with. */
export interface Published {
  contentDigest: string;
  current: { version: string; contentDigest: string } | null;
  /** Set while a person holds the site: what waits there for the release. */
  waiting?: { version: string; contentDigest: string } | null;
}

/**
 * The version that has this content already, null when it is new (E6): the current one, or the one that would be
 * if the site were not held. Older ones do not count: A, B, A makes three versions.
 */
export function versionWithContent({ contentDigest, current, waiting }: Published): string | null {
  if (current?.contentDigest === contentDigest) return current.version;
  return waiting?.contentDigest === contentDigest ? waiting.version : null;
}

/** Whether an export becomes what readers of `current` see (E6). */
export function becomesCurrent(parameters: ExportParameters): boolean {
  return parameters.promote === true || (parameters.paths ?? []).length === 0;
}
