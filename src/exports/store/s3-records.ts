import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Current,
  type HoldRequest,
  holdAfter,
  holdWaiting,
  type InService,
  type Manifest,
  type Mover,
  manifestPath,
  marksRoot,
  movedPointer,
  NoSuchVersion,
  type ObservedTargets,
  replacesClaim,
  type SiteHold,
  type SiteHolds,
  StoreUnreachable,
  storeName,
  versionPath,
  versionsPath,
} from './bundle-store.ts';
import { parseRecord, type RecordKind, recordPath, records, toJson } from './manifests.ts';
import {
  type InUse,
  lastRolledOut,
  livePromotions,
  nothingInUse,
  prunable,
  type RetentionFacts,
  withdrawable,
  withoutRollout,
  withPromotion,
  withRollout,
} from './retention.ts';
import type { S3Bucket } from './s3-bucket.ts';

/** Epochs as text in the order of their numbers. */
const epochDigits = 12;

/**
 * What is in service, written into the names of small objects under one prefix: one listing returns a thousand of them,
 * while each pointer would take a request. A mark follows its pointer or hold, and never decides anything
 * (decisions/0100).
 */
export class S3Marks {
  readonly #bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  /** Marks the pointer, once it has moved. Of marks that overtake each other the one with the greatest epoch counts. */
  async current(domain: string, { version, epoch }: Current): Promise<void> {
    const folder = folderOf(domain, 'current');
    const name = `${String(epoch).padStart(epochDigits, '0')}-${version}`;
    await this.#bucket.write(`${folder}${name}`, toJson({ version, epoch }), null);
    for (const { path } of await this.#bucket.list(folder)) {
      if (path.slice(folder.length) < name) await this.#bucket.remove(path);
    }
  }

  /** Removes the marks of a version that the pointer no longer names. */
  async noCurrent(domain: string, version: string): Promise<void> {
    for (const { path } of await this.#bucket.list(folderOf(domain, 'current'))) {
      if (path.endsWith(`-${version}`)) await this.#bucket.remove(path);
    }
  }

  /** Marks a domain before it is held: without a mark, `inService` would never report the hold. */
  async holding(domain: string, version: string): Promise<void> {
    await this.#bucket.write(`${folderOf(domain, 'held')}${version}`, toJson({ version }), null);
  }

  /** Leaves one mark, of where the domain is held now; null for nowhere. */
  async held(domain: string, version: string | null): Promise<void> {
    const folder = folderOf(domain, 'held');
    if (version !== null) await this.holding(domain, version);
    for (const { path } of await this.#bucket.list(folder)) {
      if (path !== `${folder}${version}`) await this.#bucket.remove(path);
    }
  }

  /** The marks of all domains; a domain marked as held may be held no longer, or not yet. */
  async all(): Promise<Map<string, InService>> {
    const found = new Map<string, InService>();
    for (const { path } of await this.#bucket.list(`${marksRoot}/`)) {
      const [domain = '', what, name = ''] = path.slice(marksRoot.length + 1).split('/');
      const before = found.get(domain) ?? { current: null, held: null };
      // Names come in the order of their epochs.
      if (what === 'current') found.set(domain, { ...before, current: name.slice(epochDigits + 1) });
      else if (what === 'held') found.set(domain, { ...before, held: name });
    }
    return found;
  }
}

const folderOf = (domain: string, what: 'current' | 'held'): string =>
  `${marksRoot}/${storeName('domain', domain)}/${what}/`;

/** Of several writers of one object, each needs a try more than the one before it. */
const mostTries = 30;

/**
 * The JSON records of a domain that change in an S3 store: pointer, hold, rollouts, `in-use.json`. There is no lock: each
 * is one object that is changed by compare-and-swap, and what two of them must agree on goes through `in-use.json`
 * (decisions/0061). A promotion reads the pointer, then the hold, then swaps the pointer; a hold is written first, then
 * the pointer gets another epoch: whichever comes second sees the other (decisions/0073).
 */
export abstract class S3Records {
  readonly marks: S3Marks;
  readonly holds: SiteHolds = {
    of: (domain) => this.hold(domain),
    place: (domain, request) => this.#placeHold(domain, request),
    release: async (domain, refused) => {
      let released: SiteHold | null = null;
      // Not removed: that would also end a hold that a person places at this moment.
      await this.#change(domain, records.hold, (hold) => {
        // An earlier try of this call may have written this, and only its answer was lost.
        if (hold === null) return null;
        released = refused === undefined || hold.refused?.version === refused ? hold : null;
        return released && { version: null, releasedAt: new Date() };
      });
      await this.#tidyMarks(domain);
      return released;
    },
    noteWaiting: async (domain, version) => {
      const hold = await this.#change(domain, records.hold, (before) => holdWaiting(before, version));
      if (hold === null || hold.refused) return null;
      // An older docferry may have died before it marked the hold.
      await this.marks.holding(domain, hold.version);
      return hold;
    },
  };
  protected readonly bucket: S3Bucket;

  constructor(bucket: S3Bucket) {
    this.bucket = bucket;
    this.marks = new S3Marks(bucket);
  }

  abstract manifest(domain: string, version: string): Promise<Manifest>;

  current(domain: string): Promise<Current | null> {
    return this.#read(domain, records.current);
  }

  hold(domain: string): Promise<SiteHold | null> {
    return this.#read(domain, records.hold);
  }

  async rolledOut(domain: string, target: string): Promise<string | null> {
    const reads = [this.#rollouts(domain), this.#read(domain, records.inUse)] as const;
    const [rollouts, inUse] = await Promise.all(reads);
    return lastRolledOut(rollouts, inUse ?? nothingInUse, target);
  }

  async #rollouts(domain: string): Promise<Record<string, string>> {
    return (await this.#read(domain, records.rollouts)) ?? {};
  }

  /** Retention leaves the version alone during its promotion, which checks that it exists. Throws `NoSuchVersion`. */
  async #promoting<T>(domain: string, version: string, promotion: () => Promise<T>): Promise<T> {
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

  /** Moves the pointer, then marks it: a repetition after a crash between the two marks it too. */
  moveCurrent(
    domain: string,
    version: string,
    expectedEpoch: number,
    publishedAt: Date,
    mover?: Mover,
  ): Promise<Current> {
    return this.#promoting(domain, version, async () => {
      const { contentDigest } = await this.manifest(domain, version);
      const move = { version, contentDigest, expectedEpoch, publishedAt };
      const moved = await this.#change(domain, records.current, async (now) => {
        // Also when our own write arrived and its answer was lost.
        if (now?.version === version) return null;
        // Read after the pointer: a later hold or claim changes the pointer's ETag, and the write fails.
        const hold = await this.hold(domain);
        const claim = mover ? await this.#read(domain, records.claim) : null;
        const next = movedPointer(domain, { now, hold, claimedAt: claim?.since ?? null }, move, mover);
        await mover?.confirm();
        return next;
      });
      if (moved === null) throw new StoreUnreachable('the object store lost a pointer');
      await this.marks.current(domain, moved);
      return moved;
    });
  }

  /** By compare-and-swap; repeated after a crash, it also removes the mark. */
  async unsetCurrent(domain: string, version: string): Promise<void> {
    await this.#change(domain, records.current, (now) =>
      now?.version === version ? { version: null, claimedAt: new Date() } : null,
    );
    await this.marks.noCurrent(domain, version);
  }

  /** The pointer changes, or begins to exist without a version, which fails a swap that has begun. */
  async claim(domain: string, since: Date): Promise<void> {
    await this.#change(domain, records.claim, (before) =>
      replacesClaim(before?.since ?? null, since) ? { since } : null,
    );
    await this.#change(domain, records.current, (now) =>
      now === null ? { version: null, claimedAt: since } : { ...now, epoch: now.epoch + 1 },
    );
  }

  /** Gives the pointer another epoch, so that a writer that read it before cannot move it; false when it has moved. */
  async #renewEpoch(domain: string, known: Current): Promise<boolean> {
    let isRenewed = false;
    await this.#change(domain, records.current, (now) => {
      isRenewed = now?.epoch === known.epoch;
      return isRenewed ? { ...known, epoch: known.epoch + 1 } : null;
    });
    return isRenewed;
  }

  async observed(domain: string): Promise<ObservedTargets> {
    return (await this.#read(domain, records.observed)) ?? {};
  }

  async recordObserved(domain: string, observed: ObservedTargets): Promise<void> {
    await this.bucket.write(recordPath(domain, records.observed), toJson(observed), null);
  }

  async startRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#changeInUse(domain, (inUse) =>
      withRollout(requireNotCondemned(inUse, domain, version), target, version),
    );
    // Checked only now: retention may have removed it a moment ago.
    await this.manifest(domain, version);
  }

  async recordRollout(domain: string, target: string, version: string): Promise<void> {
    await this.#change(domain, records.rollouts, (before) => ({ ...before, [target]: version }));
    await this.#changeInUse(domain, (inUse) => withoutRollout(inUse, target, version));
  }

  prune(domain: string, keep: number): Promise<string[]> {
    return this.#remove(domain, (facts) => prunable(facts, keep));
  }

  async withdraw(domain: string, version: string): Promise<void> {
    const name = storeName('version', version);
    await this.#remove(domain, (facts) => withdrawable(facts, name));
  }

  /** Condemns versions first, by a change that fails when one is taken into use in between, then removes them. */
  async #remove(domain: string, choose: (facts: RetentionFacts) => string[]): Promise<string[]> {
    const folder = `${versionsPath(domain)}/`;
    const names = (await this.bucket.list(folder)).map(({ path }) => path.slice(folder.length).split('/')[0] ?? '');
    const stored = [...new Set(names)];
    let removing: string[] = [];
    await this.#changeInUse(domain, async (inUse) => {
      const now = new Date();
      const { version: current = null, before = [] } = (await this.current(domain)) ?? {};
      const rollouts = await this.#rollouts(domain);
      const hold = await this.hold(domain);
      const chosen = choose({ stored, current, before, hold, rollouts, inUse, now });
      // An earlier retention may have died between condemning versions and removing them.
      removing = [...new Set([...inUse.removing, ...chosen])];
      return removing.length === 0 ? inUse : { ...inUse, promoting: livePromotions(inUse, now), removing };
    });
    for (const version of removing) {
      // First: without its manifest there is no version.
      await this.bucket.remove(manifestPath(domain, version));
      const files = await this.bucket.list(`${versionPath(domain, version)}/`);
      for (const { path } of files) await this.bucket.remove(path);
    }
    if (removing.length > 0) {
      const gone = new Set(removing);
      await this.#changeInUse(domain, (inUse) => ({
        ...inUse,
        removing: inUse.removing.filter((version) => !gone.has(version)),
      }));
    }
    return removing;
  }

  async #placeHold(domain: string, request: HoldRequest): Promise<SiteHold> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const current = await this.current(domain);
      const version = request.version ?? current?.version;
      if (version === undefined) throw new NoSuchVersion(`nothing of ${domain} is published`);
      await this.#requireManifest(domain, version);
      // Mark first: if this process dies after placing the hold, `inService` must still report it.
      await this.marks.holding(domain, version);
      // Like a promotion: a version that retention has condemned is refused, and this one is not condemned meanwhile.
      const hold = await this.#promoting(domain, version, async () => {
        // Retention may have removed it since.
        await this.#requireManifest(domain, version);
        return this.#change(domain, records.hold, (before) => holdAfter(before, version, request));
      });
      if (hold === null) throw new StoreUnreachable('the object store lost a hold');
      // Where the pointer has yet to move, its swap decides; where it stays, another epoch fails swaps that have begun.
      if (current?.version !== version || (await this.#renewEpoch(domain, current))) {
        await this.#tidyMarks(domain);
        return hold;
      }
    }
    throw new StoreUnreachable(`${domain} cannot be held: its pointer keeps moving`);
  }

  /** Leaves the mark of the hold as it is now. A failure is ignored: a mark without a hold counts as none. */
  async #tidyMarks(domain: string): Promise<void> {
    const heldAt = async () => (await this.hold(domain))?.version ?? null;
    try {
      let held = await heldAt();
      for (let tries = 0; tries < mostTries; tries += 1) {
        await this.marks.held(domain, held);
        // Another process may have placed a hold, whose mark went with the others.
        const now = await heldAt();
        if (now === held) return;
        held = now;
      }
    } catch {
      // As said above.
    }
  }

  /** Throws `NoSuchVersion`. */
  async #requireManifest(domain: string, version: string): Promise<void> {
    if ((await this.bucket.stat(manifestPath(domain, version))) !== null) return;
    throw new NoSuchVersion(`${domain} has no version ${version}`);
  }

  async #changeInUse(domain: string, change: (inUse: InUse) => InUse | Promise<InUse>): Promise<void> {
    await this.#change(domain, records.inUse, async (before) => {
      const inUse = before ?? nothingInUse;
      const changed = await change(inUse);
      return changed === inUse ? null : { ...changed, changes: inUse.changes + 1 };
    });
  }

  async #read<Content>(domain: string, record: RecordKind<Content>): Promise<Content | null> {
    const path = recordPath(domain, record);
    const found = await this.bucket.read(path);
    return found === null ? null : parseRecord(record, found.text, path);
  }

  /**
   * Reads a record, changes it and writes it back, again when another writer was quicker; null changes nothing. Returns
   * the record as it is then.
   */
  async #change<Content>(
    domain: string,
    record: RecordKind<Content>,
    change: (before: Content | null) => object | null | Promise<object | null>,
  ): Promise<Content | null> {
    const path = recordPath(domain, record);
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = await this.bucket.read(path);
      const before = found === null ? null : parseRecord(record, found.text, path);
      const changed = await change(before);
      if (changed === null) return before;
      const text = toJson(changed);
      if (await this.bucket.write(path, text, found === null ? 'absent' : { etag: found.etag })) {
        return parseRecord(record, text);
      }
      await waitAfterConflict(tries);
    }
    throw new StoreUnreachable(`the object store refuses every change of ${path}`);
  }
}

/** A random wait, up to twice as long after each try and a second at most: the other writers finish meanwhile. */
function waitAfterConflict(tries: number): Promise<void> {
  return sleep(Math.random() * Math.min(1_000, 10 * 2 ** tries));
}

/** The same record; throws `NoSuchVersion` when retention has condemned the version. */
function requireNotCondemned(inUse: InUse, domain: string, version: string): InUse {
  if (!inUse.removing.includes(version)) return inUse;
  throw new NoSuchVersion(`${domain} has no version ${version} any more: it is being removed`);
}
