import { isDeepStrictEqual } from 'node:util';
import type { VerificationOptions } from '../verification/verification-options.ts';
import { verifyInThread } from '../verification/verify-in-thread.ts';
import type { BundleStore, Manifest } from './bundle-store.ts';
import { VersionDamaged } from './store-errors.ts';
import { isDamagedJson } from './store-json.ts';

/**
 * Verifies the archive of a published version again (verification.md) and compares it with its manifest: digest, size,
 * format and every file. For versions that did not come from an export here, such as copies from another host.
 * Throws `NoSuchVersion`, `VersionDamaged`, system errors, and the signal's reason.
 */
export async function verifyVersion(
  store: Pick<BundleStore, 'manifest' | 'withArchive'>,
  domain: string,
  version: string,
  options: VerificationOptions,
): Promise<Manifest> {
  const manifest = await readManifest(store, domain, version);
  if (manifest.version !== version || manifest.source.domain !== domain) {
    throw new VersionDamaged('its manifest is that of another version or site');
  }
  const report = await store.withArchive(domain, version, (path) => verifyInThread(path, options), {
    signal: options.signal,
  });
  if (report.archive !== null && !isDeepStrictEqual(report.archive, manifest.archive)) {
    throw new VersionDamaged('its archive is not the one its manifest names: size, format or SHA-256 differ');
  }
  const [reason] = report.reasons;
  if (reason) throw new VersionDamaged(`its archive is refused: ${reason.rule}: ${reason.detail}`);
  if (report.contentDigest !== manifest.contentDigest || !isDeepStrictEqual(report.entries, manifest.files)) {
    throw new VersionDamaged('its files are not those its manifest lists');
  }
  return manifest;
}

/** The manifest of a version. Throws `NoSuchVersion`, and `VersionDamaged` where it is no manifest. */
export async function readManifest(
  store: Pick<BundleStore, 'manifest'>,
  domain: string,
  version: string,
): Promise<Manifest> {
  try {
    return await store.manifest(domain, version);
  } catch (error) {
    throw isDamagedJson(error) ? new VersionDamaged('its manifest.json is damaged') : error;
  }
}
