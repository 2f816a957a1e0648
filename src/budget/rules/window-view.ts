import { forecaster } from './holder-forecast.ts';
import { requestsOfOthers } from './other-clients.ts';
import { limitsIn, type WindowView } from './permits.ts';
import { programViews } from './program-shares.ts';
import { advance } from './advance-window.ts';
import {
  capacityOf,
  expectedReleases,
  freeMoments,
  latestReleases,
  limitOf,
  occupiedNow,
  reserveOf,
} from './occupied-slots.ts';
import { blockedBy } from './window-blocks.ts';
import { active, type WindowState } from './window-state.ts';

/** The window at `at`, as `budget show` prints it; `forecasts`: of how many holders and of how many waiters. */
export function viewOf(before: WindowState, at: number, forecasts = Number.POSITIVE_INFINITY): WindowView {
  const state = advance(before, at);
  const occupied = latestReleases(state);
  const blocked = blockedBy(state, null);
  const unknownUntil = blocked?.reason === 'window-full' ? blocked.until : 0;
  const next = Math.max(unknownUntil, freeMoments(state, occupied, 0, 1)[0] ?? 0);
  const forecastOf = forecaster(state);
  const pause = blocked && blocked.reason !== 'probing' && blocked.reason !== 'window-full' ? blocked.reason : null;
  return {
    limit: limitOf(state),
    reserve: reserveOf(state),
    windowMs: state.settings.windowMs,
    used: occupiedNow(state),
    available: blocked === null ? Math.max(0, capacityOf(state) - occupied.length) : 0,
    pausedUntil: state.paused ? state.paused.until : pause && blocked ? blocked.until : null,
    pausedBy: pause,
    nextFreeAt: next <= state.now ? null : next,
    strangers: requestsOfOthers(state.sightings, limitOf(state)),
    override: state.override,
    configured: limitsIn(state.settings),
    holders: active(state).map((lease, i) => ({
      workflowId: lease.holder,
      class: lease.class,
      permits: lease.notBefore.length,
      since: lease.grantedAt,
      forecast: i < forecasts ? forecastOf(lease) : null,
    })),
    waiters: state.waiters.map((waiter, i) => ({
      workflowId: waiter.holder,
      class: waiter.class,
      since: waiter.since,
      expectedAt: waiter.expectedAt,
      forecast: i < forecasts ? forecastOf(waiter) : null,
    })),
    programs: programViews(state),
    throttledInWindow: state.throttles.length,
    configuredAt: state.settings.configuredAt ?? null,
    ignored: state.ignored,
    releases: expectedReleases(state),
  };
}
