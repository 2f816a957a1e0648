import { type BundleStore, PointerMoved } from '../bundle/bundle-store.ts';
import { SiteHeld, type SiteHold } from '../bundle/site-holds.ts';

/** When a version became current, and the epoch the pointer must still have. */
export interface Promotion {
  expectedEpoch: number;
  publishedAt: number;
}

const tries = 5;

/**
 * Makes a version current, unless the site is held: then it is noted as waiting, and the hold is the answer. Safe to
 * repeat. Throws `PointerMoved` and what the store throws.
 */
export async function promoteUnlessHeld(
  bundles: BundleStore,
  domain: string,
  version: string,
  { expectedEpoch, publishedAt }: Promotion,
): Promise<SiteHold | null> {
  for (let left = tries; ; left -= 1) {
    try {
      await bundles.moveCurrent(domain, version, expectedEpoch, new Date(publishedAt));
      return null;
    } catch (error) {
      // A hold may itself have moved the pointer.
      if (!(error instanceof SiteHeld || error instanceof PointerMoved)) throw error;
      const hold = await bundles.holds.noteWaiting(domain, version);
      if (hold !== null) return hold;
      // Released in between: the pointer may be moved again.
      if (error instanceof PointerMoved || left <= 1) throw error;
    }
  }
}
