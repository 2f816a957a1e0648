/** Time that never jumps: the wall clock at the start, continued by the monotonic clock. */
export interface Clock {
  /** Monotonic milliseconds. */
  mono(): number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The service's clock with its skew, for its Date header, jobs and links. */
  serviceNow(): number;
}

export function createClock(skewMs: number): Clock {
  const offset = Date.now() - performance.now();
  const mono = () => performance.now();
  const now = () => offset + mono();
  return { mono, now, serviceNow: () => now() + skewMs };
}
