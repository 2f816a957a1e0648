import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Current, NoSuchVersion, PointerMoved } from '../bundle-store.ts';
import { heldVersions, requireMovable, type SiteHold } from '../site-holds.ts';
import { StoreUnreachable } from '../store-errors.ts';
import { parseCurrent, parseHold, parseRollouts, parseUses, toJson } from '../store-files.ts';
import {
  currentPath,
  holdPath,
  manifestName,
  manifestPath,
  rolloutsPath,
  usesPath,
  versionPath,
  versionsPath,
} from '../store-layout.ts';
import {
  type Keeping,
  livePromotions,
  noUses,
  removable,
  type VersionUses,
  versionsInUse,
  withPromotion,
  withRollout,
} from '../version-uses.ts';
import type { S3Bucket } from './s3-bucket.ts';

/** Writers of one object at the same moment each need a try more than those before them. */
const mostTries = 30;

/**
 * What changes in an S3 store: pointer, rollouts, uses. There is no lock: each is one object that is changed by
 * compare-and-swap, and what two of them must agree on goes through `in-use.json` (docs/decisions/0061).
 */
export class S3State {
  readonly #bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  async current(domain: string): Promise<Current | null> {
    const found = await this.#bucket.read(currentPath(domain));
    return found === null ? null : parseCurrent(found.text);
  }

  async hold(domain: string): Promise<SiteHold | null> {
    const found = await this.#bucket.read(holdPath(domain));
    return found === null ? null : parseHold(found.text);
  }

  /** Throws `NoSuchVersion`. */
  async requireManifest(domain: string, version: string): Promise<void> {
    if ((await this.#bucket.stat(manifestPath(domain, version))) !== null) return;
    throw new NoSuchVersion(`${domain} has no version ${version}`);
  }

  async rollouts(domain: string): Promise<Record<string, string>> {
    const found = await this.#bucket.read(rolloutsPath(domain));
    return found === null ? {} : parseRollouts(found.text);
  }

  /**
   * Runs the promotion of a version, which retention leaves alone meanwhile; `promotion` looks whether it is still
   * there. Throws `NoSuchVersion`.
   */
  async promoting<T>(domain: string, version: string, promotion: () => Promise<T>): Promise<T> {
    const attempt = { version, id: randomUUID() };
    await this.#changeUses(domain, (uses) => withPromotion(usable(uses, domain, version), attempt, new Date()));
    try {
      return await promotion();
    } finally {
      await this.#changeUses(domain, (uses) => withPromotion(uses, attempt, null));
    }
  }

  /** Gives the pointer another epoch, so that nobody who read it before can move it; false when it has moved. */
  async renewEpoch(domain: string, known: Current): Promise<boolean> {
    const found = await this.#bucket.read(currentPath(domain));
    if (found === null || parseCurrent(found.text).epoch !== known.epoch) return false;
    const renewed = { ...known, epoch: known.epoch + 1 };
    return this.#bucket.write(currentPath(domain), toJson(renewed), { etag: found.etag });
  }

  /** Makes `next` the pointer if it is at the epoch before; already there = fine. Throws `PointerMoved`, `SiteHeld`. */
  async swapCurrent(domain: string, next: Current): Promise<Current> {
    const path = currentPath(domain);
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.#bucket.read(path);
      const now = found === null ? null : parseCurrent(found.text);
      // Also when our own write arrived and its answer did not.
      if (now?.version === next.version) return now;
      // After the pointer: a hold placed from here on changes its ETag, and the swap fails.
      requireMovable(domain, await this.hold(domain), next.version);
      const epoch = now?.epoch ?? 0;
      if (epoch + 1 !== next.epoch) {
        throw new PointerMoved(`${domain} is at epoch ${epoch}, not ${next.epoch - 1}: another run has published`);
      }
      const condition = found === null ? 'absent' : { etag: found.etag };
      if (await this.#bucket.write(path, toJson(next), condition)) return next;
      await stepBack(tries);
    }
    throw new StoreUnreachable('the object store refuses every change of current.json');
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#changeUses(domain, (uses) => withRollout(usable(uses, domain, version), target, version));
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    await this.change(rolloutsPath(domain), (text) => {
      const rollouts = new Map(text === null ? [] : Object.entries(parseRollouts(text)));
      return toJson(Object.fromEntries(rollouts.set(target, version)));
    });
  }

  /** As `BundleStore.prune`. */
  prune(domain: string, keep: number, held: readonly string[]): Promise<string[]> {
    return this.#removeSome(domain, held, (use) => removable({ ...use, keep }));
  }

  /** As `BundleStore.withdraw`. */
  async withdraw(domain: string, version: string): Promise<void> {
    await this.#removeSome(domain, [], (use) =>
      use.stored.includes(version) && !versionsInUse(use).has(version) ? [version] : [],
    );
  }

  /** Condemned first, by a change that a use in between undoes, then removed. */
  async #removeSome(
    domain: string,
    held: readonly string[],
    choose: (use: Omit<Keeping, 'keep'>) => string[],
  ): Promise<string[]> {
    const folder = `${versionsPath(domain)}/`;
    const names = (await this.#bucket.list(folder)).map(({ path }) => path.slice(folder.length).split('/')[0] ?? '');
    const stored = [...new Set(names)];
    let removing: string[] = [];
    await this.#changeUses(domain, async (uses) => {
      const now = new Date();
      const current = (await this.current(domain))?.version ?? null;
      const rollouts = await this.rollouts(domain);
      const allHeld = [...held, ...heldVersions(await this.hold(domain))];
      const chosen = choose({ stored, current, held: allHeld, rollouts, uses, now });
      // Those that an earlier retention condemned and did not live to remove are still to be removed.
      removing = [...new Set([...uses.removing, ...chosen])];
      return removing.length === 0 ? uses : { ...uses, promoting: livePromotions(uses, now), removing };
    });
    for (const version of removing) await this.#removeVersion(domain, version);
    if (removing.length > 0) {
      const gone = new Set(removing);
      await this.#changeUses(domain, (uses) => ({
        ...uses,
        removing: uses.removing.filter((version) => !gone.has(version)),
      }));
    }
    return removing;
  }

  /** The manifest first: without it there is no version. */
  async #removeVersion(domain: string, version: string): Promise<void> {
    const folder = `${versionPath(domain, version)}/`;
    await this.#bucket.remove(`${folder}${manifestName}`);
    for (const { path } of await this.#bucket.list(folder)) await this.#bucket.remove(path);
  }

  async #changeUses(domain: string, change: (uses: VersionUses) => VersionUses | Promise<VersionUses>): Promise<void> {
    await this.change(usesPath(domain), async (text) => {
      const uses = text === null ? noUses : parseUses(text);
      const changed = await change(uses);
      return changed === uses ? null : toJson({ ...changed, changes: uses.changes + 1 });
    });
  }

  /** Reads an object, changes it and writes it back if nobody has in between, else once more; null changes nothing. */
  async change(path: string, change: (text: string | null) => string | null | Promise<string | null>): Promise<void> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.#bucket.read(path);
      const text = await change(found?.text ?? null);
      if (text === null) return;
      if (await this.#bucket.write(path, text, found === null ? 'absent' : { etag: found.etag })) return;
      await stepBack(tries);
    }
    throw new StoreUnreachable(`the object store refuses every change of ${path}`);
  }
}

/** Lets those go first who were quicker: longer after each try, by chance, at most a second. */
function stepBack(tries: number): Promise<void> {
  return sleep(Math.random() * Math.min(1_000, 10 * 2 ** tries));
}

/** Throws `NoSuchVersion` when retention has condemned the version. */
function usable(uses: VersionUses, domain: string, version: string): VersionUses {
  if (!uses.removing.includes(version)) return uses;
  throw new NoSuchVersion(`${domain} has no version ${version} any more: it is being removed`);
}
