import { describe, expect, it } from 'vitest';
import { promoteUnlessHeld } from '../../src/activities/version-steps.ts';
import { type BundleStore, type Current, PointerMoved } from '../../src/exports/store/bundle-store.ts';

const known: Current = { version: 'v1', contentDigest: 'd1', publishedAt: '2026-11-21T04:00:00.000Z', epoch: 5 };

/** A store whose pointer is `now`, and which nobody holds. */
function storeAt(now: Current): Pick<BundleStore, 'moveCurrent' | 'current' | 'holds'> {
  return {
    current: async () => now,
    moveCurrent: async (_domain, version, epoch) => {
      if (epoch !== now.epoch) throw new PointerMoved(`at epoch ${now.epoch}, not ${epoch}`);
      return { ...now, version, epoch: epoch + 1 };
    },
    holds: {
      of: async () => null,
      noteWaiting: async () => null,
      release: async () => null,
      place: () => Promise.reject(),
    },
  };
}

const promote = (now: Current) =>
  promoteUnlessHeld(storeAt(now), 'docs.acme.example', 'v2', { expected: known, publishedAt: 0 });

describe('promoteUnlessHeld', () => {
  it('goes on where a hold that has ended left another epoch', async () => {
    expect(await promote(known)).toBeNull();
    expect(await promote({ ...known, epoch: 6 })).toBeNull();
  });

  it('never overwrites what others have put into service', async () => {
    await expect(promote({ ...known, version: 'v3', epoch: 6 })).rejects.toBeInstanceOf(PointerMoved);
    const later = { ...known, publishedAt: '2026-11-21T05:00:00.000Z', epoch: 7 };
    await expect(promote(later)).rejects.toBeInstanceOf(PointerMoved);
  });
});
