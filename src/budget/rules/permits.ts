import type { WithFailover } from '../../temporal/rules/failover.ts';

/** How long a permit lives: its request leaves within this, or the permit is returned. */
export const leaseMs = 15_000;
/** The most permits of one lease, each for a page. */
export const maxLease = 20;

/* Messages between the budget and the activities that ask for permits. All moments are the budget's, in milliseconds. */

/** The most requests in a window: as many slots as one run of the budget can carry to the next (docs/budget.md). */
export const mostRequests = 10_000;

export interface WindowSettings extends WithFailover {
  /** Requests an organization may make in one window. */
  requests: number;
  /** Requests left to other clients at least; they are also left what they are seen to use. */
  reserve: number;
  windowMs: number;
  /** Assumption D of docs/budget.md: longest time from the last check to arrival. */
  arrivalMs: number;
  /** When the configuration that says so was written: an older one does not replace it. Absent: before all others. */
  configuredAt?: number;
  /** Identity of the feedback store of the workers that say so: another one's are refused (budget.md). */
  installation?: string;
}

/** Kinds of request, the most urgent first (B3): what people and programs ask for, and what keeps feedback fresh. */
export const permitClasses = ['on-demand', 'refresh'] as const;
export type PermitClass = (typeof permitClasses)[number];

/** Why no permits are granted now. */
export type BlockReason = 'window-full' | 'throttled' | 'probing' | 'unauthorized' | 'paused';
/** Why an asker gets none; `share`: a program holds all it may. */
export type WaitReason = BlockReason | 'share';

/** When a pass will be done if nothing changes, the pages left to read, and the windows until then. */
export interface Forecast {
  doneAt: number;
  pages: number;
  windows: number;
}

export interface PermitAsk {
  /** Random and unique to this question, repeats of it included: B1 rests on that. */
  id: string;
  holder: string;
  /** Projects of one class take turns. */
  project: string;
  class: PermitClass;
  /** Pages wanted, 1 to `maxLease`. */
  wants: number;
  /** Pages the holder still expects to read, for forecasts; absent when unknown. */
  remaining?: number;
  /** When the server scheduled the asking attempt; attempts older than the latest seen are refused. */
  attemptAt: number;
  /** False for an asker that will not come back: it gets no place in the queue. */
  mayWait?: boolean;
  installation?: string;
  /** For a program behind the gateway, which nothing can wake: the most per cent of the limit that it may hold, or null. */
  program?: { share: number | null };
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
  /** A newer attempt of the holder has asked, or the asker returned the lease before it was granted. */
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
  /** True when the service answered a request of this lease with neither 429 nor 401. */
  accepted?: boolean;
  /** Set when the service answered 429; the milliseconds it asked to wait, null when it did not say. */
  throttled?: { retryAfterMs: number | null };
  unauthorized?: boolean;
  /** True when the service answered 401 to a program: it may have refused the key, or the path that the program chose. */
  doubted?: boolean;
}

/** Limits that a person set with `budget set`; they replace the configured ones. */
export interface BudgetOverride {
  requests?: number;
  reserve?: number;
  /** Null: until `budget reset`. */
  until: number | null;
  /** Who set it. */
  by?: string;
}

/** Duration of `budget set` and `budget pause` by the budget's clock; null: until a person ends it. */
export interface ForAWhile {
  forMs: number | null;
}

export type OverrideAsk = Omit<BudgetOverride, 'until' | 'by'> & ForAWhile;

/** What is wrong with an override, in words; null if it is valid. */
export function overrideProblem(settings: WindowSettings, override: OverrideAsk): string | null {
  const { requests = settings.requests, reserve = settings.reserve } = override;
  if (!Number.isInteger(requests) || requests < 1 || requests > mostRequests) {
    return `requests must be a whole number from 1 to ${mostRequests}; for more, shorten the window in proportion`;
  }
  if (!Number.isInteger(reserve) || reserve < 0) return 'reserve must be a whole number from 0 on';
  return reserve < requests ? null : `reserve (${reserve}) must be less than requests (${requests})`;
}

/** How a budget confirms a change: the window itself, with all its waiters, does not go into the history. */
export interface BudgetConfirmation {
  configuredAt: number | null;
}

/** A program that asks through the gateway; its leases and its place in the queue have its name. */
export interface ProgramView {
  workflowId: string;
  used: number;
  share: number | null;
}

/** What docferry.yaml says of a window. */
export type Limits = Pick<WindowSettings, 'requests' | 'reserve' | 'windowMs' | 'arrivalMs'>;

export const limitsIn = ({ requests, reserve, windowMs, arrivalMs }: Limits): Limits => ({
  requests,
  reserve,
  windowMs,
  arrivalMs,
});

/** The limits of one that the other does not have. */
export function drift(own: Limits, other: Limits): Partial<Limits> {
  const names = ['requests', 'reserve', 'windowMs', 'arrivalMs'] as const;
  return Object.fromEntries(names.filter((name) => own[name] !== other[name]).map((name) => [name, own[name]]));
}

/** The window as `budget show` prints it (contracts.md). */
export interface WindowView {
  limit: number;
  /** Requests left to other clients now: the configured reserve, or their observed use if that is more. */
  reserve: number;
  windowMs: number;
  used: number;
  available: number;
  /** No permit is granted before; null when only the window decides. */
  pausedUntil: number | null;
  pausedBy: Exclude<BlockReason, 'window-full' | 'probing'> | null;
  nextFreeAt: number | null;
  /** The ledger was lost or reset, or its clock was ahead: its window counts as full until then; null when all is known. */
  countsAsFullUntil: number | null;
  /** Requests per window that other clients are seen to use; null when nothing is known of them. */
  otherClients: number | null;
  override: BudgetOverride | null;
  /** What was configured last, by docferry.yaml or by another client. */
  configured: Limits;
  holders: { workflowId: string; class: PermitClass; permits: number; since: number; forecast: Forecast | null }[];
  waiters: {
    workflowId: string;
    class: PermitClass;
    since: number;
    expectedAt: number;
    forecast: Forecast | null;
  }[];
  /** Programs that ask through the gateway, with the slots they hold and the most per cent of the limit they may. */
  programs: ProgramView[];
  throttledInWindow: number;
  configuredAt: number | null;
  /** Signals that made no sense since the budget began. */
  ignored: number;
  releases: number[];
}

/** Result of asking the service whether it accepts an organization's key (`docferry doctor --key`). */
export type KeyCheck =
  | ({ outcome: 'accepted' } & CheckedKey)
  /** `type` is one of the failure types, e.g. `Unauthorized`; the message may be shown. */
  | ({ outcome: 'refused'; type: string; message: string } & CheckedKey)
  /** The budget had no request to spare: nothing was sent. Milliseconds since the epoch. */
  | { outcome: 'no-permit'; until: number }
  /** The organization has no project to ask for: nothing was sent. */
  | { outcome: 'no-project' };

interface CheckedKey {
  project: string;
  /** How far the worker's clock is ahead of the service's, to the second; null when the service did not say. */
  clockAheadMs: number | null;
}
