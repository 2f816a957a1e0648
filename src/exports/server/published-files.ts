import { createHash } from 'node:crypto';
import type { ArchiveFormat } from '../rules/site-export.ts';
import { type BundleStore, bundleName, manifestName, signatureName } from '../store/bundle-store.ts';
import { contentOf, manifestIn } from '../store/manifests.ts';

interface PublishedFile {
  /** Strong, without quotes: of a bundle the SHA-256 of the archive. */
  etag: string;
  bytes: number;
  type: string;
}

const rememberedVersions = 256;

export const contentTypes: Record<ArchiveFormat, string> = {
  'tar.gz': 'application/gzip',
  tar: 'application/x-tar',
  zip: 'application/zip',
};

/** The files of published versions, remembered because they never change. */
export class PublishedFiles {
  readonly #store: Pick<BundleStore, 'open'>;
  readonly #known = new Map<string, ReadonlyMap<string, PublishedFile>>();
  /** Reads under way: requests for the same version share one. */
  readonly #reads = new Map<string, Promise<ReadonlyMap<string, PublishedFile> | null>>();

  constructor(store: Pick<BundleStore, 'open'>) {
    this.#store = store;
  }

  /** Null when the version has no such file. Throws what opening throws. */
  async of(domain: string, version: string, file: string): Promise<PublishedFile | null> {
    const files = this.#known.get(keyOf(domain, version)) ?? (await this.#readOnce(domain, version));
    return files?.get(file) ?? null;
  }

  forget(domain: string, version: string): void {
    this.#known.delete(keyOf(domain, version));
  }

  #readOnce(domain: string, version: string): Promise<ReadonlyMap<string, PublishedFile> | null> {
    const key = keyOf(domain, version);
    const underWay = this.#reads.get(key);
    if (underWay !== undefined) return underWay;
    const reading = this.#read(domain, version)
      .then((files) => {
        if (files !== null) this.#remember(key, files);
        return files;
      })
      .finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  async #read(domain: string, version: string): Promise<ReadonlyMap<string, PublishedFile> | null> {
    const text = await contentOf(this.#store, domain, version, manifestName);
    if (text === null) return null;
    const manifest = manifestIn(text.toString());
    if (manifest === null) return null;
    const { sha256, bytes, format } = manifest.archive;
    const etag = createHash('sha256').update(text).digest('hex');
    const files = new Map<string, PublishedFile>([
      [manifestName, { etag, bytes: text.length, type: 'application/json; charset=utf-8' }],
      [bundleName(manifest), { etag: sha256, bytes, type: contentTypes[format] }],
    ]);
    const signature = await contentOf(this.#store, domain, version, signatureName);
    if (signature !== null) {
      const digest = createHash('sha256').update(signature).digest('hex');
      files.set(signatureName, { etag: digest, bytes: signature.length, type: 'text/plain; charset=utf-8' });
    }
    return files;
  }

  #remember(key: string, files: ReadonlyMap<string, PublishedFile>): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= rememberedVersions && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, files);
  }
}

function keyOf(domain: string, version: string): string {
  return `${domain}/${version}`;
}
