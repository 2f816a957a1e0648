import type { PassSlice } from './pass-slice.ts';
import type { DatedList, Target } from './plan-slices.ts';
import type { SliceQuery } from './slice.ts';

type Dates = Pick<SliceQuery, 'dateFrom' | 'dateTo'>;

/** What the store can tell a decision about a pass and its project. No number includes tombstoned entries. */
export interface StoreFacts {
  /** All slices of the pass in the order in which they were planned. */
  slices(): readonly PassSlice[];
  /** Whether a sweep of the project has completed. */
  everSwept(): boolean;
  /** Greatest `createdAt` of the passes that completed. */
  watermark(): string | null;
  /** The moment up to which the entries without a date are complete. */
  undatedVerifiedUpTo(): string | null;
  /** Whether every entry received since then had a readable id and none that is stored came in an unreadable form. */
  allReadableSince(moment: string): boolean;
  /** Whether the service was found to take date-times for their dates. */
  datesAreCoarse(): boolean;
  entries(): number;
  entriesWithin(dates: Dates): number;
  /** How many entries have a source and a status, by `source status`. */
  entriesBySourceAndStatus(): ReadonlyMap<string, number>;
  /** Entries that match the query of a slice, lie outside the dates it returned, and were not seen since it began. */
  leftOutBy(slice: PassSlice): number;
  /** Moments of the entries within the dates that were last seen before `before`. */
  unseenWithin(dates: Dates, before: string): readonly string[];
  /** Dated entries that the pass has not seen, with their places in a list: of the closed and missing ones, or of all. */
  missing(which: { open: boolean; among: 'closed' | 'all' }): { targets: Target[]; list: DatedList };
}

type Fact = keyof StoreFacts;
type Answer<Name extends Fact> = ReturnType<StoreFacts[Name]>;

/** A fact that a decision needs, by name. */
export interface FactRequest {
  fact: Fact;
  about: readonly unknown[];
}

/**
 * A pure decision: it either returns its result or names the fact it still needs. So the store is queried for rarely
 * needed facts only where they matter.
 */
export type Decision<Result> = Generator<FactRequest, Result, unknown>;

/** Names a fact that the decision needs; its value is the answer. */
export function* ask<Name extends Fact>(fact: Name, ...about: Parameters<StoreFacts[Name]>): Decision<Answer<Name>> {
  return (yield { fact, about }) as Answer<Name>;
}

/** Where facts come from: the tables, inside the transaction that carries out the decision. */
export type FactSource = {
  [Name in Fact]: (...about: Parameters<StoreFacts[Name]>) => Promise<Answer<Name>>;
};

/** Runs a decision to its result, fetching each fact when the decision names it. */
export async function decide<Result>(decision: Decision<Result>, source: FactSource): Promise<Result> {
  let step = decision.next();
  while (!step.done) {
    const fetch: (...about: never[]) => Promise<unknown> = source[step.value.fact];
    step = decision.next(await fetch(...(step.value.about as never[])));
  }
  return step.value;
}
