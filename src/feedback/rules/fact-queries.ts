import type { DatedList, Target } from './plan-slices.ts';
import { type Coverage, coverageOf, type PassOutline, type PassSlice } from './slice.ts';
import type { PassBounds } from './sync.ts';

/**
 * Facts about a pass and its project, which a decision asks for when it needs them: rare ones are read only then. They
 * come from the tables, inside the transaction that carries out the decision. No number includes tombstoned entries.
 */
export interface StoreFacts {
  /** All slices of the pass in the order in which they were planned. */
  slices(): Promise<readonly PassSlice[]>;
  /** Whether a sweep of the project has completed. */
  everSwept(): Promise<boolean>;
  /** Greatest `createdAt` of the passes that completed. */
  watermark(): Promise<string | null>;
  /** The moment up to which the entries without a date are complete. */
  undatedVerifiedUpTo(): Promise<string | null>;
  /** Whether every entry received since then had a readable id and none that is stored came in an unreadable form. */
  allReadableSince(moment: string): Promise<boolean>;
  /** Whether the service was found to take date-times for their dates. */
  datesAreCoarse(): Promise<boolean>;
  entries(): Promise<number>;
  entriesWithin(dates: PassBounds): Promise<number>;
  /** How many entries have a source and a status, by `source status`. */
  entriesBySourceAndStatus(): Promise<ReadonlyMap<string, number>>;
  /**
   * Entries that a second look should have returned, outside its dates and unseen since it began, but for those it
   * looks for: with all statuses, only those count that the pass has seen before.
   */
  leftOutBy(slice: PassSlice): Promise<number>;
  /** Dated entries that the pass has not seen, with their places in a list: of the closed and missing ones, or of all. */
  missing(which: { open: boolean; among: 'closed' | 'all' }): Promise<{ targets: Target[]; list: DatedList }>;
}

/** What a slice that was read to its end shows of the entries (S4). */
export interface SliceFindings {
  /** Entries last seen before `unseenSince` are gone: those without a date, or the dated ones within both `covered`. */
  gone: { unseenSince: string; covered: 'undated' | readonly [Coverage, Coverage] } | null;
  /** Dates that are complete as of `at`, and whether the entries without a date are. */
  verified: (Coverage & { undated: boolean; at: string }) | null;
}

/** What reading a slice has shown, to be noted before `nextStep` is decided. */
export async function sliceFindings(
  facts: StoreFacts,
  pass: PassOutline,
  slice: PassSlice,
  unshifted: boolean,
): Promise<SliceFindings> {
  return { gone: await goneAfter(facts, pass, slice), verified: await verifiedBy(facts, slice, unshifted) };
}

async function goneAfter(facts: StoreFacts, pass: PassOutline, slice: PassSlice): Promise<SliceFindings['gone']> {
  if (pass.pass === 'sweep' && isWholeWalk(slice)) {
    // Missing now, and also at the latest reading that is known to have missed nothing.
    const undated = await facts.undatedVerifiedUpTo();
    if (undated === null) return null;
    return { unseenSince: undated < pass.startedAt ? undated : pass.startedAt, covered: 'undated' };
  }
  const second = coverageOfSlice(slice);
  if (second === null) return null;
  if (pass.pass === 'sweep' && (slice.stage === 'again' || slice.stage === 'wide')) {
    const first = coverageOfStages(pass, await facts.slices(), ['read']);
    return first === null ? null : { unseenSince: pass.startedAt, covered: [first, second] };
  }
  return null;
}

async function verifiedBy(facts: StoreFacts, slice: PassSlice, unshifted: boolean): Promise<SliceFindings['verified']> {
  const { source, statuses, startedAt, repeats } = slice;
  const covered = coverageOfSlice(slice);
  if (!unshifted || repeats > 0 || source !== null || statuses !== null) return null;
  if (covered === null || startedAt === null || !(await facts.allReadableSince(startedAt))) return null;
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
