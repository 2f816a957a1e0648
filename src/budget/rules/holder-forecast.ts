import { type Demand, forecastOf } from './forecast.ts';
import type { Forecast } from './permits.ts';
import { rankOf, type Waiter } from './waiter-order.ts';
import { capacityOf, expectedReleases, occupancyMs } from './occupied-slots.ts';
import { blockedBy } from './window-blocks.ts';
import { active, type Lease, rulesOf, type WindowState } from './window-state.ts';

/** Forecasts of holders and waiters, from the present demand of all: one look at the window serves them all. */
export function forecaster(state: WindowState): (holder: Waiter | Lease) => Forecast | null {
  const slots = {
    now: state.now,
    notBefore: blockedBy(state, null)?.until ?? state.now,
    windowMs: occupancyMs(state),
    capacity: capacityOf(state),
    releases: expectedReleases(state),
  };
  const rules = rulesOf(state);
  const demandOf = (wanting: Waiter | Lease): Demand => ({
    holder: wanting.holder,
    rank: rankOf(wanting, rules),
    remaining: wanting.remaining,
    granted: 'notBefore' in wanting ? wanting.notBefore.length : 0,
  });
  const demands = [...state.waiters.map(demandOf), ...active(state).map(demandOf)];
  return (holder) => forecastOf(demandOf(holder), demands, slots);
}

/** The forecast of one holder or waiter. */
export const forecastFor = (state: WindowState, holder: Waiter | Lease): Forecast | null =>
  holder.remaining === null ? null : forecaster(state)(holder);
