import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing, readIfExistsSync } from '../../if-missing.ts';
import { replaceFileSync, tempName } from '../../replace-file.ts';
import { NoSuchVersion } from './bundle-store.ts';
import { type InUse, nothingInUse, prunable, type RetentionFacts, withdrawable, withRollout } from './retention.ts';
import type { SiteHold } from './site-holds.ts';
import { changing } from './store-errors.ts';
import { parseClaim, parseCurrent, parseHold, parseInUse, parseRollouts, toJson } from './store-json.ts';
import {
  claimPath,
  currentPath,
  holdPath,
  inUsePath,
  manifestPath,
  rolloutsPath,
  stagingRoot,
  versionPath,
  versionsPath,
} from './store-layout.ts';
import { storeName } from './store-names.ts';
import { withStoreLock } from './store-lock.ts';

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
