import { randomUUID } from 'node:crypto';
import { constants, createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  errorCode,
  flushPath,
  hashFile,
  ifMissing,
  isTempName,
  placeFolder,
  readIfExists,
  readIfExistsSync,
  removeFileSync,
  replaceFile,
  replaceFileSync,
  sizeIfExists,
  tempName,
} from '../../files.ts';
import { versionTime } from '../rules/site-export.ts';
import type { ManifestSigner } from '../signing/manifest-signer.ts';
import type { TrustedKeys } from '../signing/minisign.ts';
import {
  type BundleStore,
  type ByteRange,
  bundleName,
  type Current,
  changing,
  type HoldRequest,
  holdAfter,
  holdWaiting,
  type InService,
  identityPath,
  isStoreName,
  type Manifest,
  type Mover,
  manifestName,
  manifestPath,
  movedPointer,
  NoSuchVersion,
  type ObservedTargets,
  type OnDamaged,
  type PublishedVersion,
  publishedAddress,
  RecordDamaged,
  replacesClaim,
  type SiteHold,
  type SiteHolds,
  StagedChanged,
  type StagedManifest,
  type StoredVersion,
  signatureName,
  stagingPath,
  stagingRoot,
  storeName,
  versionPath,
  versionsPath,
  type Work,
} from './bundle-store.ts';
import { withStoreLock } from './directory-snapshot.ts';
import {
  parseIdentity,
  parseManifest,
  parseRecord,
  publishedVersion,
  type RecordKind,
  recordPath,
  records,
  requireSameContent,
  requireSealed,
  type StoreIdentity,
  sealedManifest,
  toJson,
} from './manifests.ts';
import {
  type InUse,
  lastRolledOut,
  nothingInUse,
  prunable,
  type RetentionFacts,
  removeAbandoned,
  SharedLookout,
  withdrawable,
  withoutRollout,
  withRollout,
} from './retention.ts';

interface DirectoryStoreOptions {
  root: string;
  publicUrl: string;
  signer?: ManifestSigner | undefined;
}

/**
 * Published bundles in a folder of this machine with a `.lock` beside them, under which its records change and versions
 * disappear. A version's folder is built in the staging area and renamed into place, so that it appears whole or not at
 * all.
 */
export class DirectoryBundleStore implements BundleStore {
  readonly identity: string;
  readonly predecessors: readonly string[];
  readonly place: string;
  readonly holds: SiteHolds = {
    of: async (domain) => this.#hold(domain),
    place: (domain, request) => this.#locked(() => this.#placeHold(domain, request)),
    release: (domain, refused) =>
      this.#locked(() => {
        const hold = this.#hold(domain);
        if (refused !== undefined && hold?.refused?.version !== refused) return null;
        removeFileSync(this.#recordFile(domain, records.hold));
        return hold;
      }),
    noteWaiting: (domain, version) =>
      this.#locked(() => {
        const hold = holdWaiting(this.#hold(domain), version);
        return hold && this.#record(domain, records.hold, hold);
      }),
  };
  readonly #root: string;
  readonly #publicUrl: string;
  readonly #signer: ManifestSigner | null;
  readonly #shared = new SharedLookout();

  private constructor({ identity, predecessors }: StoreIdentity, { root, publicUrl, signer }: DirectoryStoreOptions) {
    this.identity = identity;
    this.predecessors = predecessors;
    this.place = root;
    this.#root = root;
    this.#publicUrl = publicUrl;
    this.#signer = signer ?? null;
  }

  /** Opens the store, or creates it. A store that exists may be read-only. Throws `StoreNotWritable`. */
  static async open(options: DirectoryStoreOptions): Promise<DirectoryBundleStore> {
    const { root } = options;
    const staging = () => mkdir(join(root, stagingRoot), { recursive: true, mode: 0o700 });
    const text = await readIfExists(join(root, identityPath)).catch(() => null);
    // A change reports itself what it may not write.
    if (text !== null) await staging().catch(() => undefined);
    const create = () => staging().then(() => createIdentity(root));
    return new DirectoryBundleStore(text === null ? await changing(root, create) : parseIdentity(text), options);
  }

  async stagingFile(stageId: string): Promise<string> {
    const folder = this.#staging(stageId);
    await changing(this.#root, () => mkdir(folder, { recursive: true }));
    return this.#archive(stageId);
  }

  async saveStaged(stageId: string, manifest: StagedManifest): Promise<void> {
    storeName('domain', manifest.source.domain);
    const folder = this.#staging(stageId);
    await changing(this.#root, async () => {
      await mkdir(folder, { recursive: true });
      await flushPath(this.#archive(stageId)).catch(ifMissing(undefined));
      await replaceFile(join(folder, 'staged.json'), toJson(manifest));
    });
  }

  async staged(stageId: string, seal: string): Promise<StagedManifest | null> {
    const manifest = sealedManifest(await this.#stagedText(stageId), seal);
    return manifest?.archive.bytes === (await sizeIfExists(this.#archive(stageId))) ? manifest : null;
  }

  async discardStaged(stageId: string): Promise<void> {
    await changing(this.#root, () => rm(this.#staging(stageId), { recursive: true, force: true }));
  }

  async publish(stageId: string, version: string, seal: string, work: Work = {}): Promise<Manifest> {
    storeName('version', version);
    const staged = requireSealed(await this.#stagedText(stageId), stageId, seal);
    const manifest: Manifest = { version, ...staged };
    const { domain } = staged.source;
    const published = await readVersionFolder(this.#versionFolder(domain, version));
    if (published) return requireSameContent(published, manifest);
    const folder = this.#versionFolder(domain, version);
    const places = { building: tempName(join(this.#staging(stageId), 'version')), folder };
    await changing(this.#root, () => putVersionFolder(this.#archive(stageId), manifest, places, this.#signer, work));
    return requireSameContent(await readVersionFolder(folder), manifest);
  }

  async current(domain: string): Promise<Current | null> {
    return this.#read(domain, records.current);
  }

  async moveCurrent(
    domain: string,
    version: string,
    expectedEpoch: number,
    publishedAt: Date,
    mover?: Mover,
  ): Promise<Current> {
    const { contentDigest } = await this.manifest(domain, version);
    await mover?.confirm();
    return this.#locked(() => {
      const now = this.#read(domain, records.current);
      if (now?.version === version) return now;
      const known = { now, hold: this.#hold(domain), claimedAt: this.#claimedAt(domain) };
      const next = movedPointer(domain, known, { version, contentDigest, expectedEpoch, publishedAt }, mover);
      this.#requireVersion(domain, version);
      return this.#record(domain, records.current, next);
    });
  }

  async unsetCurrent(domain: string, version: string): Promise<void> {
    await this.#locked(() => {
      if (this.#current(domain) === version) removeFileSync(this.#recordFile(domain, records.current));
    });
  }

  async claim(domain: string, since: Date): Promise<void> {
    await this.#makeFolder(domain);
    await this.#locked(() => {
      if (replacesClaim(this.#claimedAt(domain), since)) this.#record(domain, records.claim, { since });
    });
  }

  async manifest(domain: string, version: string): Promise<Manifest> {
    const manifest = await readVersionFolder(this.#versionFolder(domain, version));
    if (!manifest) throw new NoSuchVersion(`${domain} has no version ${version}`);
    return manifest;
  }

  async versions(domain: string): Promise<PublishedVersion[]> {
    const found: PublishedVersion[] = [];
    for (const name of await this.#versionNames(domain)) {
      const manifest = await readVersionFolder(this.#versionFolder(domain, name)).catch(() => null);
      if (!manifest) continue;
      const builtAt = async () =>
        (await stat(join(this.#versionFolder(domain, name), manifestName))).mtime.toISOString();
      found.push(publishedVersion(manifest, versionTime(name) ?? (await builtAt())));
    }
    return found;
  }

  async withArchive<T>(domain: string, version: string, read: (path: string) => Promise<T>): Promise<T> {
    const manifest = await this.manifest(domain, version);
    return read(join(this.#versionFolder(domain, version), bundleName(manifest)));
  }

  urlOf(domain: string, manifest: Manifest): string {
    return publishedAddress(this.#publicUrl, domain, manifest);
  }

  async verificationKeys(): Promise<TrustedKeys | null> {
    return (await this.#signer?.publicKeys()) ?? null;
  }

  async rolledOut(domain: string, target: string): Promise<string | null> {
    return lastRolledOut(this.#rollouts(domain), this.#inUse(domain), target);
  }

  async observed(domain: string): Promise<ObservedTargets> {
    return this.#read(domain, records.observed) ?? {};
  }

  async recordObserved(domain: string, observed: ObservedTargets): Promise<void> {
    await this.#makeFolder(domain);
    await this.#locked(() => this.#record(domain, records.observed, observed));
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#locked(() => {
      this.#requireVersion(domain, version);
      this.#record(domain, records.inUse, withRollout(this.#inUse(domain), target, version));
    });
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#makeFolder(domain);
    await this.#locked(() => {
      this.#record(domain, records.rollouts, { ...this.#rollouts(domain), [target]: version });
      this.#record(domain, records.inUse, withoutRollout(this.#inUse(domain), target, version));
    });
  }

  prune(domain: string, keep: number): Promise<string[]> {
    return this.#remove(domain, (facts) => prunable(facts, keep));
  }

  async withdraw(domain: string, version: string): Promise<void> {
    const name = storeName('version', version);
    await this.#remove(domain, (facts) => withdrawable(facts, name));
  }

  async removeAbandoned(domain: string, now: Date): Promise<void> {
    await changing(this.#root, async () => {
      await removeAbandoned(join(this.#root, storeName('domain', domain)), now, isTempName);
      if (!this.#shared.isDue(now)) return;
      await removeAbandoned(join(this.#root, stagingRoot), now);
      await removeAbandoned(this.#root, now, isTempName);
    });
  }

  /** Reads the files themselves: on this machine that costs no request. */
  async inService(domains: readonly string[], onDamaged?: OnDamaged): Promise<Map<string, InService>> {
    const found = new Map<string, InService>();
    for (const domain of domains) {
      try {
        const current = this.#current(domain);
        const held = this.#hold(domain)?.version ?? null;
        if (current !== null || held !== null) found.set(domain, { current, held });
      } catch (error) {
        if (onDamaged === undefined || !(error instanceof RecordDamaged)) throw error;
        onDamaged(domain, error);
      }
    }
    return found;
  }

  async domains(): Promise<string[]> {
    const entries = await readdir(this.#root, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() && isStoreName(entry.name) ? [entry.name] : [])).sort();
  }

  async inventory(domain: string): Promise<StoredVersion[]> {
    const found: StoredVersion[] = [];
    for (const version of await this.#versionNames(domain)) {
      const folder = this.#versionFolder(domain, version);
      const names = await readdir(folder).catch(() => []);
      const sizes = await Promise.all(names.sort().map((name) => stat(join(folder, name)).catch(() => null)));
      const files = names.flatMap((name, index) => (sizes[index] ? [{ name, bytes: sizes[index].size }] : []));
      found.push({ version, files });
    }
    return found;
  }

  async open(domain: string, version: string, file: string, range?: ByteRange): Promise<Readable | null> {
    const path = join(this.#versionFolder(domain, version), storeName('file', file));
    const handle = await open(path).catch(ifMissing(null));
    return handle === null ? null : createReadStream(path, { fd: handle, highWaterMark: 1024 ** 2, ...range });
  }

  /** Throws `StoreNotWritable`, `SigningKeyUnusable`. */
  async checkWritable(): Promise<void> {
    await changing(this.#root, async () => {
      const probe = tempName(join(this.#root, stagingRoot, 'probe'));
      await writeFile(probe, '', { flag: 'wx' });
      await rm(probe);
    });
    await this.#signer?.check();
  }

  #locked<T>(change: () => T): Promise<T> {
    return changing(this.#root, () => withStoreLock(this.#root, change));
  }

  #placeHold(domain: string, request: HoldRequest): SiteHold {
    const version = request.version ?? this.#current(domain);
    if (version === null) throw new NoSuchVersion(`nothing of ${domain} is published`);
    this.#requireVersion(domain, version);
    return this.#record(domain, records.hold, holdAfter(this.#hold(domain), version, request));
  }

  /** Under the lock: throws `NoSuchVersion` when retention has removed it meanwhile. */
  #requireVersion(domain: string, version: string): void {
    if (existsSync(join(this.#root, manifestPath(domain, version)))) return;
    throw new NoSuchVersion(`${domain} has no version ${version}`);
  }

  /** Takes each version out of `versions/` by one rename under the lock, and removes them after it. */
  async #remove(domain: string, choose: (facts: RetentionFacts) => string[]): Promise<string[]> {
    const [versions, grave] = [join(this.#root, versionsPath(domain)), tempName(join(this.#root, stagingRoot, 'old'))];
    const removed = await this.#locked(() => {
      const old = choose({
        stored: existsSync(versions) ? readdirSync(versions) : [],
        current: this.#current(domain),
        before: this.#read(domain, records.current)?.before ?? [],
        hold: this.#hold(domain),
        rollouts: this.#rollouts(domain),
        inUse: this.#inUse(domain),
        now: new Date(),
      });
      if (old.length > 0) mkdirSync(grave);
      for (const version of old) renameSync(this.#versionFolder(domain, version), join(grave, version));
      return old;
    });
    await changing(this.#root, () => rm(grave, { recursive: true, force: true }));
    return removed;
  }

  #current(domain: string): string | null {
    return this.#read(domain, records.current)?.version ?? null;
  }

  #hold(domain: string): SiteHold | null {
    return this.#read(domain, records.hold);
  }

  #claimedAt(domain: string): Date | null {
    return this.#read(domain, records.claim)?.since ?? null;
  }

  #rollouts(domain: string): Record<string, string> {
    return this.#read(domain, records.rollouts) ?? {};
  }

  #inUse(domain: string): InUse {
    return this.#read(domain, records.inUse) ?? nothingInUse;
  }

  #read<Content>(domain: string, record: RecordKind<Content>): Content | null {
    const text = readIfExistsSync(this.#recordFile(domain, record));
    return text === null ? null : parseRecord(record, text, recordPath(domain, record));
  }

  /** Under the lock: writes a record, and returns it. */
  #record<Written extends object>(domain: string, record: RecordKind<unknown>, written: Written): Written {
    replaceFileSync(this.#recordFile(domain, record), toJson(written));
    return written;
  }

  #recordFile(domain: string, record: RecordKind<unknown>): string {
    return join(this.#root, recordPath(domain, record));
  }

  async #makeFolder(domain: string): Promise<void> {
    await changing(this.#root, () => mkdir(join(this.#root, storeName('domain', domain)), { recursive: true }));
  }

  #stagedText(stageId: string): Promise<string | null> {
    return readIfExists(join(this.#staging(stageId), 'staged.json'));
  }

  /** Newest first. */
  async #versionNames(domain: string): Promise<string[]> {
    const names = await readdir(join(this.#root, versionsPath(domain))).catch(ifMissing([]));
    return names.filter(isStoreName).sort().reverse();
  }

  #staging(stageId: string): string {
    return join(this.#root, stagingPath(stageId));
  }

  #archive(stageId: string): string {
    return join(this.#staging(stageId), 'archive');
  }

  #versionFolder(domain: string, version: string): string {
    return join(this.#root, versionPath(domain, version));
  }
}

/** The identity that the first process wrote. */
function createIdentity(root: string): Promise<StoreIdentity> {
  const file = join(root, identityPath);
  return withStoreLock(root, () => {
    if (readIfExistsSync(file) === null) replaceFileSync(file, toJson({ identity: randomUUID() }));
    return parseIdentity(readFileSync(file, 'utf8'));
  });
}

/** The manifest in a version's folder; null unless the version is complete. */
async function readVersionFolder(folder: string): Promise<Manifest | null> {
  const text = await readIfExists(join(folder, manifestName));
  if (text === null) return null;
  const manifest = parseManifest(text);
  return (await sizeIfExists(join(folder, bundleName(manifest)))) === manifest.archive.bytes ? manifest : null;
}

/**
 * Builds a version's folder at `building` and renames it to `folder`. Where another publisher was quicker, its folder
 * stays: the caller compares the contents. The archive is copied (a clone where the file system can) and hashed again
 * before anything is signed, because an earlier attempt that was presumed dead may still have the staged file open.
 */
async function putVersionFolder(
  archive: string,
  manifest: Manifest,
  { building, folder }: { building: string; folder: string },
  signer: ManifestSigner | null,
  { signal, confirm }: Work,
): Promise<void> {
  try {
    await mkdir(building);
    const copy = join(building, bundleName(manifest));
    await copyFile(archive, copy, constants.COPYFILE_FICLONE).catch((error: unknown) => {
      throw errorCode(error) === 'ENOENT' ? new StagedChanged('the staged archive is gone') : error;
    });
    if ((await hashFile(copy, signal)) !== manifest.archive.sha256) {
      throw new StagedChanged('the staged archive is not the one that was verified');
    }
    await flushPath(copy);
    const text = toJson(manifest);
    await replaceFile(join(building, manifestName), text);
    if (signer) await replaceFile(join(building, signatureName), await signer.sign(text, manifest));
    await mkdir(dirname(folder), { recursive: true });
    await confirm?.();
    await placeFolder(building, folder);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}
