import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { versionTime } from '../model/version-name.ts';
import {
  type BundleStore,
  type Current,
  type Manifest,
  NoSuchVersion,
  PointerMoved,
  type PublishedVersion,
  type StagedManifest,
} from './bundle-store.ts';
import { tempName, writeDurably, writeDurablySync } from './durable-file.ts';
import { nothingThere, readIfThere, readIfThereSync } from './read-if-there.ts';
import { changing, StagedChanged, VersionConflict } from './store-errors.ts';
import { parseCurrent, parseIdentity, parseRollouts, parseStaged, toJson } from './store-files.ts';
import { withStoreLock } from './store-lock.ts';
import { isStoreName, storeName } from './store-names.ts';
import { bundleName, putVersionFolder, readVersionFolder } from './version-folder.ts';

const LOCK = '.lock';

export interface DirectoryStoreOptions {
  /** The store's folder; made when missing. */
  root: string;
  /** Address under which the bundle server shows the store. */
  publicUrl: string;
}

/**
 * Published bundles in a folder of this machine (layout: DESIGN §5), beside them `.staging/<stageId>/` with downloads
 * that are not published, `.store.json` with the identity, `.lock`, and `<domain>/rollouts.json`. A version's folder is
 * built in the staging area and renamed into place, so that it is there whole or not at all.
 */
export class DirectoryBundleStore implements BundleStore {
  readonly identity: string;
  readonly #root: string;
  readonly #publicUrl: string;

  private constructor(identity: string, options: DirectoryStoreOptions) {
    this.identity = identity;
    this.#root = options.root;
    this.#publicUrl = options.publicUrl.replace(/\/+$/, '');
  }

  /** Opens the store, making it when it is new. Throws `StoreNotWritable`. */
  static async open(options: DirectoryStoreOptions): Promise<DirectoryBundleStore> {
    const { root } = options;
    const identity = await changing(root, async () => {
      await mkdir(join(root, '.staging'), { recursive: true, mode: 0o700 });
      return ensureIdentity(root);
    });
    const store = new DirectoryBundleStore(identity, options);
    await store.checkWritable();
    return store;
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
      await writeDurably(join(folder, 'staged.json'), toJson(manifest));
    });
  }

  async discardStaged(stageId: string): Promise<void> {
    await changing(this.#root, () => rm(this.#staging(stageId), { recursive: true, force: true }));
  }

  /** Throws `StagedChanged`, `VersionConflict`, `StoreNotWritable`. */
  async publish(stageId: string, version: string): Promise<Manifest> {
    storeName('version', version);
    const staged = await this.#readStaged(stageId);
    const manifest: Manifest = { version, ...staged };
    const { domain } = staged.source;
    const published = await readVersionFolder(this.#versionFolder(domain, version));
    if (published) return sameContent(published, manifest);
    const building = tempName(join(this.#staging(stageId), 'version'));
    const folder = this.#versionFolder(domain, version);
    await changing(this.#root, () => putVersionFolder(this.#archive(stageId), manifest, { building, folder }));
    return sameContent(await readVersionFolder(folder), manifest);
  }

  async current(domain: string): Promise<Current | null> {
    const text = await readIfThere(this.#currentFile(domain));
    return text === null ? null : parseCurrent(text);
  }

  async moveCurrent(domain: string, version: string, expectedEpoch: number, publishedAt: Date): Promise<Current> {
    const { contentDigest } = await this.manifest(domain, version);
    const file = this.#currentFile(domain);
    return this.#locked(() => {
      const text = readIfThereSync(file);
      const now = text === null ? null : parseCurrent(text);
      if (now?.version === version) return now;
      const epoch = now?.epoch ?? 0;
      if (epoch !== expectedEpoch) {
        throw new PointerMoved(`${domain} is at epoch ${epoch}, not ${expectedEpoch}: another run has published`);
      }
      const next: Current = { version, contentDigest, publishedAt: publishedAt.toISOString(), epoch: epoch + 1 };
      writeDurablySync(file, toJson(next));
      return next;
    });
  }

  async manifest(domain: string, version: string): Promise<Manifest> {
    const manifest = await readVersionFolder(this.#versionFolder(domain, version));
    if (!manifest) throw new NoSuchVersion(`${domain} has no version ${version}`);
    return manifest;
  }

  async versions(domain: string): Promise<PublishedVersion[]> {
    const names = await readdir(this.#versionsFolder(domain)).catch(nothingThere(() => []));
    const found: PublishedVersion[] = [];
    for (const name of names.filter(isStoreName).sort().reverse()) {
      const manifest = await readVersionFolder(this.#versionFolder(domain, name)).catch(() => null);
      if (manifest) found.push(await this.#describe(domain, manifest));
    }
    return found;
  }

  async archivePath(domain: string, version: string): Promise<string> {
    const manifest = await this.manifest(domain, version);
    return join(this.#versionFolder(domain, version), bundleName(manifest));
  }

  async urlOf(domain: string, version: string): Promise<string> {
    const manifest = await this.manifest(domain, version);
    return `${this.#publicUrl}/${domain}/versions/${version}/${bundleName(manifest)}`;
  }

  async rolledOut(domain: string, target: string): Promise<string | null> {
    const text = await readIfThere(this.#rolloutsFile(domain));
    return text === null ? null : (new Map(Object.entries(parseRollouts(text))).get(target) ?? null);
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    const file = this.#rolloutsFile(domain);
    await changing(this.#root, () => mkdir(join(this.#root, domain), { recursive: true }));
    await this.#locked(() => {
      const text = readIfThereSync(file);
      const rollouts = new Map(text === null ? [] : Object.entries(parseRollouts(text)));
      writeDurablySync(file, toJson(Object.fromEntries(rollouts.set(target, version))));
    });
  }

  /** Throws `StoreNotWritable`. */
  async checkWritable(): Promise<void> {
    await changing(this.#root, async () => {
      const probe = tempName(join(this.#root, '.staging', 'probe'));
      await writeFile(probe, '', { flag: 'wx' });
      await rm(probe);
    });
  }

  async #readStaged(stageId: string): Promise<StagedManifest> {
    const text = await readIfThere(join(this.#staging(stageId), 'staged.json'));
    if (text === null) throw new StagedChanged(`nothing verified is staged as ${stageId}`);
    return parseStaged(text);
  }

  async #describe(domain: string, manifest: Manifest): Promise<PublishedVersion> {
    const { version, contentDigest, pages, archive, source } = manifest;
    const built = () => stat(join(this.#versionFolder(domain, version), 'manifest.json'));
    const publishedAt = versionTime(version) ?? (await built()).mtime.toISOString();
    return { version, contentDigest, publishedAt, pages, bytes: archive.bytes, jobId: source.jobId };
  }

  #locked<T>(change: () => T): Promise<T> {
    return changing(this.#root, () => withStoreLock(join(this.#root, LOCK), change));
  }

  #staging(stageId: string): string {
    return join(this.#root, '.staging', storeName('stage id', stageId));
  }

  #archive(stageId: string): string {
    return join(this.#staging(stageId), 'archive');
  }

  #versionsFolder(domain: string): string {
    return join(this.#root, storeName('domain', domain), 'versions');
  }

  #versionFolder(domain: string, version: string): string {
    return join(this.#versionsFolder(domain), storeName('version', version));
  }

  #currentFile(domain: string): string {
    return join(this.#root, storeName('domain', domain), 'current.json');
  }

  #rolloutsFile(domain: string): string {
    return join(this.#root, storeName('domain', domain), 'rollouts.json');
  }
}

/** The identity written by whoever came first. */
function ensureIdentity(root: string): Promise<string> {
  const file = join(root, '.store.json');
  return withStoreLock(join(root, LOCK), () => {
    if (readIfThereSync(file) === null) writeDurablySync(file, toJson({ identity: randomUUID() }));
    return parseIdentity(readFileSync(file, 'utf8'));
  });
}

function sameContent(published: Manifest | null, wanted: Manifest): Manifest {
  if (!published) throw new VersionConflict(`version ${wanted.version} is in the store, but not whole`);
  const same = published.contentDigest === wanted.contentDigest && published.archive.sha256 === wanted.archive.sha256;
  if (!same) throw new VersionConflict(`version ${wanted.version} is already published with other content`);
  return published;
}
