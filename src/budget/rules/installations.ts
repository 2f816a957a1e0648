import type { WindowState } from './window-state.ts';

/** A message of workers with this store; undefined for one that does not say. */
type Installation = string | undefined;

/** Whether it comes from another installation than the one that used the budget within a window (decision 10). */
export function isForeign({ settings, ownSeenAt }: WindowState, installation: Installation, at: number): boolean {
  const own = settings.installation;
  if (own === undefined || installation === undefined || own === installation) return false;
  return ownSeenAt !== null && ownSeenAt + settings.windowMs > at;
}

/** When the budget's own installation was last heard of, after a message. */
export function ownSeenAfter({ settings, ownSeenAt, now }: WindowState, installation: Installation): number | null {
  return installation !== undefined && installation === settings.installation ? now : ownSeenAt;
}

export const foreignText =
  'the budget is in use by another installation with this organization id, whose workers have another feedback store: ' +
  'give each installation a namespace, or wait one window after the last request of the other';
