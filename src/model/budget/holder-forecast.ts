import { type Demand, forecastOf } from './forecast.ts';
import { capacityOf, expectedReleases, occupancyMs } from './occupied-slots.ts';
import type { Forecast } from './permits.ts';
import type { Waiter } from './waiter-order.ts';
import { blockedBy } from './window-blocks.ts';
import { active, type Lease, rulesOf, type WindowState } from './window-state.ts';

/** The forecast of a holder or waiter, from the present demand of all. */
export function forecastFor(state: WindowState, holder: Waiter | Lease): Forecast | null {
  const slots = {
    now: state.now,
    notBefore: blockedBy(state, null)?.until ?? state.now,
    windowMs: occupancyMs(state),
    capacity: capacityOf(state),
    releases: expectedReleases(state),
  };
  return forecastOf(demandOf(holder), [...state.waiters, ...active(state)].map(demandOf), slots, rulesOf(state));
}

const demandOf = (wanting: Waiter | Lease): Demand => ({
  ...wanting,
  wants: 1,
  granted: 'notBefore' in wanting ? wanting.notBefore.length : 0,
});
