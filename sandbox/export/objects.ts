import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Settings } from '../settings.ts';
import { writeArchive } from './archive.ts';
import { renderSite, type SiteContent } from './site.ts';

/** One immutable object of the object store. */
export interface StoredObject {
  file: string;
  size: number;
  /** Strong, with its quotes. */
  etag: string;
  lastModified: Date;
}

/** Content of the object store: archives in a folder, rendered one after the other. */
export class ObjectStore {
  readonly #folder: string;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  readonly #objects = new Map<string, Promise<StoredObject>>();
  readonly #contents = new Map<string, SiteContent>();
  #lastRender: Promise<unknown> = Promise.resolve();
  #made = 0;

  constructor(folder: string, settings: Settings, clock: Clock, stop: AbortSignal) {
    this.#folder = folder;
    this.#settings = settings;
    this.#clock = clock;
    this.#stop = stop;
  }

  /** The path of a job's archive. */
  keyOf(jobId: string): string {
    return `/exports/${jobId}/bundle.${this.#settings.archiveFormat}`;
  }

  /** Waits for a render under way; undefined when there is no such object. Rejects when rendering failed. */
  get(key: string): Promise<StoredObject> | undefined {
    return this.#objects.get(key);
  }

  /** Renders a site to the object. */
  render(key: string, content: SiteContent): Promise<StoredObject> {
    const rendered = this.#lastRender.then(() => this.#write(content));
    this.#lastRender = rendered.catch(() => undefined);
    this.#contents.set(key, content);
    this.#objects.set(key, rendered);
    return rendered;
  }

  /** Makes the object a file from elsewhere, unless it already is that file. */
  async substitute(key: string, file: string): Promise<StoredObject> {
    const current = await this.get(key);
    return current?.file === file ? current : this.replace(key, file);
  }

  /** Replaces the object by a file, or by the next revision of its site. Throws when there is none. */
  replace(key: string, file?: string): Promise<StoredObject> {
    if (file !== undefined) {
      const object = this.#describe(file);
      object.catch(() => undefined);
      this.#objects.set(key, object);
      return object;
    }
    const content = this.#contents.get(key);
    if (content === undefined) throw new Error('there is no such object');
    return this.render(key, { ...content, revision: content.revision + 1 });
  }

  async #write(content: SiteContent): Promise<StoredObject> {
    const number = this.#made + 1;
    const target = join(this.#folder, `${number}.archive`);
    await writeArchive({
      files: renderSite(content),
      format: this.#settings.archiveFormat,
      target,
      // A second apart for each archive: two exports of the same content differ in their bytes, never in their files.
      mtime: new Date(this.#clock.serviceNow() + number * 1_000),
      compress: content.padBytes === 0,
      signal: this.#stop,
    });
    return this.#describe(target);
  }

  async #describe(file: string): Promise<StoredObject> {
    this.#made += 1;
    const name = `${this.#settings.seed} ${this.#made}`;
    const { size } = await stat(file);
    const etag = `"${createHash('sha256').update(name).digest('hex').slice(0, 32)}"`;
    return { file, size, etag, lastModified: new Date(this.#clock.serviceNow()) };
  }
}
