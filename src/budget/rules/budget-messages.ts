/** Shapes of the messages to a budget (X5). The bounds are those of the configuration, or far beyond any real message. */

import {
  bool,
  list,
  nullable,
  number,
  oneOf,
  type Reader,
  record,
  refuse,
  strictRecord,
  text,
  wholeNumber,
} from '../../rules/messages.ts';
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

export const readSettings: Reader<WindowSettings> = record(
  {
    requests: wholeNumber(1, mostRequests),
    reserve: wholeNumber(0, mostRequests),
    windowMs: wholeNumber(100, 31 * dayMs),
    arrivalMs: wholeNumber(0, 10 * minuteMs),
  },
  { configuredAt: moment, installation: text, failover: oneOf(failovers) },
);

export const readQuestion: Reader<PermitAsk> = record(
  {
    id: text,
    holder: text,
    project: text,
    class: oneOf(permitClasses),
    wants: number(0, mostRequests),
    attemptAt: moment,
  },
  {
    remaining: number(0, 1e9),
    mayWait: bool,
    leave: number(0, mostRequests),
    installation: text,
    program: record({ share: nullable(number(1, 100)) }, {}),
  },
);

export const readReport: Reader<LeaseReport> = record(
  { leaseId: text, arrived: list(moment, maxLease) },
  {
    accepted: bool,
    throttled: record({ retryAfterMs: nullable(number(0, longestSpanMs)) }, {}),
    unauthorized: bool,
    doubted: bool,
  },
);

const forMs = nullable(number(0, longestSpanMs));

/** `overrideProblem` says the rest. */
const requests = number(-longestSpanMs, longestSpanMs);

export const readOverride: Reader<OverrideAsk | null> = nullable(
  strictRecord({ forMs }, { requests, reserve: requests }),
);

export const readPause: Reader<ForAWhile | null> = nullable(strictRecord({ forMs }, {}));

/** The moment a query asks about; null for the budget's own. */
export function readViewMoment(value: unknown): number | null {
  try {
    return record({ at: moment }, {})(value).at;
  } catch {
    return null;
  }
}

const readCarried: Reader<CarriedWindow> = (value, field = '') => {
  const lists = ['spent', 'leases', 'waiters'] as const;
  const isSome = (memory: unknown) => typeof memory === 'object' && memory !== null;
  const isWindow = (known: Partial<CarriedWindow>): known is CarriedWindow =>
    lists.every((name) => Array.isArray(known[name])) && isSome(known.attempts) && isSome(known.served);
  return typeof value === 'object' && value !== null && isWindow(value)
    ? value
    : refuse(field, 'the state of an earlier run');
};

export const readBudgetInput: Reader<BudgetInput> = record(
  { org: text, settings: readSettings },
  { carried: readCarried, earlierGrantAt: moment },
);
