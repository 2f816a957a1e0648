import { isDeepStrictEqual } from 'node:util';
import type { VerificationOptions } from '../verify/verification-options.ts';
import type { VerificationReport } from '../verify/verification-report.ts';
import { verifyInThread } from '../verify/verify-in-thread.ts';
import type { BundleStore, Manifest } from './bundle-store.ts';
import { provenManifest } from './proven-manifest.ts';
import { VersionDamaged } from './store-errors.ts';

/**
 * Verifies the archive of a published version again (verification.md) and compares it with its proven manifest: digest,
 * size, format and every file. For versions that did not come from an export here, such as copies from another host.
 * Throws `NoSuchVersion`, `VersionDamaged`, system errors, and the signal's reason.
 */
export async function verifyVersion(
  store: Pick<BundleStore, 'manifest' | 'open' | 'verificationKeys' | 'withArchive'>,
  domain: string,
  version: string,
  options: VerificationOptions,
): Promise<Manifest> {
  const manifest = await provenManifest(store, domain, version);
  const report = await store.withArchive(domain, version, (path) => verifyInThread(path, options), {
    signal: options.signal,
  });
  requireListed(report, manifest);
  return manifest;
}

/** Throws `VersionDamaged` unless an archive was accepted and is the one that the manifest lists, file by file. */
export function requireListed(report: VerificationReport, manifest: Manifest): void {
  if (report.archive !== null && !isDeepStrictEqual(report.archive, manifest.archive)) {
    throw new VersionDamaged('its archive is not the one its manifest names: size, format or SHA-256 differ');
  }
  const [reason] = report.reasons;
  if (reason) throw new VersionDamaged(`its archive is refused: ${reason.rule}: ${reason.detail}`);
  if (report.contentDigest !== manifest.contentDigest || !isDeepStrictEqual(report.entries, manifest.files)) {
    throw new VersionDamaged('its files are not those its manifest lists');
  }
}
