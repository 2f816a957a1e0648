import { ask, type Decision } from './decision.ts';
import type { PassOutline, PassSlice } from './pass-slice.ts';
import { type Coverage, coverageOf } from './slice.ts';

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
  if (pass.pass === 'verify' && slice.stage === 'again') {
    const first = (yield* ask('slices')).findLast(
      ({ stage, outcome, dateFrom, dateTo }) =>
        stage === 'read' && outcome === 'read' && dateFrom === slice.dateFrom && dateTo === slice.dateTo,
    );
    const before = first === undefined ? null : coverageOfSlice(first);
    return before === null || !first?.startedAt ? null : { unseenSince: first.startedAt, covered: [before, second] };
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
