import { createHash } from 'node:crypto';
import type { BundleStore, StoredVersion } from './bundle-store.ts';
import { contradictions } from './manifest-contradictions.ts';
import { VersionDamaged } from './store-errors.ts';
import { manifestIn } from './store-json.ts';
import { bundleName, manifestName, signatureName } from './store-layout.ts';

/** A copy that broke off leaves a `partial` version; a `tampered` one is complete, but not what was published. */
export type VersionState = 'good' | 'partial' | 'tampered';

export interface VersionAudit {
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
export async function auditVersion(
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
    if (![manifestName, signatureName, archive].includes(name)) wrong.push(`${printable(name)} does not belong there`);
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

function printable(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
