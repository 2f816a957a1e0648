/** What is said between the budget and those who want its permits. All moments are the budget's, in milliseconds. */

export interface WindowSettings {
  /** Requests an organization may make in one window. */
  requests: number;
  /** Requests left to other programs. */
  reserve: number;
  windowMs: number;
  /** Assumption D of docs/budget.md: longest time from the last check to arrival. */
  arrivalMs: number;
}

/** Kinds of request in the order of their urgency (DESIGN B3). */
export type PermitClass = 'on-demand' | 'incremental' | 'review' | 'sweep';

export interface PermitAsk {
  /** Random, made once for this question and never used for another: B1 rests on it. A repeated question repeats it. */
  id: string;
  holder: string;
  class: PermitClass;
  /** Pages wanted, 1 to `maxLease`. */
  wants: number;
  /** When the server scheduled the asking attempt; an older attempt than the latest seen is refused. */
  attemptAt: number;
  /** False for an asker that will not come back: it gets no place in the queue. */
  mayWait?: boolean;
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
    }
  | { kind: 'wait'; now: number; waitUntil: number; place: number; behind: string[] }
  | { kind: 'superseded' };

export interface LeaseReport {
  leaseId: string;
  /** Upper bounds of the moments at which the used permits' requests had arrived, in order. */
  arrived: number[];
  /** Set when the service answered 429: milliseconds to wait as it said, or null when it did not say. */
  throttled?: { retryAfterMs: number | null };
}

/** Pages a lease has at most, however many are wanted. */
export const maxLease = 20;

/** What `budget show` prints (DESIGN §5). */
export interface WindowView {
  limit: number;
  reserve: number;
  windowMs: number;
  used: number;
  available: number;
  pausedUntil: number | null;
  nextFreeAt: number | null;
  holders: { workflowId: string; permits: number; since: number }[];
  waiters: { workflowId: string; class: PermitClass; since: number; expectedAt: number }[];
  throttledInWindow: number;
}
