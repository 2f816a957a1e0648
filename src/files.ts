import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import {
  access,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import type { OnReadOpts } from 'node:net';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Database } from './sqlite.ts';

/** The code of a system or SQLite error, like `EACCES`; undefined when the error has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const noAccess = ['cannot be read or written', 'give the user that runs docferry access to it and its folder'] as const;
const full = ['is on a disk that is full', 'free some space; what is there stays as it is'] as const;

/** By the system's or SQLite's code. */
const pathProblems: Readonly<Record<string, readonly [what: string, fix: string]>> = {
  ENOENT: ['does not exist', 'create it, or correct its path in the configuration'],
  ENOTDIR: ['leads through a file, not a folder', 'correct its path in the configuration'],
  EISDIR: ['is a folder', 'name a file in it'],
  EEXIST: ['is in the way', 'move it away'],
  ELOOP: ['leads through links that lead back', 'correct its path in the configuration'],
  EACCES: noAccess,
  EPERM: noAccess,
  SQLITE_CANTOPEN: noAccess,
  SQLITE_PERM: noAccess,
  SQLITE_READONLY: noAccess,
  EROFS: ['is on a read-only file system', 'mount it writable, or name another place'],
  ENOSPC: full,
  EDQUOT: full,
  SQLITE_FULL: full,
  EFBIG: ['is as long as a file may be here', 'raise the limit of the user that runs docferry'],
  EXDEV: ['lies on several file systems', 'put all of it on one'],
};

/**
 * What an error's code says of a path, with the code, as in `is in the way (EEXIST)`, and what an operator does about it;
 * null for errors that an operator cannot mend.
 */
export function pathProblem(error: unknown): { what: string; fix: string; isFull: boolean } | null {
  const code = errorCode(error) ?? '';
  const found = new Map(Object.entries(pathProblems)).get(code.replace(/^(SQLITE_[A-Z]+)_.*$/, '$1'));
  const file = code === 'ENOTDIR' ? fileOn(error) : null;
  const what = file === null ? found?.[0] : `cannot be used: ${file} is a file, not a folder`;
  return found ? { what: `${what} (${code})`, fix: found[1], isFull: found === full } : null;
}

/** The file that is where the path of an error needs a folder: the path itself, or what it lies in. */
function fileOn(error: unknown): string | null {
  if (!(error instanceof Error && 'path' in error && typeof error.path === 'string')) return null;
  for (let path = error.path; path !== dirname(path); path = dirname(path)) {
    if (existsSync(path)) return existsSync(`${path}/.`) ? null : path;
  }
  return null;
}

/** Bytes of a file from `start` up to, not including, `end`. */
export interface ByteSpan {
  start: number;
  end: number;
}

/** A hidden name in the same folder that no other writer uses. */
export function tempName(file: string): string {
  // A name has 255 bytes at most.
  const name = Buffer.from(basename(file)).toString('utf8', 0, 200);
  return join(dirname(file), `.${name}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`);
}

/** Whether a name is one of `tempName`'s. */
export function isTempName(name: string): boolean {
  return /\.\d+-[0-9a-f]{12}\.tmp$/.test(name);
}

/** A mode, and the owner if it is not this process. */
type FileAccess = Pick<Stats, 'mode'> | Pick<Stats, 'mode' | 'uid' | 'gid'>;

/**
 * Puts a file in place whole or not at all, durably once this returns. It replaces what was at `file`, even a symbolic
 * link. With `keep`, the new file gets that mode and, where permitted, that owner. Returns the bytes written. Throws
 * system errors and what `content` throws.
 */
export async function replaceFile(
  file: string,
  content: string | AsyncIterable<string | Uint8Array>,
  keep?: FileAccess,
): Promise<number> {
  const temp = tempName(file);
  let bytes: number;
  try {
    bytes = await writeNew(temp, content, keep);
    await rename(temp, file);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await flushPath(dirname(file));
  return bytes;
}

/** Writes a file that is not there yet, and flushes it. Returns the bytes written. */
async function writeNew(
  file: string,
  content: string | AsyncIterable<string | Uint8Array>,
  keep?: FileAccess,
): Promise<number> {
  // Until its mode is set, no other user may read what replaces a private file.
  const handle = await open(file, 'wx', keep ? 0o600 : 0o666);
  try {
    await writeFile(handle, content);
    if (keep) {
      // Only root may give files away; for every other user the file is theirs already or becomes theirs.
      if ('uid' in keep) await handle.chown(keep.uid, keep.gid).catch(() => undefined);
      await handle.chmod(keep.mode & 0o7777);
    }
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/**
 * Like `replaceFile` for a file that exists: its mode and owner stay, and a symbolic link stays one to the same file.
 */
export async function rewriteFile(path: string, content: string | AsyncIterable<string | Uint8Array>): Promise<number> {
  const file = await realpath(path);
  return replaceFile(file, content, await stat(file));
}

/**
 * Like `rewriteFile`, but only while the file's text is `before`; false when it is another. Other work of this process
 * gets no turn between that look and the replacement.
 */
export async function rewriteUnchanged(path: string, before: string, text: string): Promise<boolean> {
  const file = await realpath(path);
  const temp = tempName(file);
  try {
    await writeNew(temp, text, await stat(file));
    if (readFileSync(file, 'utf8') !== before) return false;
    renameSync(temp, file);
  } finally {
    await rm(temp, { force: true });
  }
  await flushPath(dirname(file));
  return true;
}

/** Like `replaceFile`, without giving other work of this process a turn. */
export function replaceFileSync(file: string, content: string): void {
  const temp = tempName(file);
  try {
    writeFileSync(temp, content, { flag: 'wx', flush: true });
    renameSync(temp, file);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  flushFolderSync(dirname(file));
}

/** Removes a file for good, if it is there, without giving other work of this process a turn. */
export function removeFileSync(file: string): void {
  if (!existsSync(file)) return;
  rmSync(file, { force: true });
  flushFolderSync(dirname(file));
}

function flushFolderSync(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Flushes a file or the entries of a folder to the disk. */
export async function flushPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Other file systems, those without links, and files that have too many. */
const noLink = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'];

function orCopy(error: unknown): void {
  if (!noLink.includes(errorCode(error) ?? '')) throw error;
}

/** Puts a file that never changes at a second place, as a link where that is possible. Throws system errors. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  try {
    await link(from, to);
  } catch (error) {
    orCopy(error);
    await copyDurably(from, to);
  }
}

/** Like `linkOrCopy`, without giving other work of this process a turn; the folder exists. */
export function linkOrCopySync(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    orCopy(error);
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}

/** Copies a file, as a clone where the file system can, and flushes it. Throws system errors. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await flushPath(to);
}

/** An exclusive lock, held until `release` or until the process ends in any way. */
export interface FileLock {
  release(): void;
}

/** Paths of the locks that this process holds. */
const locked = new Set<string>();

/**
 * Takes the lock `file`, which is created when absent; undefined when another process, or this one, has it. The lock is
 * SQLite's on an empty database, and so the operating system's: it is freed when its owner dies, even by kill -9, and
 * is never taken from an owner that is only suspended. Only this user can open the file: another one who may read it
 * could hold a lock on it for ever. Throws system errors and what SQLite throws.
 */
export function tryLock(file: string): FileLock | undefined {
  const path = resolve(file);
  // A process that closes any descriptor of a file loses its locks on that file (POSIX).
  if (locked.has(path)) return undefined;
  closeSync(openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600));
  const database = new Database(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (errorCode(error)?.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
  locked.add(path);
  const release = () => {
    locked.delete(path);
    database.close();
  };
  return { release };
}

/** Paths of the regular files below a folder, with slashes, sorted. Throws system errors. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

/** Lowercase hex SHA-256 of a file. Throws system errors, and "AbortError" once the signal is aborted. */
export async function hashFile(file: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2, signal })) hash.update(chunk);
  return hash.digest('hex');
}

/** For a `catch`: what to answer when the file does not exist; other errors are thrown. */
export function ifMissing<T>(otherwise: T): (error: unknown) => T {
  return (error) => {
    if (errorCode(error) === 'ENOENT') return otherwise;
    throw error;
  };
}

/** The text of a file, null when there is none. */
export function readIfExists(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(ifMissing(null));
}

export function readIfExistsSync(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return ifMissing(null)(error);
  }
}

/** Whether something is there, readable or not. */
export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => !['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? ''),
  );
}

/** Whether this user may run the file. */
export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Why a folder cannot be written, or null when it can; writes nothing. */
export async function whyNotWritable(folder: string): Promise<string | null> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${folder} cannot be written (${errorCode(error) ?? 'unknown error'})`;
  }
}

/** The folder itself, or the nearest one around it that exists. */
export async function nearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    if (folder === dirname(folder) || (await isThere(folder))) return folder;
  }
}

/** The size of a file in bytes, null when there is none. */
export async function sizeIfExists(file: string): Promise<number | null> {
  return (await stat(file).catch(ifMissing(null)))?.size ?? null;
}

const taken = ['ENOTEMPTY', 'EEXIST'];

/**
 * Renames a finished folder into its place, for good once this returns. Where another process was quicker, its folder
 * stays and this one too: two writers never mix. Throws other system errors.
 */
export async function placeFolder(finished: string, place: string): Promise<void> {
  await rename(finished, place).catch((error: unknown) => {
    if (!taken.includes(errorCode(error) ?? '')) throw error;
  });
  await flushPath(dirname(place));
}

const widestBytes = 1024 ** 2;
const narrowestBytes = 64 * 1024;
/** For all connections of a download together. */
const allBytes = 2 * 1024 ** 2;

/**
 * Buffers into which connections read, up to a megabyte at a time: a socket's usual 64 KiB for each read cost more than
 * hashing the bytes. A buffer is reused once `release` has returned it.
 */
export class ReadBuffers {
  /** Size of a buffer. */
  readonly bytes: number;
  readonly #free: Buffer[] = [];
  /** How far each lent buffer was filled. */
  readonly #lent = new WeakMap<ArrayBufferLike, number>();

  constructor(connections: number) {
    this.bytes = Math.max(narrowestBytes, Math.min(widestBytes, Math.floor(allBytes / connections)));
  }

  /** How a socket reads; `push` takes each chunk and says whether there is room for more. */
  socketOptions(push: (chunk: Buffer) => boolean): OnReadOpts {
    let buffer = this.#take();
    return {
      buffer: () => buffer,
      callback: (length) => {
        const chunk = buffer.subarray(0, length);
        // A small chunk would keep a large buffer in memory while it waits.
        if (length < this.bytes / 4) return push(Buffer.from(chunk));
        this.#lent.set(buffer.buffer, length);
        buffer = this.#take();
        return push(chunk);
      },
    };
  }

  /** Takes back a chunk that is no longer needed. A fragment of a read, or a chunk from elsewhere, is ignored. */
  release(chunk: Uint8Array): void {
    const { buffer, byteOffset, byteLength } = chunk;
    if (byteOffset !== 0 || this.#lent.get(buffer) !== byteLength) return;
    this.#lent.delete(buffer);
    this.#free.push(Buffer.from(buffer));
  }

  #take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }
}
