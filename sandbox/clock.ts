/** Time that never jumps: the wall clock read once at the start, carried on by the monotonic clock. */
export interface Clock {
  /** Monotonic milliseconds. */
  mono(): number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** What the service believes the time is: `now` and its skew. In its Date header, its jobs and its links. */
  serviceNow(): number;
}

export function createClock(skewMs: number): Clock {
  const offset = Date.now() - performance.now();
  const mono = () => performance.now();
  const now = () => offset + mono();
  return { mono, now, serviceNow: () => now() + skewMs };
}
