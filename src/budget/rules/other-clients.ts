/**
 * How much of a window other clients use, learnt from refusals: a 429 means that the window is full, so whatever part
 * is not ours is theirs (B4).
 */

export interface Sighting {
  /** When the service refused. */
  at: number;
  /** Requests of other clients in the window that ended then. */
  requests: number;
}

/** Windows for which a sighting counts. */
const windowsKept = 3;
/** Requests of other clients that a refusal does not show: those refused or sent at the same time as ours. */
const unseen = 2;
/** Share of the limit that always stays ours: a refusal may mean something other than a full window. */
const ownShare = 0.1;

/** Adds what a refusal at `at` shows; `own` are our arrivals known by then. */
export function addRefusal(
  sightings: readonly Sighting[],
  refusal: { at: number; limit: number; own: readonly number[]; windowMs: number },
): Sighting[] {
  const { at, limit, own, windowMs } = refusal;
  const ours = own.filter((moment) => moment > at - windowMs && moment <= at).length;
  return [...sightings, { at, requests: limit - ours + unseen }];
}

/** Takes arrivals of ours that were reported later off the other clients' account. */
export function correctSightings(
  sightings: readonly Sighting[],
  arrivals: readonly number[],
  windowMs: number,
): Sighting[] {
  return sightings.map(({ at, requests }) => ({
    at,
    requests: requests - arrivals.filter((moment) => moment > at - windowMs && moment <= at).length,
  }));
}

/** Sightings that still count. */
export function recentSightings(sightings: readonly Sighting[], now: number, windowMs: number): Sighting[] {
  return sightings.filter(({ at }) => at + windowsKept * windowMs > now);
}

/** When the next sighting stops counting, so that more may be granted; null when there is none. */
export function nextSightingExpiry(sightings: readonly Sighting[], windowMs: number): number | null {
  return sightings.length === 0 ? null : Math.min(...sightings.map(({ at }) => at)) + windowsKept * windowMs;
}

/** Requests per window that other clients seem to make; null when nothing is known. */
export function requestsOfOthers(sightings: readonly Sighting[], limit: number): number | null {
  if (sightings.length === 0) return null;
  const most = Math.max(0, ...sightings.map(({ requests }) => requests));
  return Math.min(most, limit - Math.max(1, Math.ceil(limit * ownShare)));
}
