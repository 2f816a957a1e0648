import { hash } from 'node:crypto';
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

type VersionFiles = ReadonlyMap<string, PublishedFile>;

/** The files of published versions, remembered because they never change; requests for a version share one reading. */
export class PublishedFiles {
  readonly #store: Pick<BundleStore, 'open'>;
  readonly #known = new Map<string, Promise<VersionFiles | null>>();

  constructor(store: Pick<BundleStore, 'open'>) {
    this.#store = store;
  }

  /** Null when the version has no such file. Throws what opening throws. */
  async of(domain: string, version: string, file: string): Promise<PublishedFile | null> {
    const key = keyOf(domain, version);
    const known = this.#known.get(key);
    const reading = known ?? this.#read(domain, version);
    if (known === undefined) this.#remember(key, reading);
    return (await reading)?.get(file) ?? null;
  }

  forget(domain: string, version: string): void {
    this.#known.delete(keyOf(domain, version));
  }

  #remember(key: string, reading: Promise<VersionFiles | null>): void {
    this.#known.set(key, reading);
    const forget = () => {
      if (this.#known.get(key) === reading) this.#known.delete(key);
    };
    // A version may be published, or a store answer, a moment later.
    reading.then((files) => {
      if (files === null) return forget();
      const [oldest] = this.#known.keys();
      if (this.#known.size > rememberedVersions && oldest !== undefined) this.#known.delete(oldest);
    }, forget);
  }

  async #read(domain: string, version: string): Promise<VersionFiles | null> {
    const text = await contentOf(this.#store, domain, version, manifestName);
    if (text === null) return null;
    const manifest = manifestIn(text.toString());
    if (manifest === null) return null;
    const { sha256, bytes, format } = manifest.archive;
    const etag = hash('sha256', text);
    const files = new Map<string, PublishedFile>([
      [manifestName, { etag, bytes: text.length, type: 'application/json; charset=utf-8' }],
      [bundleName(manifest), { etag: sha256, bytes, type: contentTypes[format] }],
    ]);
    const signature = await contentOf(this.#store, domain, version, signatureName);
    if (signature !== null) {
      const digest = hash('sha256', signature);
      files.set(signatureName, { etag: digest, bytes: signature.length, type: 'text/plain; charset=utf-8' });
    }
    return files;
  }
}

function keyOf(domain: string, version: string): string {
  return `${domain}/${version}`;
}
