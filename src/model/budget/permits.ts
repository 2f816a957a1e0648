/** What is said between the budget and those who want its permits. All moments are the budget's, in milliseconds. */

export interface WindowSettings {
  /** Requests an organization may make in one window. */
  requests: number;
  /** Requests left to other programs at least; what others are seen to use is left to them besides. */
  reserve: number;
  windowMs: number;
  /** Assumption D of docs/budget.md: longest time from the last check to arrival. */
  arrivalMs: number;
}

/** Kinds of request in the order of their urgency (B3); `verify` gets what would be left over (spare-requests.ts). */
export const permitClasses = ['on-demand', 'incremental', 'review', 'sweep', 'verify'] as const;
export type PermitClass = (typeof permitClasses)[number];

/** Why nobody gets a permit now. */
export type BlockReason = 'window-full' | 'throttled' | 'probing' | 'unauthorized' | 'paused';
/** Why an asker gets none; `kept-free`: what is free is not spare. */
export type WaitReason = BlockReason | 'kept-free';

/** When a pass will be done, should nothing change: pages still to read, and windows until then. */
export interface Forecast {
  doneAt: number;
  pages: number;
  windows: number;
}

export interface PermitAsk {
  /** Random, made once for this question and never used for another: B1 rests on it. A repeated question repeats it. */
  id: string;
  holder: string;
  /** Projects of one class take turns. */
  project: string;
  class: PermitClass;
  /** Pages wanted, 1 to `maxLease`. */
  wants: number;
  /** Pages the holder expects to read still, for forecasts; absent when it cannot tell. */
  remaining?: number;
  /** When the server scheduled the asking attempt; an older attempt than the latest seen is refused. */
  attemptAt: number;
  /** False for an asker that will not come back: it gets no place in the queue. */
  mayWait?: boolean;
  /** Of class `verify`: requests that schedules are expected to need within the next window; they are left alone. */
  leave?: number;
}

export type PermitAnswer =
  | {
      kind: 'granted';
      leaseId: string;
      grantedAt: number;
      useBy: number;
      notBefore: number[];
      /** A request without an answer may arrive until this long after its check. */
      arrivalMs: number;
      forecast: Forecast | null;
    }
  | PermitWait
  /** A newer attempt of the holder has asked, or the asker itself has given the lease back before it was granted. */
  | { kind: 'superseded' };

export interface PermitWait {
  kind: 'wait';
  now: number;
  waitUntil: number;
  place: number;
  behind: string[];
  reason: WaitReason;
  forecast: Forecast | null;
}

export interface LeaseReport {
  leaseId: string;
  /** Upper bounds of the moments at which the used permits' requests had arrived, in order. */
  arrived: number[];
  /** True when the service answered a request of this lease, and neither with 429 nor with 401. */
  accepted?: boolean;
  /** Set when the service answered 429: milliseconds to wait as it said, or null when it did not say. */
  throttled?: { retryAfterMs: number | null };
  /** True when the service refused the key (401). */
  unauthorized?: boolean;
}

/** What a person set for a while with `budget set`; it stands instead of the configuration. */
export interface BudgetOverride {
  requests?: number;
  reserve?: number;
  /** Null: until `budget reset`. */
  until: number | null;
}

/** `budget set` and `budget pause` for a while, counted by the budget's clock; null: until somebody ends it. */
export interface ForAWhile {
  forMs: number | null;
}

export type OverrideAsk = Omit<BudgetOverride, 'until'> & ForAWhile;

/** What is wrong with an override, for the person who gave it; null when nothing is. */
export function overrideProblem(settings: WindowSettings, override: OverrideAsk): string | null {
  const { requests = settings.requests, reserve = settings.reserve } = override;
  if (!Number.isInteger(requests) || requests < 1) return 'requests must be a whole number from 1 on';
  if (!Number.isInteger(reserve) || reserve < 0) return 'reserve must be a whole number from 0 on';
  return reserve < requests ? null : `reserve (${reserve}) must be less than requests (${requests})`;
}

/** Pages a lease has at most, however many are wanted. */
export const maxLease = 20;
/** Time a lease can be used in; what is left of it then is returned. */
export const leaseMs = 15_000;

/** The window as `budget show` prints it (contracts.md). */
export interface WindowView {
  limit: number;
  /** Requests left to others now: the configured reserve, or what they are seen to use if that is more. */
  reserve: number;
  windowMs: number;
  used: number;
  available: number;
  /** Nobody gets a permit before; null when nothing stands in the way but the window. */
  pausedUntil: number | null;
  pausedBy: Exclude<BlockReason, 'window-full' | 'probing'> | null;
  nextFreeAt: number | null;
  /** Requests a window that other programs are seen to use; null when nothing is known of them. */
  strangers: number | null;
  override: BudgetOverride | null;
  holders: { workflowId: string; class: PermitClass; permits: number; since: number; forecast: Forecast | null }[];
  waiters: {
    workflowId: string;
    class: PermitClass;
    since: number;
    expectedAt: number;
    forecast: Forecast | null;
  }[];
  throttledInWindow: number;
  /** When each held slot comes free, ascending. */
  releases: number[];
}
