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

/**
 * Checks of the key with a request of docferry's own, for programs behind the gateway: what a program asks for may be
 * answered 401 although the key is accepted, so a program's 401 stops nobody.
 */
export interface KeyChecks {
  /** When the last one was started; null for never. */
  startedAt: number | null;
  /** One is to be started now. */
  due: boolean;
}

/** After a check, 401s of programs start no other for this long. */
const believedMs = 15 * 60_000;
/** Longer than a check takes that finds a permit. */
const checkTakesMs = 60_000;

/** A program was answered 401, or asks although the key is refused. */
export function wantCheck({ startedAt, due }: KeyChecks, refused: RefusedKey | null, now: number): KeyChecks {
  if (refused !== null && refused.nextTryAt > now) return { startedAt, due };
  const pauseMs = refused === null ? believedMs : checkTakesMs;
  return { startedAt, due: due || startedAt === null || startedAt + pauseMs <= now };
}
