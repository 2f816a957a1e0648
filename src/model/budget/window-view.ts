import { advance } from './advance-window.ts';
import { capacityOf, freeMoments, heldNow, heldUntil, limitOf, probablyHeldUntil, reserveOf } from './held-slots.ts';
import { strangersOf } from './other-clients.ts';
import type { WindowView } from './permits.ts';
import { forecastFor } from './sliding-window.ts';
import { blockedBy } from './window-blocks.ts';
import { active, type WindowState } from './window-state.ts';

/** The window at `at`, as people and programs look at it. */
export function viewOf(before: WindowState, at: number): WindowView {
  const state = advance(before, at);
  const held = heldUntil(state);
  const next = freeMoments(state, held, 0, 1)[0];
  const blocked = blockedBy(state, null);
  const pause = blocked && blocked.reason !== 'probing' && blocked.reason !== 'window-full' ? blocked.reason : null;
  return {
    limit: limitOf(state),
    reserve: reserveOf(state),
    windowMs: state.settings.windowMs,
    used: heldNow(state),
    available: blocked === null ? Math.max(0, capacityOf(state) - held.length) : 0,
    pausedUntil: state.paused ? state.paused.until : pause && blocked ? blocked.until : null,
    pausedBy: pause,
    nextFreeAt: next === undefined || next <= state.now ? null : next,
    strangers: strangersOf(state.strangers, limitOf(state)),
    override: state.override,
    holders: active(state).map((lease) => ({
      workflowId: lease.holder,
      class: lease.class,
      permits: lease.notBefore.length,
      since: lease.grantedAt,
      forecast: forecastFor(state, lease),
    })),
    waiters: state.waiters.map((waiter) => ({
      workflowId: waiter.holder,
      class: waiter.class,
      since: waiter.since,
      expectedAt: waiter.expectedAt,
      forecast: forecastFor(state, waiter),
    })),
    throttledInWindow: state.throttles.length,
    releases: probablyHeldUntil(state),
  };
}
