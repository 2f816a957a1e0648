/** The window as a run hands it to the next, and `budget move` to another task queue: small, since inputs are limited. */

import { leaseMs } from './permits.ts';
import type { CarriedWindow, LapsedLease, Lease, WindowState } from './window-state.ts';

export function packed(state: WindowState): CarriedWindow {
  const isOver = ({ useBy }: Lease) => useBy <= state.now;
  return {
    ...state,
    leases: state.leases.filter((lease) => !isOver(lease)),
    lapsed: state.leases
      .filter(isOver)
      .map(({ id, useBy, arrivesBy, notBefore }) => [id, useBy, arrivesBy, ...notBefore]),
  };
}

export function unpacked({ lapsed = [], ...state }: CarriedWindow): WindowState {
  return { ...state, leases: [...lapsed.map(leaseOf), ...state.leases] };
}

/** Whose it was is forgotten: nobody shows it. */
const leaseOf = ([id, useBy, arrivesBy, ...notBefore]: LapsedLease): Lease => ({
  id,
  holder: '',
  project: '',
  class: 'sweep',
  remaining: null,
  since: useBy - leaseMs,
  grantedAt: useBy - leaseMs,
  useBy,
  arrivesBy,
  notBefore,
});
