import type { RunOutcome } from '../../exports/rules/site-export.ts';
import type { ProjectKey } from '../rules/feedback-entry.ts';
import type { PassKind } from '../rules/sync.ts';

/** The row of a run of a site export (X4). */
export interface ExportRunRow {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  startedAt: string;
  finishedAt: string;
  outcome: RunOutcome;
  jobId: string | null;
  jobsStarted: number;
  version: string | null;
  contentDigest: string | null;
  polls: number;
  /** JSON text: reasons, rollouts and the failure's type and message. */
  detail: string;
  /** How long the job took, in milliseconds; null when it was not completed, or exported some pages only. */
  jobMs: number | null;
}

export interface SiteKey {
  org: string;
  domain: string;
}

/** How the latest run of a site ended. Times are UTC ISO 8601. */
export interface SiteRecord extends SiteKey {
  lastOutcome: RunOutcome;
  lastAt: string;
  /** End of the last export that brought or confirmed a version; of the first run while none did. */
  exportedAt: string;
  /** Why it ended so, cut to 300 characters; null when all went well. */
  lastReason: string | null;
  /**
   * End of the first run that failed, was refused by verification or had a failed rollout since the last good run; null
   * when there is none. Cancelled runs count as neither; exports of some pages that did not become current are never good.
   */
  failingSince: string | null;
}

/** How the latest pass of a project ended; nulls where none has. Times are UTC ISO 8601. */
export interface ProjectRecord extends ProjectKey {
  lastPass: PassKind | null;
  lastOutcome: 'completed' | 'failed' | 'cancelled' | null;
  lastAt: string | null;
  /** Like a site's run. */
  lastReason: string | null;
  /** Start of the last reading of its newest entries, by `refresh` or on demand; null for never. */
  newestReadAt: string | null;
  /** Whether its first reading is under way, which may take days; what it has read is stored. */
  firstReading: boolean;
  /** All stored entries are as the service had them at this moment; null while some may not be. */
  verifiedUpTo: string | null;
  /**
   * End of the first pass that failed since one of its kind, or a sweep without dates, completed, or when refresh could
   * not read on; null for none.
   */
  failingSince: string | null;
}

export interface LatestRecords {
  /** Without sites that have no ended run. */
  sites: SiteRecord[];
  /** In the order of the keys. */
  projects: ProjectRecord[];
}

/** Which runs to list; all without a field. */
export interface RunFilter {
  org?: string;
  domain?: string;
  outcome?: RunOutcome;
  /** They began at this moment or later, UTC ISO 8601. */
  since?: string;
  /** They ended at this moment or later, UTC ISO 8601; the latest end comes first then, else the latest start. */
  endedSince?: string;
  limit?: number;
}
