/** Shapes of the messages to a budget (X5). The bounds are those of the configuration, or far beyond any real message. */

import { z } from 'zod/mini';
import { number, reader, text, wholeNumber } from '../../rules/messages.ts';
import { failovers } from '../../temporal/rules/failover.ts';
import {
  type ForAWhile,
  type LeaseReport,
  maxLease,
  mostRequests,
  type OverrideAsk,
  type PermitAsk,
  permitClasses,
  type WindowSettings,
} from './permits.ts';
import type { BudgetInput, CarriedWindow } from './window-state.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Keeps every moment computed from it a valid date. */
const longestSpanMs = 3_650 * dayMs;
const latestMoment = 4_102_444_800_000;
const moment = number(0, latestMoment);

const settings = z.object({
  requests: wholeNumber(1, mostRequests),
  reserve: wholeNumber(0, mostRequests),
  windowMs: wholeNumber(100, 31 * dayMs),
  arrivalMs: wholeNumber(0, 10 * minuteMs),
  configuredAt: z.exactOptional(moment),
  installation: z.exactOptional(text()),
  failover: z.exactOptional(z.enum(failovers)),
});

export const readSettings = reader<WindowSettings>(settings);

export const readQuestion = reader<PermitAsk>(
  z.object({
    id: text(),
    holder: text(),
    project: text(),
    class: z.enum(permitClasses),
    wants: number(0, mostRequests),
    attemptAt: moment,
    remaining: z.exactOptional(number(0, 1e9)),
    mayWait: z.exactOptional(z.boolean()),
    installation: z.exactOptional(text()),
    program: z.exactOptional(z.object({ share: z.nullable(number(1, 100)) })),
  }),
);

export const readReport = reader<LeaseReport>(
  z.object({
    leaseId: text(),
    arrived: z.array(moment).check(z.maxLength(maxLease)),
    accepted: z.exactOptional(z.boolean()),
    throttled: z.exactOptional(z.object({ retryAfterMs: z.nullable(number(0, longestSpanMs)) })),
    unauthorized: z.exactOptional(z.boolean()),
    doubted: z.exactOptional(z.boolean()),
  }),
);

const forMs = z.nullable(number(0, longestSpanMs));

/** `overrideProblem` says the rest. */
const requests = z.exactOptional(number(-longestSpanMs, longestSpanMs));

export const readOverride = reader<OverrideAsk | null>(
  z.nullable(z.strictObject({ forMs, requests, reserve: requests })),
);

export const readPause = reader<ForAWhile | null>(z.nullable(z.strictObject({ forMs })));

const viewShape = z.object({ at: moment });

/** The moment a query asks about; null for the budget's own. */
export const readViewMoment = (value: unknown): number | null => z.safeParse(viewShape, value).data?.at ?? null;

function isCarried(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { spent, leases, lapsed, rows, attempts, served }: Partial<CarriedWindow> = value;
  return [spent, leases, lapsed, rows, attempts, served].every((list) => Array.isArray(list));
}

export const readBudgetInput = reader<BudgetInput>(
  z.object({
    org: text(),
    settings,
    carried: z.exactOptional(z.custom<CarriedWindow>(isCarried, 'the state of an earlier run')),
    earlierGrantAt: z.exactOptional(moment),
  }),
);
