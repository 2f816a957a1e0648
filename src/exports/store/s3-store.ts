import { createHash, randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sizeIfExists } from '../../files.ts';
import { Semaphore } from '../../semaphore.ts';
import { versionTime } from '../rules/site-export.ts';
import { contentTypes } from '../server/published-files.ts';
import type { ManifestSigner } from '../signing/manifest-signer.ts';
import type { TrustedKeys } from '../signing/minisign.ts';
import {
  type BundleStore,
  type ByteRange,
  bundleName,
  changing,
  type InService,
  identityPath,
  isStoreName,
  locationText,
  type Manifest,
  manifestName,
  manifestPath,
  NoSuchVersion,
  type PublishedVersion,
  publishedAddress,
  RecordDamaged,
  type S3Location,
  StagedChanged,
  type StagedManifest,
  type StoredVersion,
  StoreRefused,
  StoreUnreachable,
  signatureName,
  stagingPath,
  stagingRoot,
  storeName,
  VersionDamaged,
  versionPath,
  versionsPath,
  type Work,
} from './bundle-store.ts';
import {
  manifestIn,
  parseIdentity,
  parseManifest,
  publishedVersion,
  requireSameContent,
  requireSealed,
  sealedManifest,
  toJson,
} from './manifests.ts';
import { abandonedAfterMs, removeAbandoned, SharedLookout } from './retention.ts';
import { type S3Agents, S3Bucket, type S3Headers } from './s3-bucket.ts';
import { abortUploads, copyIfAbsent, readS3Object, uploadArchive } from './s3-multipart.ts';
import { S3Records } from './s3-records.ts';

export interface S3StoreOptions extends S3Location {
  /** Folder of this machine for downloads before their upload and for archives to unpack; created when needed. */
  workFolder: string;
  /** Address under which the published versions are served. */
  publicUrl: string;
  agents?: S3Agents | undefined;
  /** Signs the manifest of each version; none by default. */
  signer?: ManifestSigner | undefined;
}

/** An upload older than this was abandoned: no attempt of a step takes as long. */
const uploadAbandonedAfterMs = 24 * 3_600_000;
/** Small objects. */
const readsAtOnce = 8;

/**
 * Published bundles in a bucket, for many workers at once. A version exists once it has its
 * `manifest.json`, which is written last. Verified archives are staged in the bucket, so that the worker that
 * publishes need not be the one that downloaded.
 */
export class S3BundleStore extends S3Records implements BundleStore {
  readonly identity: string;
  /** None: a bucket is replicated, never restored by docferry. */
  readonly predecessors: readonly string[] = [];
  readonly place: string;
  readonly #workFolder: string;
  readonly #publicUrl: string;
  readonly #signer: ManifestSigner | null;
  readonly #shared = new SharedLookout();

  private constructor(identity: string, bucket: S3Bucket, { workFolder, publicUrl, signer }: S3StoreOptions) {
    super(bucket);
    this.identity = identity;
    this.place = locationText({ ...bucket.location, endpoint: undefined });
    this.#workFolder = workFolder;
    this.#publicUrl = publicUrl;
    this.#signer = signer ?? null;
  }

  /** Opens the store, writing its identity when it is new. Throws `StoreRefused`, `StoreUnreachable`. */
  static async open(options: S3StoreOptions): Promise<S3BundleStore> {
    const { bucket, prefix, endpoint, region, agents } = options;
    const opened = new S3Bucket({ bucket, prefix, endpoint, region }, agents);
    return new S3BundleStore(await storeIdentity(opened), opened, options);
  }

  async stagingFile(stageId: string): Promise<string> {
    const file = this.#localArchive(stageId);
    await changing(this.#workFolder, () => mkdir(dirname(file), { recursive: true, mode: 0o700 }));
    return file;
  }

  /** Uploads the local file and its manifest, then removes the local file. */
  async saveStaged(stageId: string, manifest: StagedManifest, work: Work = {}): Promise<void> {
    storeName('domain', manifest.source.domain);
    const { sha256, bytes } = manifest.archive;
    const path = stagedArchivePath(stageId, manifest);
    // Its name is that of its content, which was checked when it was uploaded.
    if ((await this.bucket.stat(path))?.bytes !== bytes) {
      const file = this.#localArchive(stageId);
      if ((await sizeIfExists(file)) !== bytes)
        throw new StagedChanged('the staged archive is not the one that was verified');
      await uploadArchive(this.bucket, path, { file, sha256, bytes }, work);
    }
    await this.bucket.write(stagedManifestPath(stageId), toJson(manifest), null);
    await this.#removeLocal(stageId);
  }

  async staged(stageId: string, seal: string): Promise<StagedManifest | null> {
    const manifest = sealedManifest(await this.#stagedText(stageId), seal);
    if (manifest === null) return null;
    const archive = await this.bucket.stat(stagedArchivePath(stageId, manifest));
    return archive?.bytes === manifest.archive.bytes ? manifest : null;
  }

  async discardStaged(stageId: string): Promise<void> {
    await this.#removeLocal(stageId);
    const folder = `${stagingPath(stageId)}/`;
    await abortUploads(this.bucket, folder, null);
    for (const { path } of await this.bucket.list(folder)) await this.bucket.remove(path);
  }

  async publish(stageId: string, version: string, seal: string, work: Work = {}): Promise<Manifest> {
    storeName('version', version);
    const staged = requireSealed(await this.#stagedText(stageId), stageId, seal);
    const manifest: Manifest = { version, ...staged };
    const { domain } = manifest.source;
    const published = await this.bucket.read(manifestPath(domain, version));
    if (published !== null) return requireSameContent(parseManifest(published.text), manifest);
    await putArchive(this.bucket, stagedArchivePath(stageId, staged), manifest, work);
    const text = toJson(manifest);
    const signature = await this.#signer?.sign(text, manifest);
    if (signature !== undefined) {
      // Replaces the signature of a publisher that died here: it may have had another key, and no reader has seen it.
      const path = `${versionPath(domain, version)}/${signatureName}`;
      await this.bucket.write(path, signature, null, immutable('text/plain; charset=utf-8'));
    }
    await work.confirm?.();
    await this.bucket.write(manifestPath(domain, version), text, 'absent', immutable('application/json'));
    return requireSameContent(await this.#wholeManifest(domain, version), manifest);
  }

  async manifest(domain: string, version: string): Promise<Manifest> {
    const manifest = await this.#wholeManifest(domain, version);
    if (!manifest) throw new NoSuchVersion(`${domain} has no version ${version}`);
    return manifest;
  }

  async versions(domain: string): Promise<PublishedVersion[]> {
    const stored = (await this.inventory(domain)).filter(({ files }) =>
      files.some(({ name }) => name === manifestName),
    );
    const slots = new Semaphore(readsAtOnce);
    const found = stored.map((version) => slots.use(undefined, () => this.#describe(domain, version)));
    return (await Promise.all(found)).filter((version) => version !== null);
  }

  async withArchive<T>(domain: string, version: string, read: (path: string) => Promise<T>, work?: Work): Promise<T> {
    const manifest = await this.manifest(domain, version);
    const folder = join(this.#workFolder, `archive-${randomUUID()}`);
    try {
      await changing(this.#workFolder, () => mkdir(folder, { recursive: true, mode: 0o700 }));
      const file = join(folder, bundleName(manifest));
      await changing(this.#workFolder, () => downloadArchive(this.bucket, manifest, file, work));
      return await read(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  urlOf(domain: string, manifest: Manifest): string {
    return publishedAddress(this.#publicUrl, domain, manifest);
  }

  async verificationKeys(): Promise<TrustedKeys | null> {
    return (await this.#signer?.publicKeys()) ?? null;
  }

  /** A domain has no temporary files in a bucket: what dead processes left is on this machine, or unfinished uploads. */
  async removeAbandoned(_domain: string, now: Date): Promise<void> {
    if (!this.#shared.isDue(now)) return;
    await changing(this.#workFolder, () => removeAbandoned(this.#workFolder, now, (name) => ownFolder.test(name)));
    await abortUploads(this.bucket, '', new Date(now.getTime() - uploadAbandonedAfterMs));
    for (const { path, modified } of await this.bucket.list(`${stagingRoot}/`)) {
      if (now.getTime() - modified.getTime() > abandonedAfterMs) await this.bucket.remove(path);
    }
  }

  /** From marks, also for a site whose record is damaged. */
  async inService(domains: readonly string[]): Promise<Map<string, InService>> {
    const asked = new Set(domains);
    const marked = [...(await this.marks.all())].filter(([domain]) => asked.has(domain));
    // Few are held, and a mark may have outlived its hold, or a command that died before it placed one.
    const slots = new Semaphore(readsAtOnce);
    const found = marked.map(async ([domain, { current, held: mark }]) => {
      const held = mark === null ? null : await slots.use(undefined, () => this.#heldAt(domain, mark));
      return [domain, { current, held }] as const;
    });
    return new Map((await Promise.all(found)).filter(([, { current, held }]) => current !== null || held !== null));
  }

  async domains(): Promise<string[]> {
    return (await this.bucket.folders()).filter(isStoreName).sort();
  }

  async inventory(domain: string): Promise<StoredVersion[]> {
    const folder = `${versionsPath(domain)}/`;
    const versions = new Map<string, StoredVersion['files']>();
    for (const { path, bytes } of await this.bucket.list(folder)) {
      const [version = '', ...names] = path.slice(folder.length).split('/');
      if (isStoreName(version))
        versions.set(version, [...(versions.get(version) ?? []), { name: names.join('/'), bytes }]);
    }
    return [...versions]
      .map(([version, files]) => ({ version, files }))
      .sort((a, b) => (a.version < b.version ? 1 : -1));
  }

  async open(domain: string, version: string, file: string, range?: ByteRange): Promise<Readable | null> {
    const path = `${versionPath(domain, version)}/${storeName('file', file)}`;
    const found = await this.bucket.stat(path);
    return found === null ? null : Readable.from(readS3Object(this.bucket, path, found, {}, range));
  }

  /** Also refuses object stores that ignore the conditions of writes, on which atomic publication rests (E5). */
  async checkWritable(): Promise<void> {
    await changing(this.#workFolder, async () => {
      await mkdir(this.#workFolder, { recursive: true, mode: 0o700 });
      await access(this.#workFolder, constants.W_OK | constants.X_OK);
    });
    await this.#signer?.check();
    const path = `${stagingRoot}/probe-${randomUUID()}`;
    await this.bucket.write(path, 'probe', 'absent');
    try {
      const twice = await this.bucket.write(path, 'probe', 'absent');
      const wrongTag = await this.bucket.write(path, 'probe', { etag: '"00000000000000000000000000000000"' });
      if (!twice && !wrongTag) return;
      throw new StoreRefused(
        `the object store of ${locationText(this.bucket.location)} ignores If-None-Match and If-Match on writes`,
        'use one that honours them: without them two publishers could overwrite each other',
      );
    } finally {
      await this.bucket.remove(path);
    }
  }

  async #stagedText(stageId: string): Promise<string | null> {
    return (await this.bucket.read(stagedManifestPath(stageId)))?.text ?? null;
  }

  async #removeLocal(stageId: string): Promise<void> {
    const folder = dirname(this.#localArchive(stageId));
    await changing(this.#workFolder, () => rm(folder, { recursive: true, force: true }));
  }

  #localArchive(stageId: string): string {
    return join(this.#workFolder, storeName('stage id', stageId), 'archive');
  }

  /** The version at which a marked domain is held; null when it is not. If the record is damaged, the mark counts. */
  async #heldAt(domain: string, mark: string): Promise<string | null> {
    try {
      return (await this.hold(domain))?.version ?? null;
    } catch (error) {
      if (error instanceof RecordDamaged) return mark;
      throw error;
    }
  }

  /** Null unless the version is complete. */
  async #wholeManifest(domain: string, version: string): Promise<Manifest | null> {
    const found = await this.bucket.read(manifestPath(domain, version));
    if (found === null) return null;
    const manifest = parseManifest(found.text);
    const archive = await this.bucket.stat(`${versionPath(domain, version)}/${bundleName(manifest)}`);
    return archive?.bytes === manifest.archive.bytes ? manifest : null;
  }

  async #describe(domain: string, { version, files }: StoredVersion): Promise<PublishedVersion | null> {
    const found = await this.bucket.read(manifestPath(domain, version));
    const manifest = found === null ? null : manifestIn(found.text);
    if (!manifest) return null;
    const size = files.find(({ name }) => name === bundleName(manifest))?.bytes;
    if (size !== manifest.archive.bytes) return null;
    return publishedVersion(manifest, versionTime(version) ?? new Date(0).toISOString());
  }
}

/** What runs (by their id), `export load` and `withArchive` put into the work folder, which may hold other things too. */
const ownFolder = /^(archive-|load-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const stagedManifestPath = (stageId: string): string => `${stagingPath(stageId)}/staged.json`;
/** Named by content: an attempt that was presumed dead and continues cannot replace what another has verified. */
const stagedArchivePath = (stageId: string, { archive }: StagedManifest): string =>
  `${stagingPath(stageId)}/${archive.sha256}`;

/** Headers of objects that never change. */
const immutable = (ContentType: string): S3Headers => ({
  ContentType,
  CacheControl: 'public, max-age=31536000, immutable',
});

/** Path of a version's archive. */
function archivePath(manifest: Manifest): string {
  return `${versionPath(manifest.source.domain, manifest.version)}/${bundleName(manifest)}`;
}

/**
 * Copies a staged archive to its version's place, unless it is there already, and then hashes what is there: the object
 * store makes the copy itself and does not know what was verified. Throws `StagedChanged`, `VersionConflict` and what
 * `S3Bucket` throws.
 */
async function putArchive(bucket: S3Bucket, from: string, manifest: Manifest, work: Work): Promise<void> {
  const { sha256, bytes, format } = manifest.archive;
  const staged = await bucket.stat(from);
  if (staged === null) throw new StagedChanged('the staged archive is gone');
  const to = archivePath(manifest);
  const copied = await copyIfAbsent(bucket, { path: from, ...staged }, to, immutable(contentTypes[format]));
  const there = await bucket.stat(to);
  if (there?.bytes === bytes && (await sha256Of(bucket, to, there, work)) === sha256) {
    // What attempts that died while they copied have begun.
    await abortUploads(bucket, to, null);
    return;
  }
  if (!copied && there === null) {
    // The store refuses a copy, too, that meets another request for the same object: then nobody has written it.
    throw new StoreUnreachable(`the object store of ${locationText(bucket.location)} did not keep the archive`);
  }
  // Another publisher, or an earlier attempt of this one, was quicker, and left something else.
  if (!copied) requireSameContent(null, manifest);
  await bucket.remove(to);
  throw new StagedChanged('the staged archive is not the one that was verified');
}

/** Downloads a version's archive to a new file. Throws `NoSuchVersion`, `VersionDamaged`, system errors. */
async function downloadArchive(bucket: S3Bucket, manifest: Manifest, file: string, work?: Work): Promise<void> {
  const { version, source, archive } = manifest;
  const path = archivePath(manifest);
  const found = await bucket.stat(path);
  if (found === null) throw new NoSuchVersion(`${source.domain} has no version ${version} any more`);
  const hash = createHash('sha256');
  const hashed = async function* () {
    for await (const chunk of readS3Object(bucket, path, found, work)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(hashed, createWriteStream(file, { flags: 'wx' }));
  if (hash.digest('hex') !== archive.sha256) {
    throw new VersionDamaged('its archive is not the one its manifest names: the SHA-256 differs');
  }
}

async function sha256Of(
  bucket: S3Bucket,
  path: string,
  object: { bytes: number; etag: string },
  work: Work,
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readS3Object(bucket, path, object, work)) hash.update(chunk);
  return hash.digest('hex');
}

/** The first process's random id, bound to this place: a copy elsewhere is another store. Throws `StoreRefused`. */
async function storeIdentity(bucket: S3Bucket): Promise<string> {
  const { endpoint = 'aws', bucket: name, prefix } = bucket.location;
  const found = (await bucket.read(identityPath)) ?? (await createIdentity(bucket));
  const own = createHash('sha256').update(JSON.stringify([idIn(found.text, bucket), endpoint, name, prefix]));
  return `s3-${own.digest('hex').slice(0, 32)}`;
}

function idIn(text: string, { location }: S3Bucket): string {
  try {
    return parseIdentity(text).identity;
  } catch {
    const problem = `${identityPath} in ${locationText(location)} was not written by docferry`;
    throw new StoreRefused(problem, 'check store.bundles.s3: does the endpoint speak S3, is the prefix free?');
  }
}

async function createIdentity(bucket: S3Bucket): Promise<{ text: string }> {
  const text = toJson({ identity: randomUUID() });
  if (await bucket.write(identityPath, text, 'absent')) return { text };
  const found = await bucket.read(identityPath);
  if (found !== null) return found;
  throw new StoreRefused(`${locationText(bucket.location)} does not keep what is written`, 'check the bucket');
}
