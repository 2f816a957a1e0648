import type { Current, InService } from './bundle-store.ts';
import { toJson } from './store-json.ts';
import { marksRoot } from './store-layout.ts';
import { storeName } from './store-names.ts';
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

  /** Marks a domain before it is held: a hold without a mark would be told to nobody. */
  async holding(domain: string, version: string): Promise<void> {
    await this.#bucket.write(`${folderOf(domain, 'held')}${version}`, toJson({ version }), null);
  }

  /** Marks where a domain is held now, and nothing else; null for nowhere. */
  async held(domain: string, version: string | null): Promise<void> {
    const folder = folderOf(domain, 'held');
    if (version !== null) await this.holding(domain, version);
    for (const { path } of await this.#bucket.list(folder)) {
      if (path !== `${folder}${version}`) await this.#bucket.remove(path);
    }
  }

  /** What the marks of all domains say; a domain marked as held may be so no longer, or not yet. */
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
