import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  copyDurably,
  ifMissing,
  isTempName,
  linkOrCopySync,
  readIfExists,
  readIfExistsSync,
  removeFileSync,
  replaceFile,
  replaceFileSync,
  tempName,
  tryLock,
} from '../../files.ts';
import {
  changing,
  claimPath,
  currentPath,
  type HoldRequest,
  holdAfter,
  holdPath,
  identityPath,
  inUsePath,
  isStoreName,
  manifestPath,
  NoSuchVersion,
  rolloutsPath,
  type SiteHold,
  type SiteHolds,
  StoreBusy,
  stagingRoot,
  storeName,
  versionPath,
  versionsPath,
} from './bundle-store.ts';
import { parseClaim, parseCurrent, parseHold, parseIdentity, parseInUse, parseRollouts, toJson } from './manifests.ts';
import { type InUse, nothingInUse, prunable, type RetentionFacts, withdrawable, withRollout } from './retention.ts';

const waitMs = 10_000;
const stepMs = 10;

/**
 * Runs `change` while nothing else, in this process or another, has the lock `file`. `change` is synchronous, so that
 * the lock is taken for a moment only. Throws `StoreBusy` after 10 s.
 */
export async function withStoreLock<T>(file: string, change: () => T): Promise<T> {
  const deadline = performance.now() + waitMs;
  let lock = tryLock(file);
  while (!lock) {
    if (performance.now() > deadline) throw new StoreBusy('the bundle store is locked by another process');
    await sleep(stepMs);
    lock = tryLock(file);
  }
  try {
    return change();
  } finally {
    lock.release();
  }
}

/** What changes in a directory store under its lock: the JSON records of a domain, and which versions exist. */
export class DirectoryRecords {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Runs a synchronous change while nothing else changes the store. */
  locked<T>(change: () => T): Promise<T> {
    return changing(this.#root, () => withStoreLock(join(this.#root, '.lock'), change));
  }

  /** Under the lock: throws `NoSuchVersion` when retention has removed it meanwhile. */
  requireVersion(domain: string, version: string): void {
    if (existsSync(join(this.#root, manifestPath(domain, version)))) return;
    throw new NoSuchVersion(`${domain} has no version ${version}`);
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.locked(() => {
      this.requireVersion(domain, version);
      replaceFileSync(join(this.#root, inUsePath(domain)), toJson(withRollout(this.#inUse(domain), target, version)));
    });
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#makeFolder(domain);
    await this.locked(() => {
      const rollouts = { ...this.rollouts(domain), [target]: version };
      replaceFileSync(join(this.#root, rolloutsPath(domain)), toJson(rollouts));
    });
  }

  claimedAt(domain: string): Date | null {
    const text = readIfExistsSync(join(this.#root, claimPath(domain)));
    return text === null ? null : parseClaim(text).since;
  }

  /** As `BundleStore.claim`. */
  async claim(domain: string, since: Date): Promise<void> {
    await this.#makeFolder(domain);
    await this.locked(() => {
      if ((this.claimedAt(domain) ?? 0) < since)
        replaceFileSync(join(this.#root, claimPath(domain)), toJson({ since }));
    });
  }

  /** As `BundleStore.prune`. */
  prune(domain: string, keep: number): Promise<string[]> {
    return this.#remove(domain, (facts) => prunable(facts, keep));
  }

  /** As `BundleStore.withdraw`. */
  withdraw(domain: string, version: string): Promise<string[]> {
    return this.#remove(domain, (facts) => withdrawable(facts, version));
  }

  /** Takes each out of `versions/` by one rename under the lock, and removes them after it. */
  async #remove(domain: string, choose: (facts: RetentionFacts) => string[]): Promise<string[]> {
    const [versions, grave] = [join(this.#root, versionsPath(domain)), tempName(join(this.#root, stagingRoot, 'old'))];
    const removed = await this.locked(() => {
      const old = choose({
        stored: namesIn(versions),
        current: this.current(domain),
        hold: this.hold(domain),
        rollouts: this.rollouts(domain),
        inUse: this.#inUse(domain),
        now: new Date(),
      });
      if (old.length > 0) mkdirSync(grave);
      for (const version of old) renameSync(join(this.#root, versionPath(domain, version)), join(grave, version));
      return old;
    });
    await changing(this.#root, () => rm(grave, { recursive: true, force: true }));
    return removed;
  }

  /** The current version. */
  current(domain: string): string | null {
    const text = readIfExistsSync(join(this.#root, currentPath(domain)));
    return text === null ? null : parseCurrent(text).version;
  }

  hold(domain: string): SiteHold | null {
    const text = readIfExistsSync(join(this.#root, holdPath(domain)));
    return text === null ? null : parseHold(text);
  }

  /** The version each target last rolled out, by target. */
  rollouts(domain: string): Record<string, string> {
    const text = readIfExistsSync(join(this.#root, rolloutsPath(domain)));
    return text === null ? {} : parseRollouts(text);
  }

  async #makeFolder(domain: string): Promise<void> {
    await changing(this.#root, () => mkdir(join(this.#root, storeName('domain', domain)), { recursive: true }));
  }

  #inUse(domain: string): InUse {
    const text = readIfExistsSync(join(this.#root, inUsePath(domain)));
    return text === null ? nothingInUse : parseInUse(text);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ifMissing([])(error);
  }
}

/** Holds of a directory store: one file for each, changed under the store's lock as the pointer is. */
export class DirectoryHolds implements SiteHolds {
  readonly #root: string;
  readonly #records: DirectoryRecords;

  constructor(root: string, records: DirectoryRecords) {
    this.#root = root;
    this.#records = records;
  }

  async of(domain: string): Promise<SiteHold | null> {
    return this.#records.hold(domain);
  }

  async place(domain: string, request: HoldRequest): Promise<SiteHold> {
    return this.#records.locked(() => {
      const version = request.version ?? this.#records.current(domain);
      if (version === null) throw new NoSuchVersion(`nothing of ${domain} is published`);
      this.#records.requireVersion(domain, version);
      return this.#write(domain, holdAfter(this.#records.hold(domain), version, request));
    });
  }

  async release(domain: string): Promise<SiteHold | null> {
    return this.#records.locked(() => {
      const hold = this.#records.hold(domain);
      removeFileSync(this.#file(domain));
      return hold;
    });
  }

  async noteWaiting(domain: string, version: string): Promise<SiteHold | null> {
    return this.#records.locked(() => {
      const hold = this.#records.hold(domain);
      return hold && this.#write(domain, { ...hold, waiting: version });
    });
  }

  #write(domain: string, hold: SiteHold): SiteHold {
    replaceFileSync(this.#file(domain), toJson(hold));
    return hold;
  }

  #file(domain: string): string {
    return join(this.#root, holdPath(domain));
  }
}

/** What is published and recorded in a directory store at one moment. */
interface StoreSnapshot {
  folder: string;
  identity: string;
  remove(): Promise<void>;
}

/**
 * Everything published, with its records, at one moment: links in the store's own staging area, made under its lock, so
 * that versions which retention removes meanwhile stay until the snapshot is removed. Null when `root` is no store.
 * Throws `StoreBusy` and system errors.
 */
export async function snapshotStore(root: string): Promise<StoreSnapshot | null> {
  const text = await readIfExists(join(root, identityPath));
  if (text === null) return null;
  const folder = join(root, stagingRoot, `snapshot-${randomUUID()}`);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await withStoreLock(join(root, '.lock'), () => {
      linkOrCopySync(join(root, identityPath), join(folder, identityPath));
      for (const entry of readdirSync(root, { withFileTypes: true })) {
        if (entry.isDirectory() && isStoreName(entry.name)) linkTree(join(root, entry.name), join(folder, entry.name));
      }
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, identity: parseIdentity(text).identity, remove };
}

/** Records are replaced by renaming and versions never change, so a link keeps what it was. */
function linkTree(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, place] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, place);
    else if (entry.isFile() && !isTempName(entry.name)) linkOrCopySync(source, place);
  }
}

/**
 * Copies the downloads that are verified but not yet published, so that a run which a backup of Temporal finds between
 * these two steps can continue. What is published meanwhile is left out. Throws system errors.
 */
export async function copyStaged(root: string, to: string): Promise<void> {
  const staging = join(root, stagingRoot);
  for (const stageId of (await readdir(staging).catch(ifMissing([]))).filter(isStoreName)) {
    const [from, place] = [join(staging, stageId), join(to, stagingRoot, stageId)];
    if ((await readIfExists(join(from, 'staged.json'))) === null) continue;
    try {
      for (const name of ['archive', 'staged.json']) await copyDurably(join(from, name), join(place, name));
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      ifMissing(undefined)(error);
    }
  }
}

/** Gives a copy of a store its own identity, and retires the one it came with. */
export async function succeedDirectoryStore(root: string): Promise<void> {
  const file = join(root, identityPath);
  const { identity, predecessors } = parseIdentity((await readIfExists(file)) ?? '');
  await replaceFile(file, toJson({ identity: randomUUID(), predecessors: [...predecessors, identity] }));
}
