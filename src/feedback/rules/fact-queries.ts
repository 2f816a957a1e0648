import type { PassBounds } from './pass-bounds.ts';
import type { DatedList, Target } from './plan-slices.ts';
import { type Coverage, coverageOf, type PassOutline, type PassSlice } from './slice.ts';

/** Facts about a pass and its project that a decision can ask the store for. No number includes tombstoned entries. */
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
  entriesWithin(dates: PassBounds): number;
  /** How many entries have a source and a status, by `source status`. */
  entriesBySourceAndStatus(): ReadonlyMap<string, number>;
  /**
   * Entries that a second look should have returned, outside its dates and unseen since it began, but for those it
   * looks for: with all statuses, only those count that the pass has seen before.
   */
  leftOutBy(slice: PassSlice): number;
  /** Dated entries that the pass has not seen, with their places in a list: of the closed and missing ones, or of all. */
  missing(which: { open: boolean; among: 'closed' | 'all' }): { targets: Target[]; list: DatedList };
}

type Fact = keyof StoreFacts;
type Answer<Name extends Fact> = ReturnType<StoreFacts[Name]>;

/** A fact that a decision needs, by name. */
interface FactRequest {
  fact: Fact;
  about: readonly unknown[];
}

/** A pure decision: it returns its result or names the fact it still needs, so that rare facts are read only then. */
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

/** What a slice that was read to its end shows of the entries (S4). */
export interface SliceFindings {
  /** Entries last seen before `unseenSince` are gone: those without a date, or the dated ones within both `covered`. */
  gone: { unseenSince: string; covered: 'undated' | readonly [Coverage, Coverage] } | null;
  /** Dates that are complete as of `at`, and whether the entries without a date are. */
  verified: (Coverage & { undated: boolean; at: string }) | null;
}

/** What reading a slice has shown, to be noted before `nextStep` is decided. */
export function* sliceFindings(pass: PassOutline, slice: PassSlice, unshifted: boolean): Decision<SliceFindings> {
  return { gone: yield* goneAfter(pass, slice), verified: yield* verifiedBy(slice, unshifted) };
}

function* goneAfter(pass: PassOutline, slice: PassSlice): Decision<SliceFindings['gone']> {
  if (pass.pass === 'sweep' && isWholeWalk(slice)) {
    // Missing now, and also at the latest reading that is known to have missed nothing.
    const undated = yield* ask('undatedVerifiedUpTo');
    if (undated === null) return null;
    return { unseenSince: undated < pass.startedAt ? undated : pass.startedAt, covered: 'undated' };
  }
  const second = coverageOfSlice(slice);
  if (second === null) return null;
  if (pass.pass === 'sweep' && (slice.stage === 'again' || slice.stage === 'wide')) {
    const first = coverageOfStages(pass, yield* ask('slices'), ['read']);
    return first === null ? null : { unseenSince: pass.startedAt, covered: [first, second] };
  }
  return null;
}

function* verifiedBy(slice: PassSlice, unshifted: boolean): Decision<SliceFindings['verified']> {
  const { source, statuses, startedAt, repeats } = slice;
  const covered = coverageOfSlice(slice);
  if (!unshifted || repeats > 0 || source !== null || statuses !== null) return null;
  if (covered === null || startedAt === null || !(yield* ask('allReadableSince', startedAt))) return null;
  return { ...covered, undated: slice.dateFrom === null && slice.dateTo === null, at: startedAt };
}

/** A walk over everything, in one go: it alone returns the entries without a date for sure. */
export function isWholeWalk({ stage, dateFrom, dateTo, source, statuses }: PassSlice): boolean {
  return stage === 'read' && dateFrom === null && dateTo === null && source === null && statuses === null;
}

/** What the slices of these stages cover together: they follow each other without a gap. */
export function coverageOfStages(
  pass: PassOutline,
  slices: readonly PassSlice[],
  stages: readonly PassSlice['stage'][],
): Coverage | null {
  return coverageOf(pass, datesSeen(slices.filter(({ stage }) => stages.includes(stage))));
}

export function coverageOfSlice(slice: PassSlice): Coverage | null {
  return coverageOf(slice, datesSeen([slice]));
}

/** The oldest and the newest entry that the slices returned. */
export function datesSeen(slices: readonly PassSlice[]): { oldest: string | null; newest: string | null } {
  const oldest = slices.flatMap(({ oldestSeen }) => oldestSeen ?? []).sort();
  const newest = slices.flatMap(({ newestSeen }) => newestSeen ?? []).sort();
  return { oldest: oldest[0] ?? null, newest: newest.at(-1) ?? null };
}
