/**
 * What other programs use of a window, learnt from refusals: a 429 means that the window is full, so whatever of it is
 * not ours is theirs (B4).
 */

export interface Sighting {
  /** When the service refused. */
  at: number;
  /** Requests of others in the window that ended then. */
  requests: number;
}

/** Windows for which a sighting is believed. */
const windowsKept = 3;
/** Requests of others that a refusal does not show: those refused or sent at the same time as ours. */
const unseen = 2;
/** Part of the limit that stays ours whatever is seen: a refusal may mean something else than a full window. */
const ownShare = 0.1;

/** Takes in a refusal at `at`, with the arrivals of ours that are known by then. */
export function sighted(
  sightings: readonly Sighting[],
  refusal: { at: number; limit: number; own: readonly number[]; windowMs: number },
): Sighting[] {
  const { at, limit, own, windowMs } = refusal;
  const ours = own.filter((moment) => moment > at - windowMs && moment <= at).length;
  return [...sightings, { at, requests: limit - ours + unseen }];
}

/** Arrivals of ours that were reported later were no strangers' after all. */
export function corrected(sightings: readonly Sighting[], arrivals: readonly number[], windowMs: number): Sighting[] {
  return sightings.map(({ at, requests }) => ({
    at,
    requests: requests - arrivals.filter((moment) => moment > at - windowMs && moment <= at).length,
  }));
}

/** Sightings still believed. */
export function believed(sightings: readonly Sighting[], now: number, windowMs: number): Sighting[] {
  return sightings.filter(({ at }) => at + windowsKept * windowMs > now);
}

/** When the next sighting is forgotten, so that more may be granted; null when there is none. */
export function nextForgotten(sightings: readonly Sighting[], windowMs: number): number | null {
  return sightings.length === 0 ? null : Math.min(...sightings.map(({ at }) => at)) + windowsKept * windowMs;
}

/** Requests a window that others are believed to use; null when nothing is known. */
export function strangersOf(sightings: readonly Sighting[], limit: number): number | null {
  if (sightings.length === 0) return null;
  const most = Math.max(0, ...sightings.map(({ requests }) => requests));
  return Math.min(most, limit - Math.max(1, Math.ceil(limit * ownShare)));
}
