import { randomBytes } from 'node:crypto';
import { readlinkSync, renameSync } from 'node:fs';
import { lstat, mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { flushPath, ifMissing, nearestFolder, placeFolder, whyNotWritable } from '../../files.ts';
import type { Observed } from '../rules/rollout-steps.ts';
import type { Work } from '../store/bundle-store.ts';
import { olderThanNewest } from '../store/retention.ts';
import { fileTrouble, type Place, type RolloutRequest, TargetRefused, unpackInto } from './rollout-target.ts';

/** Concurrent flushes share the disk's journal writes. */
const atOnce = 16;

/** Flushes every file and folder below a folder, and the folder itself, to the disk. Throws the signal's reason. */
export async function flushTree(folder: string, { signal, onProgress }: Work = {}): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  paths.push(folder);
  const next = paths.values();
  const worker = async () => {
    for (const path of next) {
      signal?.throwIfAborted();
      await flushPath(path);
      onProgress?.();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

interface DirectoryOptions {
  /** Absolute path of the folder with `releases/` and `current`. */
  path: string;
  keep?: number;
}

const defaultKeep = 10;
const releases = 'releases';
/** Hidden folders: a release that is being unpacked, or removed. */
const [unpacking, removing] = ['.unpacking-', '.removing-'];
/** The link that is about to become `current`. */
const newLink = /^current\.[0-9a-f]{12}\.tmp$/;
/** An unfinished release or link older than this was abandoned. */
const leftoverAfterMs = 24 * 3_600_000;

/**
 * Unpacks versions to `<path>/releases/<version>` and points the symbolic link `<path>/current` at one by renaming a
 * new link over it (contracts.md "directory target"), so that the site is never missing, not even for a moment.
 */
export class DirectoryPlace implements Place {
  readonly #path: string;
  readonly #releases: string;
  readonly #current: string;
  readonly #keep: number;

  constructor({ path, keep = defaultKeep }: DirectoryOptions) {
    this.#path = path;
    this.#releases = join(path, releases);
    this.#current = join(path, 'current');
    this.#keep = keep;
  }

  async observe(): Promise<Observed> {
    try {
      const found = await lstat(this.#current).catch(ifMissing(null));
      if (found === null) return { runs: 'none', why: `there is no ${this.#current}`, since: null };
      if (!found.isSymbolicLink()) return { runs: 'unknown', why: `${this.#current} is not a symbolic link` };
      const [folder, version, ...rest] = (await readlink(this.#current)).split('/');
      if (folder !== releases || !version || rest.length > 0) {
        return { runs: 'unknown', why: `${this.#current} points to what docferry did not put there` };
      }
      const since = found.mtime.toISOString();
      if (await isFolder(join(this.#releases, version))) return { runs: 'version', version, since };
      return { runs: 'none', why: `${this.#current} points to ${version}, which has been removed`, since };
    } catch (error) {
      const { message } = fileTrouble(error, this.#current) as Error;
      return { runs: 'unknown', why: message };
    }
  }

  async examine(): Promise<string> {
    await this.#checkCurrent();
    for (const folder of [this.#path, this.#releases]) {
      const problem = await whyNotWritable(await nearestFolder(folder));
      if (problem !== null) throw new TargetRefused(problem);
    }
    return `${this.#path} can be written`;
  }

  /** Throws `TargetRefused`, `UnpackMismatch`, system errors, the signal's reason, and what `guard` throws. */
  async take(request: RolloutRequest): Promise<string> {
    try {
      return await this.#rollOut(request);
    } catch (error) {
      throw fileTrouble(error, this.#path);
    }
  }

  async #rollOut(request: RolloutRequest): Promise<string> {
    const { version } = request.manifest;
    await this.#checkCurrent();
    await mkdir(this.#releases, { recursive: true });
    const release = join(this.#releases, version);
    if (!(await isFolder(release))) {
      // Before the unpacking: they may take the room that it needs.
      await this.#removeLeftovers().catch(() => undefined);
      await this.#unpackTo(release, request);
    }
    const observed = await this.observe();
    const before = observed.runs === 'version' ? observed.version : null;
    if (before !== version) await this.#switchTo(version, request);
    const detail =
      before === version
        ? `${version} was in service`
        : `${version} in service (${request.manifest.files.length} files), before: ${before ?? 'none'}`;
    // The new version is in service by now: old releases that remain are worth a word, not a failure.
    return this.#prune(version).then(
      () => detail,
      (error: NodeJS.ErrnoException) => `${detail}; old releases could not be removed (${error.code ?? 'unknown'})`,
    );
  }

  async #checkCurrent(): Promise<void> {
    const found = await lstat(this.#current).catch(ifMissing(null));
    if (found && !found.isSymbolicLink()) {
      throw new TargetRefused(
        `${this.#current} is not a symbolic link: move it away, or choose another folder, then roll out again`,
      );
    }
  }

  async #unpackTo(release: string, request: RolloutRequest): Promise<void> {
    const { manifest, signal, onProgress } = request;
    const temp = join(this.#releases, `${unpacking}${manifest.version}-${randomSuffix()}`);
    try {
      await mkdir(temp);
      await unpackInto(temp, request);
      // A release in service must survive a power cut: `current` may already point at it when the power returns.
      await flushTree(temp, { signal, onProgress });
      // Where another attempt has unpacked this version, it checked the files against the same manifest.
      await placeFolder(temp, release);
    } finally {
      await rm(temp, { recursive: true, force: true });
    }
  }

  /**
   * A suspended attempt may wake long after others have moved on. It therefore asks the guard again, last of all, and the
   * answer counts only if the link has not changed since the question. Between that check and the replacement there are
   * only two system calls.
   */
  async #switchTo(version: string, { guard }: RolloutRequest): Promise<void> {
    const link = `${this.#current}.${randomSuffix()}.tmp`;
    try {
      await symlink(`${releases}/${version}`, link);
      for (;;) {
        const before = readLink(this.#current);
        await guard();
        if (readLink(this.#current) !== before) continue;
        renameSync(link, this.#current);
        break;
      }
    } finally {
      await rm(link, { force: true });
    }
    await flushPath(this.#path);
  }

  /** Removes what dead processes left. */
  async #removeLeftovers(): Promise<void> {
    const unfinished = (await readdir(this.#releases))
      .filter((name) => name.startsWith(unpacking) || name.startsWith(removing))
      .map((name) => join(this.#releases, name));
    const links = (await readdir(this.#path))
      .filter((name) => newLink.test(name))
      .map((name) => join(this.#path, name));
    for (const path of [...unfinished, ...links]) {
      const found = await lstat(path).catch(ifMissing(null));
      if (found && Date.now() - found.mtimeMs > leftoverAfterMs) await rm(path, { recursive: true, force: true });
    }
  }

  /**
   * Removes releases beyond the newest `keep`, but never the one in service. A release is taken out of its place by one
   * renaming first: what is left of one would be put into service by a rollback to it.
   */
  async #prune(current: string): Promise<void> {
    const others = (await readdir(this.#releases)).filter((name) => name !== current);
    for (const name of olderThanNewest(others, Math.max(0, this.#keep - 1))) {
      const aside = this.#takeAside(name);
      if (aside !== null) await rm(aside, { recursive: true, force: true });
    }
    await this.#removeLeftovers();
  }

  /** Where a release is now that is to be removed; null for one that is in service: this attempt may have been suspended. */
  #takeAside(version: string): string | null {
    const [release, aside] = [
      join(this.#releases, version),
      join(this.#releases, `${removing}${version}-${randomSuffix()}`),
    ];
    const isInService = () => readLink(this.#current) === `${releases}/${version}`;
    try {
      if (isInService()) return null;
      renameSync(release, aside);
      if (!isInService()) return aside;
      renameSync(aside, release);
      return null;
    } catch (error) {
      return ifMissing(null)(error);
    }
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    return ifMissing(null)(error);
  }
}

function randomSuffix(): string {
  return randomBytes(6).toString('hex');
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing(null)))?.isDirectory() ?? false;
}
