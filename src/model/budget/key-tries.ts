/** A key the service refuses (401): one request tries it again from time to time. */
export interface RefusedKey {
  since: number;
  triedAt: number;
  nextTryAt: number;
}

const firstMs = 60_000;
const longestMs = 15 * 60_000;

/** Milliseconds until a key refused `refusals` times (at least 1) is tried again: a minute, doubled each time. */
export function keyTryDelay(refusals: number): number {
  return Math.min(longestMs, firstMs * 2 ** (refusals - 1));
}
