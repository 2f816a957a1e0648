import { createHash } from 'node:crypto';
import { versionTime } from '../../model/export/version-name.ts';
import { contentDigest } from '../archive/content-digest.ts';
import type { BundleStore, Manifest, StoredVersion } from './bundle-store.ts';
import { VersionDamaged } from './store-errors.ts';
import { parseManifest } from './store-json.ts';
import { bundleName, manifestName, signatureName } from './store-layout.ts';

/** `partial` is what a copy that broke off leaves; `tampered` is there, but is not what was published. */
export type VersionState = 'good' | 'partial' | 'tampered';

export interface VersionAudit {
  version: string;
  state: VersionState;
  /** What is wrong; empty when it is good. */
  reasons: string[];
  /** Of everything under the version's name. */
  bytes: number;
}

/**
 * Reads everything a version consists of and compares it with its manifest and the manifest with itself: whole archive
 * by SHA-256, content digest over the listed files, name. Throws what the store throws, and `VersionDamaged` when it is
 * removed or replaced meanwhile.
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
  const manifest = manifestOf(Buffer.concat(await all(await content(manifestName))).toString());
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
    return verdict('partial', `${archive} is cut: ${found} of ${manifest.archive.bytes} bytes`);
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

/** What a manifest says that cannot be true together. */
function contradictions(domain: string, version: string, manifest: Manifest): string[] {
  const wrong: string[] = [];
  if (manifest.version !== version) wrong.push(`${manifestName} is that of another version`);
  if (manifest.source.domain !== domain) wrong.push(`${manifestName} is that of another site`);
  if (contentDigest(manifest.files) !== manifest.contentDigest) {
    wrong.push(`${manifestName} lists other files than its content digest says`);
  }
  if (versionTime(version) !== null && !version.endsWith(`-${manifest.contentDigest.slice(0, 12)}`)) {
    wrong.push('its content digest is not the one in its name');
  }
  return wrong;
}

function manifestOf(text: string): Manifest | null {
  try {
    return parseManifest(text);
  } catch {
    return null;
  }
}

async function all(stream: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

function printable(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
