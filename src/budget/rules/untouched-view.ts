import { type Limits, limitsIn, type WindowView } from './permits.ts';

/** The window of an organization that never asked for a permit. */
export function untouchedView(limits: Limits): WindowView {
  const { requests, reserve, windowMs } = limits;
  return {
    limit: requests,
    reserve,
    windowMs,
    used: 0,
    available: Math.max(1, requests - reserve),
    pausedUntil: null,
    pausedBy: null,
    nextFreeAt: null,
    strangers: null,
    override: null,
    configured: limitsIn(limits),
    holders: [],
    waiters: [],
    programs: [],
    throttledInWindow: 0,
    configuredAt: null,
    ignored: 0,
    releases: [],
  };
}
