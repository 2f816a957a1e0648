import { basename, join } from 'node:path';
import { counted } from '../../rules/text.ts';
import { Semaphore } from '../../semaphore.ts';
import type { Observed } from '../rules/rollout-steps.ts';
import { printablePath } from '../rules/verification-rules.ts';
import {
  identityPath,
  locationText,
  type Manifest,
  type S3Location,
  StoreRefused,
  StoreUnreachable,
} from '../store/bundle-store.ts';
import { proxyAgents } from '../store/open-bundle-store.ts';
import type { S3Bucket } from '../store/s3-bucket.ts';
import { contentTypeOf, isPage } from '../verify/site-links.ts';
import { type Place, type RolloutRequest, TargetRefused, withFiles } from './rollout-target.ts';

/** The object that says what the others are; written first as a plan, and last. */
const markerName = '.docferry-site.json';

interface Marker {
  domain: string;
  version: string;
  /** When it came into service, ISO 8601. */
  at: string;
  /** SHA-256 of its files, by path. */
  files: Record<string, string>;
  /** The same of files that only the version before had: readers may still have its pages open. */
  before: Record<string, string>;
  /** A rollout under way: until it ends, nothing is known of the bucket's content. */
  pending: { version: string; paths: string[] } | null;
}

/** Reads or writes at a time; each group of writes waits for the one before it. */
const requestsAtOnce = 8;
/** Pages are asked for again each time, other files for a few minutes: not all of them change their names. */
const [pageCache, assetCache] = ['no-cache', 'public, max-age=300'];

/**
 * Writes the files of a site into a bucket, only those that changed: assets, then pages, the index page, and a marker last,
 * so that a page never leads to what is not there yet. What only the version before the last had is removed, and nothing
 * that docferry has not written.
 */
export class BucketPlace implements Place {
  readonly #location: S3Location;
  #bucket: Promise<S3Bucket> | null = null;

  constructor(location: S3Location) {
    this.#location = location;
  }

  async observe(): Promise<Observed> {
    try {
      const bucket = await this.#open();
      const found = await bucket.read(markerName);
      if (found === null) return { runs: 'none', why: `there is no ${markerName} in ${this.#name}`, since: null };
      const { version, at, pending } = parseMarker(found.text);
      if (pending !== null)
        return { runs: 'unknown', why: `the rollout of ${pending.version} to ${this.#name} has not ended` };
      return { runs: 'version', version, since: at };
    } catch (error) {
      return { runs: 'unknown', why: (explained(error) as Error).message };
    }
  }

  async examine(): Promise<string> {
    try {
      await this.#refuseStore(await this.#open());
    } catch (error) {
      throw explained(error);
    }
    return `${this.#name} can be read`;
  }

  /** Throws `TargetRefused`, the signal's reason, and what `guard` throws. */
  async take(request: RolloutRequest): Promise<string> {
    try {
      return await this.#rollOut(request);
    } catch (error) {
      throw explained(error);
    }
  }

  async #rollOut(request: RolloutRequest): Promise<string> {
    const { domain, manifest } = request;
    if (manifest.files.some(({ path }) => basename(path) === markerName)) {
      throw new TargetRefused(
        `the site has a file ${markerName}, which docferry writes itself: leave it out of the site`,
      );
    }
    const bucket = await this.#open();
    const found = await bucket.read(markerName);
    const marker = found === null ? null : parseMarker(found.text);
    if (marker === null) await this.#refuseStore(bucket);
    else if (marker.domain !== domain) {
      throw new TargetRefused(
        `${this.#name} has the site ${marker.domain}: give each site a bucket or prefix of its own`,
      );
    }
    const plan = planOf(manifest, marker);
    const { version } = manifest;
    if (marker?.version === version && marker.pending === null && plan.writes.length === 0)
      return `${version} was in service`;
    const files = Object.fromEntries(manifest.files.map(({ path, sha256 }) => [path, sha256]));
    const pending = { version, paths: [...plan.writes, ...plan.removed] };
    await this.#refuseOthers(bucket, pending.paths, request);
    const at = new Date().toISOString();
    const begun = { ...(marker ?? { domain, version, at, files: {}, before: {} }), pending };
    await request.guard();
    await this.#mark(bucket, begun, found === null ? 'absent' : { etag: found.etag });
    await this.#write(bucket, plan.writes, request);
    for (const path of plan.removed) {
      await request.guard();
      await bucket.remove(path);
    }
    await request.guard();
    const written = await bucket.read(markerName);
    if (written?.text !== textOf(begun)) throw this.#overtaken();
    await this.#mark(
      bucket,
      { ...begun, version, at, files, before: plan.before, pending: null },
      { etag: written.etag },
    );
    const counts = `${counted(plan.writes.length, 'file')} written, ${plan.removed.length} removed`;
    return `${version} in ${this.#name} (${counts}), before: ${marker?.version ?? 'none'}`;
  }

  get #name(): string {
    return locationText(this.#location);
  }

  #open(): Promise<S3Bucket> {
    const connect = async () => {
      const { S3Bucket } = await import('../store/s3-bucket.ts');
      return new S3Bucket(this.#location, await proxyAgents(this.#location.endpoint));
    };
    this.#bucket ??= connect();
    return this.#bucket;
  }

  async #refuseStore(bucket: S3Bucket): Promise<void> {
    if ((await bucket.read(identityPath)) === null) return;
    throw new TargetRefused(`${this.#name} is a bundle store: give the site another bucket or prefix`);
  }

  /** A site may have a prefix within that of another: what lies there is never this one's. */
  async #refuseOthers(bucket: S3Bucket, paths: readonly string[], { domain, signal }: RolloutRequest): Promise<void> {
    const slots = new Semaphore(requestsAtOnce);
    const reads = [...new Set(paths.flatMap(foldersAbove))].map((folder) =>
      slots.use(signal, async () => {
        const path = `${folder}/${markerName}`;
        const found = await bucket.read(path);
        return { folder, path, site: found === null ? domain : parseMarker(found.text, path).domain };
      }),
    );
    const other = (await Promise.all(reads)).find(({ site }) => site !== domain);
    if (!other) return;
    const file = paths.find((path) => path.startsWith(`${other.folder}/`)) ?? '';
    throw new TargetRefused(
      `${printablePath(file)} lies within the site ${other.site} in ${this.#name}: give each site a bucket or prefix of its own, and remove ${printablePath(other.path)} where that site is gone`,
    );
  }

  async #mark(bucket: S3Bucket, marker: Marker, condition: 'absent' | { etag: string }): Promise<void> {
    if (!(await bucket.write(markerName, textOf(marker), condition))) throw this.#overtaken();
  }

  #overtaken(): TargetRefused {
    return new TargetRefused(`another rollout has changed ${this.#name} meanwhile`, true);
  }

  async #write(bucket: S3Bucket, paths: readonly string[], request: RolloutRequest): Promise<void> {
    if (paths.length === 0) return;
    const { manifest, signal, onProgress } = request;
    const bytes = new Map(manifest.files.map((file) => [file.path, file.bytes]));
    const slots = new Semaphore(requestsAtOnce);
    await withFiles(request, async (folder) => {
      for (const group of groupsOf(paths)) {
        const writes = group.map((path) =>
          slots.use(signal, async () => {
            await request.guard();
            const headers = { ContentType: contentTypeOf(path), CacheControl: isPage(path) ? pageCache : assetCache };
            await bucket.put(path, join(folder, path), bytes.get(path) ?? 0, headers, signal);
            onProgress?.();
          }),
        );
        // None may still be on its way when this attempt has ended.
        const failed = (await Promise.allSettled(writes)).find((write) => write.status === 'rejected');
        if (failed) throw failed.reason;
      }
    });
  }
}

/** The object store's refusals, with the field of the target. */
function explained(error: unknown): unknown {
  if (!(error instanceof StoreRefused || error instanceof StoreUnreachable)) return error;
  const fix = error.hint?.replaceAll('store.bundles.s3', 'bucket of the target');
  return new TargetRefused(`${error.message}: ${fix}`, !(error instanceof StoreRefused) || error.mayPass);
}

/** The files to write and to remove for a version, given the bucket's content. */
function planOf(
  { files }: Manifest,
  marker: Marker | null,
): { writes: string[]; removed: string[]; before: Marker['before'] } {
  const unsure = new Set(marker?.pending?.paths);
  const there = new Map(Object.entries({ ...marker?.before, ...marker?.files }));
  const wanted = new Set(files.map(({ path }) => path));
  const writes = files
    .filter(({ path, sha256 }) => unsure.has(path) || there.get(path) !== sha256)
    .map(({ path }) => path);
  const last = Object.entries(marker?.files ?? {});
  // What an unfinished rollout may have overwritten is no file of the version before.
  const before = Object.fromEntries(last.filter(([path]) => !wanted.has(path) && !unsure.has(path)));
  const known = new Set([...there.keys(), ...unsure]);
  const removed = [...known].filter((path) => !wanted.has(path) && !Object.hasOwn(before, path));
  return { writes, removed, before };
}

/** `a` and `a/b` for `a/b/c.html`. */
function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

/** Assets, then pages, then the index page. */
function groupsOf(paths: readonly string[]): string[][] {
  const isIndex = (path: string) => path === 'index.html';
  return [
    paths.filter((path) => !isPage(path)),
    paths.filter((path) => isPage(path) && !isIndex(path)),
    paths.filter(isIndex),
  ];
}

const textOf = (marker: Marker) => JSON.stringify(marker);

function parseMarker(text: string, path = markerName): Marker {
  try {
    const found = JSON.parse(text) as Partial<Marker>;
    const { domain, version, at, files, before = {}, pending = null } = found;
    if (typeof domain === 'string' && typeof version === 'string' && typeof at === 'string' && files) {
      return { domain, version, at, files, before, pending };
    }
  } catch {
    // As said below.
  }
  throw new TargetRefused(`${printablePath(path)} is damaged: remove it, and docferry writes all files again`);
}
