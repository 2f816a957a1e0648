/** A key the service refuses (401): one request tries it now and then. */
export interface RefusedKey {
  since: number;
  triedAt: number;
  nextTryAt: number;
}

const firstMs = 60_000;
const longestMs = 15 * 60_000;

/** Milliseconds until a refused key is tried again after so many refusals (at least 1): a minute, then ever later. */
export function keyTryDelay(refusals: number): number {
  return Math.min(longestMs, firstMs * 2 ** (refusals - 1));
}
