import { type BundleStore, PointerMoved, SiteHeld } from '../store/bundle-store.ts';
import { manifestIfThere, provenManifest } from '../store/manifests.ts';

/** Only exports that are about to find the site held can move the pointer meanwhile. */
const pointerTries = 5;

/** Makes the version current, whatever is current now. Throws what the store throws. */
export async function pointAt(bundles: BundleStore, domain: string, version: string, at: Date): Promise<void> {
  for (let left = pointerTries; ; left -= 1) {
    const epoch = (await bundles.current(domain))?.epoch ?? 0;
    try {
      await bundles.moveCurrent(domain, version, epoch, at);
      return;
    } catch (error) {
      if (!(error instanceof PointerMoved) || left <= 1) throw error;
    }
  }
}

interface RefusedRollout {
  domain: string;
  /** The version that a check refused. */
  version: string;
  reason: string;
  at: Date;
}

/**
 * Holds the site at the version that was in service before a refused one, then makes that current: in this order, so that
 * no export comes in between. Returns it; null when none is left: then nothing is current, and the hold names the refused
 * version. Safe to repeat. Throws `SiteHeld` when a person holds the site, and what the store throws.
 */
export async function returnSite(
  bundles: BundleStore,
  { domain, version, reason, at }: RefusedRollout,
): Promise<string | null> {
  const { contentDigest } = await bundles.manifest(domain, version);
  const back = await versionBefore(bundles, domain, version);
  if (back !== null) await provenManifest(bundles, domain, back);
  const refused = { version, contentDigest };
  const hold = await bundles.holds.place(domain, { version: back ?? version, reason, at, refused });
  if (hold.refused === undefined) throw new SiteHeld(domain, hold);
  await (back === null ? bundles.unsetCurrent(domain, version) : pointAt(bundles, domain, back, at));
  return back;
}

/** The newest kept one of the versions in service before; null for none. */
async function versionBefore(bundles: BundleStore, domain: string, version: string): Promise<string | null> {
  const current = await bundles.current(domain);
  // An earlier attempt has returned already.
  if (current !== null && current.version !== version) return current.version;
  for (const before of current?.before ?? []) {
    if ((await manifestIfThere(bundles, domain, before)) !== null) return before;
  }
  return null;
}
