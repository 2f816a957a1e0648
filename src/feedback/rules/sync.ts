import { z } from 'zod/mini';
import type { Forecast, WaitReason } from '../../budget/rules/permits.ts';
import { own, reader, text, writing } from '../../rules/messages.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';
import type { EntryCounts } from './feedback-entry.ts';
import { type PassKind, passKinds } from './pass-bounds.ts';

export interface SyncInput extends WithFailover {
  org: string;
  project: string;
  pass: PassKind;
  /** Bounds given by a person: ISO 8601 date-time or date. */
  from?: string;
  to?: string;
  /** Set by continue-as-new only. */
  carried?: CarriedSync;
}

/** What a pass has done so far; counts only, the position is in the store. */
export interface SyncProgress {
  passId: string;
  /** Identity of the store the pass writes to. */
  storeId: string;
  pages: number;
  requests: number;
  throttled: number;
  waitedMs: number;
  entries: EntryCounts;
}

export interface CarriedSync extends SyncProgress {
  /** Failed tries of the next page. */
  tries: number;
  /** Signals that made no sense. */
  ignored?: number;
}

/** Result of `syncFeedback` (contracts.md, `feedback sync --wait`). */
export interface SyncResult extends Omit<SyncProgress, 'passId' | 'storeId'> {
  workflowId: string;
  runId: string;
  org: string;
  project: string;
  pass: PassKind;
  watermark: string | null;
  verifiedUpTo: string | null;
}

/** Answer of the query `state`. */
export interface SyncState {
  org: string;
  project: string;
  pass: PassKind;
  /** `unauthorized`: the service refuses the key, and the pass waits until it works. */
  phase: 'starting' | 'reading' | 'waiting-for-budget' | 'unauthorized' | 'done';
  progress: SyncProgress | null;
  /** Set while waiting for the budget: until when, in milliseconds since the epoch, behind whom, and why. */
  waiting: { until: number; place: number; behind: string[]; reason: WaitReason } | null;
  /** When the pass is expected to be done; null when that is unknown. */
  forecast: Forecast | null;
  /** Signals that made no sense. */
  ignored: number;
}

/** Shape of the input of `syncFeedback` (X5). */
export const readSyncInput = reader<SyncInput>(
  z.object({
    org: text(),
    project: text(),
    pass: z.enum(passKinds),
    from: z.exactOptional(writing()),
    to: z.exactOptional(writing()),
    failover: own<SyncInput['failover']>(),
    carried: own<SyncInput['carried']>(),
  }),
);
