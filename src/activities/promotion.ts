import { type BundleStore, type Current, PointerMoved } from '../exports/store/bundle-store.ts';
import { SiteHeld, type SiteHold } from '../exports/store/site-holds.ts';

/** When a version becomes current, and what must still be current then; null for the first version. */
export interface Promotion {
  expected: Current | null;
  publishedAt: number;
}

const tries = 5;

/**
 * Makes a version current. If the site is held, notes it as waiting instead and returns the hold. Safe to repeat. Throws
 * `PointerMoved` and what the store throws.
 */
export async function promoteUnlessHeld(
  bundles: Pick<BundleStore, 'moveCurrent' | 'current' | 'holds'>,
  domain: string,
  version: string,
  { expected, publishedAt }: Promotion,
): Promise<SiteHold | null> {
  let epoch = expected?.epoch ?? 0;
  for (let left = tries; ; left -= 1) {
    try {
      await bundles.moveCurrent(domain, version, epoch, new Date(publishedAt));
      return null;
    } catch (error) {
      // A hold may itself have moved the pointer.
      if (!(error instanceof SiteHeld || error instanceof PointerMoved)) throw error;
      const hold = await bundles.holds.noteWaiting(domain, version);
      if (hold !== null) return hold;
      if (left <= 1) throw error;
      if (error instanceof SiteHeld) continue;
      // A hold that has ended may have changed the epoch, but not what is in service.
      const now = await bundles.current(domain);
      if (now === null || now.epoch === epoch || !isSame(now, expected)) throw error;
      epoch = now.epoch;
    }
  }
}

/** Whether both are the same publication, whatever the epoch. */
function isSame(now: Current, before: Current | null): boolean {
  return now.version === before?.version && now.publishedAt === before.publishedAt;
}
