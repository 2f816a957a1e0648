import type { WindowSettings, WindowView } from '../permits.ts';

/** The window of an organization that never asked for a permit. */
export function untouchedView({
  requests,
  reserve,
  windowMs,
}: Pick<WindowSettings, 'requests' | 'reserve' | 'windowMs'>): WindowView {
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
    holders: [],
    waiters: [],
    programs: [],
    throttledInWindow: 0,
    configuredAt: null,
    ignored: 0,
    releases: [],
  };
}
