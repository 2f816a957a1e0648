import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Current, type Mover, NoSuchVersion, PointerMoved, requireUnclaimed } from './bundle-store.ts';
import {
  type InUse,
  livePromotions,
  nothingInUse,
  prunable,
  type RetentionFacts,
  withdrawable,
  withPromotion,
  withRollout,
} from './retention.ts';
import { requireNotHeldElsewhere, type SiteHold } from './site-holds.ts';
import { StoreUnreachable } from './store-errors.ts';
import { parseClaim, parseCurrent, parseHold, parseInUse, parseRollouts, toJson } from './store-json.ts';
import {
  claimPath,
  currentPath,
  holdPath,
  inUsePath,
  manifestName,
  manifestPath,
  rolloutsPath,
  versionPath,
  versionsPath,
} from './store-layout.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { S3Marks } from './s3-marks.ts';

/** Of several writers of one object, each needs a try more than the one before it. */
const mostTries = 30;

/**
 * The JSON records of a domain that change in an S3 store: pointer, rollouts, `in-use.json`. There is no lock: each is
 * one object that is changed by compare-and-swap, and what two of them must agree on goes through `in-use.json`
 * (decisions/0061).
 */
export class S3Records {
  readonly marks: S3Marks;
  readonly #bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
    this.marks = new S3Marks(bucket);
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
   * Runs the promotion of a version, which retention leaves alone meanwhile; `promotion` checks that the version still
   * exists. Throws `NoSuchVersion`.
   */
  async promoting<T>(domain: string, version: string, promotion: () => Promise<T>): Promise<T> {
    const attempt = { version, id: randomUUID() };
    await this.#changeInUse(domain, (inUse) =>
      withPromotion(requireNotCondemned(inUse, domain, version), attempt, new Date()),
    );
    try {
      return await promotion();
    } finally {
      await this.#changeInUse(domain, (inUse) => withPromotion(inUse, attempt, null));
    }
  }

  /** Gives the pointer another epoch, so that a writer that read it before cannot move it; false when it has moved. */
  async renewEpoch(domain: string, known: Current): Promise<boolean> {
    const found = await this.#bucket.read(currentPath(domain));
    if (found === null || parseCurrent(found.text).epoch !== known.epoch) return false;
    const renewed = { ...known, epoch: known.epoch + 1 };
    return this.#bucket.write(currentPath(domain), toJson(renewed), { etag: found.etag });
  }

  /** Like `swapCurrent`, then marks the pointer: a repetition after a crash between the two marks it too. */
  async moveCurrent(domain: string, next: Current, mover?: Mover): Promise<Current> {
    const moved = await this.swapCurrent(domain, next, mover);
    await this.marks.current(domain, moved);
    return moved;
  }

  /** Makes `next` the pointer if it is at the epoch before; no error when it is there already. Throws `PointerMoved`, `SiteHeld`. */
  async swapCurrent(domain: string, next: Current, mover?: Mover): Promise<Current> {
    const path = currentPath(domain);
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.#bucket.read(path);
      const now = found === null ? null : parseCurrent(found.text);
      // This is so too when our own write arrived and its answer did not.
      if (now?.version === next.version) return now;
      // After the pointer: a hold or claim from here on changes its ETag, and the swap fails.
      requireNotHeldElsewhere(domain, await this.hold(domain), next.version);
      if (mover) requireUnclaimed(domain, await this.#claimedAt(domain), mover);
      const epoch = now?.epoch ?? 0;
      if (epoch + 1 !== next.epoch) {
        throw new PointerMoved(`${domain} is at epoch ${epoch}, not ${next.epoch - 1}: another run has published`);
      }
      await mover?.confirm();
      const condition = found === null ? 'absent' : { etag: found.etag };
      if (await this.#bucket.write(path, toJson(next), condition)) return next;
      await waitAfterConflict(tries);
    }
    throw new StoreUnreachable('the object store refuses every change of current.json');
  }

  /** As `BundleStore.claim`. The pointer's new epoch fails a swap that has begun. */
  async claim(domain: string, since: Date): Promise<void> {
    await this.change(claimPath(domain), (text) =>
      text !== null && parseClaim(text).since >= since ? null : toJson({ since }),
    );
    for (let tries = 0; tries < mostTries; tries += 1) {
      const current = await this.current(domain);
      if (current === null || (await this.renewEpoch(domain, current))) return;
      await waitAfterConflict(tries);
    }
    throw new StoreUnreachable(`${domain} cannot be claimed: its pointer keeps moving`);
  }

  async #claimedAt(domain: string): Promise<Date | null> {
    const found = await this.#bucket.read(claimPath(domain));
    return found === null ? null : parseClaim(found.text).since;
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#changeInUse(domain, (inUse) =>
      withRollout(requireNotCondemned(inUse, domain, version), target, version),
    );
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    await this.change(rolloutsPath(domain), (text) =>
      toJson({ ...(text === null ? {} : parseRollouts(text)), [target]: version }),
    );
  }

  /** As `BundleStore.prune`. */
  prune(domain: string, keep: number): Promise<string[]> {
    return this.#remove(domain, (facts) => prunable(facts, keep));
  }

  /** As `BundleStore.withdraw`. */
  withdraw(domain: string, version: string): Promise<string[]> {
    return this.#remove(domain, (facts) => withdrawable(facts, version));
  }

  /** Condemns versions first, by a change that fails when one is taken into use in between, then removes them. */
  async #remove(domain: string, choose: (facts: RetentionFacts) => string[]): Promise<string[]> {
    const folder = `${versionsPath(domain)}/`;
    const names = (await this.#bucket.list(folder)).map(({ path }) => path.slice(folder.length).split('/')[0] ?? '');
    const stored = [...new Set(names)];
    let removing: string[] = [];
    await this.#changeInUse(domain, async (inUse) => {
      const now = new Date();
      const current = (await this.current(domain))?.version ?? null;
      const rollouts = await this.rollouts(domain);
      const hold = await this.hold(domain);
      const chosen = choose({ stored, current, hold, rollouts, inUse, now });
      // An earlier retention may have died between condemning versions and removing them.
      removing = [...new Set([...inUse.removing, ...chosen])];
      return removing.length === 0 ? inUse : { ...inUse, promoting: livePromotions(inUse, now), removing };
    });
    for (const version of removing) await this.#removeVersion(domain, version);
    if (removing.length > 0) {
      const gone = new Set(removing);
      await this.#changeInUse(domain, (inUse) => ({
        ...inUse,
        removing: inUse.removing.filter((version) => !gone.has(version)),
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

  async #changeInUse(domain: string, change: (inUse: InUse) => InUse | Promise<InUse>): Promise<void> {
    await this.change(inUsePath(domain), async (text) => {
      const inUse = text === null ? nothingInUse : parseInUse(text);
      const changed = await change(inUse);
      return changed === inUse ? null : toJson({ ...changed, changes: inUse.changes + 1 });
    });
  }

  /** Reads an object, changes it and writes it back, again when another writer was quicker; null changes nothing. */
  async change(path: string, change: (text: string | null) => string | null | Promise<string | null>): Promise<void> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.#bucket.read(path);
      const text = await change(found?.text ?? null);
      if (text === null) return;
      if (await this.#bucket.write(path, text, found === null ? 'absent' : { etag: found.etag })) return;
      await waitAfterConflict(tries);
    }
    throw new StoreUnreachable(`the object store refuses every change of ${path}`);
  }
}

/** A random wait, up to twice as long after each try and a second at most: the other writers finish meanwhile. */
function waitAfterConflict(tries: number): Promise<void> {
  return sleep(Math.random() * Math.min(1_000, 10 * 2 ** tries));
}

/** The same; throws `NoSuchVersion` when retention has condemned the version. */
function requireNotCondemned(inUse: InUse, domain: string, version: string): InUse {
  if (!inUse.removing.includes(version)) return inUse;
  throw new NoSuchVersion(`${domain} has no version ${version} any more: it is being removed`);
}
