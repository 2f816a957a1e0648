import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFileSync } from '../../../files/replace-file.ts';
import { NoSuchVersion } from '../bundle-store.ts';
import { type HoldRequest, placed, type SiteHold, type SiteHolds } from '../site-holds.ts';
import { toJson } from '../store-files.ts';
import { holdPath } from '../store-layout.ts';
import type { DirectoryState } from './directory-state.ts';

/** Holds of a directory store: a file each, changed under the store's lock as the pointer is. */
export class DirectoryHolds implements SiteHolds {
  readonly #root: string;
  readonly #state: DirectoryState;

  constructor(root: string, state: DirectoryState) {
    this.#root = root;
    this.#state = state;
  }

  async of(domain: string): Promise<SiteHold | null> {
    return this.#state.hold(domain);
  }

  async place(domain: string, request: HoldRequest): Promise<SiteHold> {
    return this.#state.locked(() => {
      const version = request.version ?? this.#state.current(domain);
      if (version === null) throw new NoSuchVersion(`nothing of ${domain} is published`);
      this.#state.requireVersion(domain, version);
      return this.#write(domain, placed(this.#state.hold(domain), version, request));
    });
  }

  async release(domain: string): Promise<SiteHold | null> {
    return this.#state.locked(() => {
      const hold = this.#state.hold(domain);
      rmSync(this.#file(domain), { force: true });
      return hold;
    });
  }

  async noteWaiting(domain: string, version: string): Promise<SiteHold | null> {
    return this.#state.locked(() => {
      const hold = this.#state.hold(domain);
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
