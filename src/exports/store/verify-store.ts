import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { VerificationOptions, VerificationReport } from '../verify/verify-archive.ts';
import { verifyInThread } from '../verify/verify-in-thread.ts';
import {
  type BundleStore,
  bundleName,
  type Manifest,
  manifestName,
  NoSuchVersion,
  RecordDamaged,
  type StoredVersion,
  signatureName,
  VersionDamaged,
} from './bundle-store.ts';
import { contradictions, manifestIn, provenManifest } from './manifests.ts';

/** A copy that broke off leaves a `partial` version; a `tampered` one is complete, but differs from what docferry published. */
type VersionState = 'good' | 'partial' | 'tampered';

interface VersionAudit {
  version: string;
  state: VersionState;
  /** What is wrong; empty when the version is good. */
  reasons: string[];
  /** Of all files under the version's name. */
  bytes: number;
}

/**
 * Reads all files of a version and compares them with its manifest and the manifest with itself: the archive by its
 * SHA-256, the content digest over the listed files, the name. Throws what the store throws, and `VersionDamaged` when
 * the version is removed or replaced meanwhile.
 */
async function auditVersion(
  store: Pick<BundleStore, 'open'>,
  domain: string,
  { version, files }: StoredVersion,
  { signal, onBytes }: { signal?: AbortSignal; onBytes?: (bytes: number) => void } = {},
): Promise<VersionAudit> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const verdict = (state: VersionState, ...reasons: string[]): VersionAudit => ({ version, state, reasons, bytes });
  const content = async (name: string) => {
    const stream = await store.open(domain, version, name);
    if (stream === null) throw new VersionDamaged(`${name} was removed while the version was read`);
    return stream;
  };
  const size = (name: string) => files.find((file) => file.name === name)?.bytes;

  if (size(manifestName) === undefined) return verdict('partial', `${manifestName} is missing`);
  const manifest = manifestIn(Buffer.concat(await (await content(manifestName)).toArray()).toString());
  onBytes?.(size(manifestName) ?? 0);
  if (manifest === null) return verdict('tampered', `${manifestName} is damaged`);
  const archive = bundleName(manifest);
  const found = size(archive);
  if (found === undefined) return verdict('partial', `${archive} is missing`);
  const wrong = contradictions(domain, version, manifest);
  for (const { name } of files) {
    if ([manifestName, signatureName, archive].includes(name)) continue;
    wrong.push(`${JSON.stringify(name.slice(0, 100))} does not belong there`);
  }
  if (found < manifest.archive.bytes && wrong.length === 0) {
    return verdict('partial', `${archive} is cut short: ${found} of ${manifest.archive.bytes} bytes`);
  }
  const hash = createHash('sha256');
  for await (const chunk of await content(archive)) {
    signal?.throwIfAborted();
    hash.update(chunk);
    onBytes?.(chunk.length);
  }
  if (hash.digest('hex') !== manifest.archive.sha256) wrong.push(`${archive} is not the archive that was published`);
  return wrong.length === 0 ? verdict('good') : verdict('tampered', ...wrong);
}

const mostChecks = 10;
const checkAgainMs = 500;

export interface DomainAudit {
  domain: string;
  current: string | null;
  /** What is wrong with `current.json`. */
  reasons: string[];
  /** Newest first. */
  versions: VersionAudit[];
}

export interface AuditProgress {
  domain: string;
  version: string;
  /** Bytes read so far, of `totalBytes`. */
  bytes: number;
  totalBytes: number;
  /** Null while the version is being read. */
  audit: VersionAudit | null;
}

/**
 * Re-hashes every version of the domains, complete or not, and checks their pointers (contracts.md "store verify").
 * Versions that retention removes meanwhile are left out. Throws what the store throws, and the signal's reason.
 */
export async function auditStore(
  store: BundleStore,
  domains: readonly string[],
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: AuditProgress) => void } = {},
): Promise<DomainAudit[]> {
  const stored = new Map<string, StoredVersion[]>();
  for (const domain of domains) stored.set(domain, await store.inventory(domain));
  const sizes = [...stored.values()].flat().flatMap(({ files }) => files.map((file) => file.bytes));
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
  let bytes = 0;
  const audits: DomainAudit[] = [];
  for (const [domain, versions] of stored) {
    const found: VersionAudit[] = [];
    for (const version of versions) {
      const show = (audit: VersionAudit | null) =>
        onProgress?.({ domain, version: version.version, bytes, totalBytes, audit });
      const onBytes = (more: number) => {
        bytes += more;
        show(null);
      };
      const audit = await auditUnlessRemoved(store, domain, version, { ...(signal && { signal }), onBytes });
      if (audit === null) continue;
      found.push(audit);
      show(audit);
    }
    audits.push({ domain, ...(await auditPointer(store, domain)), versions: found });
  }
  return audits;
}

/** Null when the whole version has been removed. */
async function auditUnlessRemoved(
  store: BundleStore,
  domain: string,
  stored: StoredVersion,
  options: Parameters<typeof auditVersion>[3],
): Promise<VersionAudit | null> {
  try {
    return await auditVersion(store, domain, stored, options);
  } catch (error) {
    if (!(error instanceof VersionDamaged)) throw error;
    if (await isBeingRemoved(store, domain, stored.version)) return null;
    return { version: stored.version, state: 'tampered', reasons: [error.message], bytes: 0 };
  }
}

/** Whether a version has been removed, or will be within seconds: a bucket loses its files one by one. */
async function isBeingRemoved(store: BundleStore, domain: string, name: string): Promise<boolean> {
  for (let checks = 1; ; checks += 1) {
    const found = (await store.inventory(domain)).find(({ version }) => version === name);
    if (found === undefined) return true;
    if (checks === mostChecks || found.files.some((file) => file.name === manifestName)) return false;
    await sleep(checkAgainMs);
  }
}

async function auditPointer(store: BundleStore, domain: string): Promise<Pick<DomainAudit, 'current' | 'reasons'>> {
  const current = await store.current(domain).catch((error: unknown) => {
    if (error instanceof RecordDamaged) return 'damaged' as const;
    throw error;
  });
  if (current === 'damaged') return { current: null, reasons: ['current.json is damaged'] };
  if (current === null) return { current: null, reasons: [] };
  const { version, contentDigest } = current;
  try {
    const manifest = await store.manifest(domain, version);
    const same = manifest.contentDigest === contentDigest;
    return { current: version, reasons: same ? [] : ['current.json names another content digest than its version'] };
  } catch (error) {
    if (error instanceof NoSuchVersion) {
      return { current: version, reasons: ['current.json names a version that is missing or incomplete'] };
    }
    // The audit of the version reports its damaged manifest.
    if (error instanceof RecordDamaged) return { current: version, reasons: [] };
    throw error;
  }
}

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
