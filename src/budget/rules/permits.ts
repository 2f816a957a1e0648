import { z } from 'zod/mini';
import { number, reader, text, wholeNumber } from '../../rules/messages.ts';
import { failovers } from '../../temporal/rules/failover.ts';

/** How long a permit lives: its request leaves within this, or the permit is returned. */
export const leaseMs = 15_000;
/** The most permits of one lease, each for a page. */
export const maxLease = 20;

/** The most requests in a window: as many slots as one run of the budget can carry to the next (docs/budget.md). */
export const mostRequests = 10_000;

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

/*
 * Shapes of the messages to a budget (X5). All moments are the budget's, in milliseconds. The bounds are those of the
 * configuration, or far beyond any real message.
 */

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Keeps every moment computed from it a valid date. */
const longestSpanMs = 3_650 * dayMs;
const latestMoment = 4_102_444_800_000;
export const moment = () => number(0, latestMoment);

export const windowSettings = () =>
  z.object({
    /** Requests an organization may make in one window. */
    requests: wholeNumber(1, mostRequests),
    /** Requests left to other clients at least; they are also left what they are seen to use. */
    reserve: wholeNumber(0, mostRequests),
    windowMs: wholeNumber(100, 31 * dayMs),
    /** Assumption D of docs/budget.md: longest time from the last check to arrival. */
    arrivalMs: wholeNumber(0, 10 * minuteMs),
    /** When the configuration that says so was written: an older one does not replace it. Absent: before all others. */
    configuredAt: z.exactOptional(moment()),
    /** Identity of the feedback store of the workers that say so: another one's are refused (budget.md). */
    installation: z.exactOptional(text()),
    failover: z.exactOptional(z.enum(failovers)),
  });
export type WindowSettings = z.infer<ReturnType<typeof windowSettings>>;
export const readSettings = reader<WindowSettings>(windowSettings());

const question = z.object({
  /** Random and unique to this question, repeats of it included: B1 rests on that. */
  id: text(),
  holder: text(),
  /** Projects of one class take turns. */
  project: text(),
  class: z.enum(permitClasses),
  /** Pages wanted, 1 to `maxLease`. */
  wants: number(0, mostRequests),
  /** When the server scheduled the asking attempt; attempts older than the latest seen are refused. */
  attemptAt: moment(),
  /** Pages the holder still expects to read, for forecasts; absent when unknown. */
  remaining: z.exactOptional(number(0, 1e9)),
  /** False for an asker that will not come back: it gets no place in the queue. */
  mayWait: z.exactOptional(z.boolean()),
  installation: z.exactOptional(text()),
  /** For a program behind the gateway, which nothing can wake: the most per cent of the limit that it may hold, or null. */
  program: z.exactOptional(z.object({ share: z.nullable(number(1, 100)) })),
});
export type PermitAsk = z.infer<typeof question>;
export const readQuestion = reader<PermitAsk>(question);

const leaseReport = z.object({
  leaseId: text(),
  /** Upper bounds of the moments at which the used permits' requests had arrived, in order. */
  arrived: z.array(moment()).check(z.maxLength(maxLease)),
  /** True when the service answered a request of this lease with neither 429 nor 401. */
  accepted: z.exactOptional(z.boolean()),
  /** Set when the service answered 429; the milliseconds it asked to wait, null when it did not say. */
  throttled: z.exactOptional(z.object({ retryAfterMs: z.nullable(number(0, longestSpanMs)) })),
  unauthorized: z.exactOptional(z.boolean()),
  /** True when the service answered 401 to a program: it may have refused the key, or the path that the program chose. */
  doubted: z.exactOptional(z.boolean()),
});
export type LeaseReport = z.infer<typeof leaseReport>;
export const readReport = reader<LeaseReport>(leaseReport);

/** Duration of `budget set` and `budget pause` by the budget's clock; null: until a person ends it. */
const forMs = z.nullable(number(0, longestSpanMs));
/** `overrideProblem` says the rest. */
const limit = z.exactOptional(number(-longestSpanMs, longestSpanMs));

const override = z.strictObject({ forMs, requests: limit, reserve: limit });
export type OverrideAsk = z.infer<typeof override>;
export const readOverride = reader<OverrideAsk | null>(z.nullable(override));

const pause = z.strictObject({ forMs });
export type ForAWhile = z.infer<typeof pause>;
export const readPause = reader<ForAWhile | null>(z.nullable(pause));

const viewShape = z.object({ at: moment() });
/** The moment a query asks about; null for the budget's own. */
export const readViewMoment = (value: unknown): number | null => z.safeParse(viewShape, value).data?.at ?? null;

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

/** Limits that a person set with `budget set`; they replace the configured ones. */
export interface BudgetOverride {
  requests?: number;
  reserve?: number;
  /** Null: until `budget reset`. */
  until: number | null;
  /** Who set it. */
  by?: string;
}

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
