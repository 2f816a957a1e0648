import { NoSuchVersion } from './bundle-store.ts';
import { type HoldRequest, holdAfter, type SiteHold, type SiteHolds } from './site-holds.ts';
import { StoreUnreachable } from './store-errors.ts';
import { parseHold, toJson } from './store-json.ts';
import { holdPath } from './store-layout.ts';
import type { S3Bucket } from './s3-bucket.ts';
import type { S3Records } from './s3-records.ts';

/** Of several writers of one object, each needs a try more than the one before it. */
const mostTries = 30;

/**
 * Holds of an S3 store. There is no lock: a promotion reads the pointer, then the hold, then swaps the pointer; a hold is
 * written first, then the pointer gets another epoch. Whichever comes second sees the other (decisions/0073).
 */
export class S3Holds implements SiteHolds {
  readonly #bucket: S3Bucket;
  readonly #records: S3Records;

  constructor(bucket: S3Bucket, records: S3Records) {
    this.#bucket = bucket;
    this.#records = records;
  }

  of(domain: string): Promise<SiteHold | null> {
    return this.#records.hold(domain);
  }

  async place(domain: string, request: HoldRequest): Promise<SiteHold> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const current = await this.#records.current(domain);
      const version = request.version ?? current?.version;
      if (version === undefined) throw new NoSuchVersion(`nothing of ${domain} is published`);
      await this.#records.requireManifest(domain, version);
      // First: this command may die behind the hold, and one without a mark would be told to nobody.
      await this.#records.marks.holding(domain, version);
      // Like a promotion: a version that retention has condemned is refused, and this one is not condemned meanwhile.
      const hold = await this.#records.promoting(domain, version, async () => {
        // Retention may have removed it since.
        await this.#records.requireManifest(domain, version);
        return this.#change(domain, (before) => holdAfter(before, version, request));
      });
      if (hold === null) throw new StoreUnreachable('the object store lost a hold');
      // Where the pointer has yet to move, its swap decides; where it stays, another epoch fails swaps that have begun.
      if (current?.version !== version || (await this.#records.renewEpoch(domain, current))) {
        await this.#tidyMarks(domain);
        return hold;
      }
    }
    throw new StoreUnreachable(`${domain} cannot be held: its pointer keeps moving`);
  }

  async release(domain: string): Promise<SiteHold | null> {
    const hold = await this.of(domain);
    await this.#bucket.remove(holdPath(domain));
    await this.#tidyMarks(domain);
    return hold;
  }

  async noteWaiting(domain: string, version: string): Promise<SiteHold | null> {
    const hold = await this.#change(domain, (before) => before && { ...before, waiting: version });
    // An older docferry may have died before it was marked.
    if (hold !== null) await this.#records.marks.holding(domain, hold.version);
    return hold;
  }

  /**
   * Leaves the mark of the hold as it is now, whichever process has changed it last. A failure changes nothing about the
   * hold, so the command has done its work: a mark too many is looked up and found to say nothing.
   */
  async #tidyMarks(domain: string): Promise<void> {
    const heldAt = async () => (await this.of(domain))?.version ?? null;
    try {
      let held = await heldAt();
      for (let tries = 0; tries < mostTries; tries += 1) {
        await this.#records.marks.held(domain, held);
        // Another process may have placed a hold, whose mark went with the others.
        const now = await heldAt();
        if (now === held) return;
        held = now;
      }
    } catch {
      // As said above.
    }
  }

  async #change(domain: string, change: (before: SiteHold | null) => SiteHold | null): Promise<SiteHold | null> {
    let changed: SiteHold | null = null;
    await this.#records.change(holdPath(domain), (text) => {
      changed = change(text === null ? null : parseHold(text));
      return changed && toJson(changed);
    });
    return changed;
  }
}
