import { join } from 'node:path';
import { removeFileSync, replaceFileSync } from '../../replace-file.ts';
import { NoSuchVersion } from './bundle-store.ts';
import { type HoldRequest, holdAfter, type SiteHold, type SiteHolds } from './site-holds.ts';
import { toJson } from './store-json.ts';
import { holdPath } from './store-layout.ts';
import type { DirectoryRecords } from './directory-records.ts';

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
