import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing, readIfExistsSync } from '../../../files/if-missing.ts';
import { replaceFileSync, tempName } from '../../../files/replace-file.ts';
import { NoSuchVersion } from '../bundle-store.ts';
import { heldVersions, type SiteHold } from '../site-holds.ts';
import { changing } from '../store-errors.ts';
import { parseCurrent, parseHold, parseRollouts, parseUses, toJson } from '../store-files.ts';
import {
  currentPath,
  holdPath,
  manifestPath,
  rolloutsPath,
  stagingRoot,
  usesPath,
  versionPath,
  versionsPath,
} from '../store-layout.ts';
import { storeName } from '../store-names.ts';
import { type Keeping, noUses, removable, type VersionUses, versionsInUse, withRollout } from '../version-uses.ts';
import { withStoreLock } from './store-lock.ts';

/** What changes in a directory store under its lock: the records of rollouts, and which versions there are. */
export class DirectoryState {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Runs a synchronous change while nobody else changes the store. */
  locked<T>(change: () => T): Promise<T> {
    return changing(this.#root, () => withStoreLock(join(this.#root, '.lock'), change));
  }

  /** Under the lock: throws `NoSuchVersion` when retention was quicker. */
  requireVersion(domain: string, version: string): void {
    if (existsSync(join(this.#root, manifestPath(domain, version)))) return;
    throw new NoSuchVersion(`${domain} has no version ${version}`);
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.locked(() => {
      this.requireVersion(domain, version);
      const file = join(this.#root, usesPath(domain));
      replaceFileSync(file, toJson(withRollout(this.#uses(domain), target, version)));
    });
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    const file = join(this.#root, rolloutsPath(domain));
    await changing(this.#root, () => mkdir(join(this.#root, storeName('domain', domain)), { recursive: true }));
    await this.locked(() => {
      const rollouts = new Map(Object.entries(this.#rollouts(domain)));
      replaceFileSync(file, toJson(Object.fromEntries(rollouts.set(target, version))));
    });
  }

  /** As `BundleStore.prune`. */
  prune(domain: string, keep: number, held: readonly string[]): Promise<string[]> {
    return this.#remove(domain, held, (use) => removable({ ...use, keep }));
  }

  /** As `BundleStore.withdraw`. */
  async withdraw(domain: string, version: string): Promise<void> {
    await this.#remove(domain, [], (use) =>
      use.stored.includes(version) && !versionsInUse(use).has(version) ? [version] : [],
    );
  }

  /** Out of `versions/` by one rename each under the lock, then removed at leisure. */
  async #remove(
    domain: string,
    held: readonly string[],
    choose: (use: Omit<Keeping, 'keep'>) => string[],
  ): Promise<string[]> {
    const [versions, grave] = [join(this.#root, versionsPath(domain)), tempName(join(this.#root, stagingRoot, 'old'))];
    const removed = await this.locked(() => {
      const old = choose({
        stored: namesIn(versions),
        current: this.current(domain),
        held: [...held, ...heldVersions(this.hold(domain))],
        rollouts: this.#rollouts(domain),
        uses: this.#uses(domain),
        now: new Date(),
      });
      if (old.length > 0) mkdirSync(grave);
      for (const version of old) renameSync(join(this.#root, versionPath(domain, version)), join(grave, version));
      return old;
    });
    await changing(this.#root, () => rm(grave, { recursive: true, force: true }));
    return removed;
  }

  /** The version that is current. */
  current(domain: string): string | null {
    const text = readIfExistsSync(join(this.#root, currentPath(domain)));
    return text === null ? null : parseCurrent(text).version;
  }

  hold(domain: string): SiteHold | null {
    const text = readIfExistsSync(join(this.#root, holdPath(domain)));
    return text === null ? null : parseHold(text);
  }

  #rollouts(domain: string): Record<string, string> {
    const text = readIfExistsSync(join(this.#root, rolloutsPath(domain)));
    return text === null ? {} : parseRollouts(text);
  }

  #uses(domain: string): VersionUses {
    const text = readIfExistsSync(join(this.#root, usesPath(domain)));
    return text === null ? noUses : parseUses(text);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ifMissing([])(error);
  }
}
