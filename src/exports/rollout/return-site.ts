import { type BundleStore, PointerMoved, SiteHeld } from '../store/bundle-store.ts';
import { manifestIfThere, provenManifest } from '../store/manifests.ts';

/** Meanwhile only exports that have not yet seen the hold can move the pointer. */
const pointerTries = 5;

/** Makes the version current, whichever is current now. Throws store errors. */
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
 * Returns a site to the version that was in service before a refused one: first holds the site there, so that no export
 * comes in between, then moves the pointer. Result: that version, or null when none is left; then nothing is current, and
 * the hold names the refused version. Safe to repeat. Throws `SiteHeld` when a person holds the site, and store errors.
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

/** The newest earlier version in service that the store still has; null for none. */
async function versionBefore(bundles: BundleStore, domain: string, version: string): Promise<string | null> {
  const current = await bundles.current(domain);
  // An earlier attempt has returned already.
  if (current !== null && current.version !== version) return current.version;
  for (const before of current?.before ?? []) {
    if ((await manifestIfThere(bundles, domain, before)) !== null) return before;
  }
  return null;
}
