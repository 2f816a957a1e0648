import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Proof that bytes on disk belong to an object: its strong ETag and its length in bytes. */
export interface ObjectIdentity {
  etag: string;
  total: number;
}

/** Bytes that arrived in order from `start`: `crc` is the CRC-32 of all of them up to `end`. */
interface Checkpoint {
  start: number;
  end: number;
  crc: number;
}

const readBytes = 1024 ** 2;
const linePattern = /^(\d{1,15}) (\d{1,15}) ([0-9a-f]{8})$/;

/**
 * The journal beside a download: the object's identity, then a line for each checkpoint on disk. It lets a download
 * resume after `kill -9` and after a power failure: a line is written after the bytes it describes and believed only if
 * they have its checksum.
 */
export class ResumeJournal {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /**
   * Begins a journal in place of any other, with what is proved already. Nothing needs to be flushed: after a power
   * failure a line without its bytes, or of another object, has a wrong checksum.
   */
  static async begin(path: string, identity: ObjectIdentity, proved: readonly Checkpoint[]): Promise<ResumeJournal> {
    const temp = `${path}.new`;
    await writeFile(temp, [`${JSON.stringify(identity)}\n`, ...proved.map(lineOf)].join(''));
    await rename(temp, path);
    return new ResumeJournal(await open(path, 'a'));
  }

  async append(checkpoint: Checkpoint): Promise<void> {
    await this.#handle.write(lineOf(checkpoint));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/**
 * What a journal proves about the bytes in `file`; null when no journal can be read, which means starting over, never
 * failing. Throws the signal's reason and system errors of `file`.
 */
export async function readJournal(
  path: string,
  file: FileHandle,
  signal?: AbortSignal,
): Promise<{ identity: ObjectIdentity; proved: Checkpoint[] } | null> {
  const [head = '', ...lines] = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const identity = parseIdentity(head);
  if (!identity) return null;
  const proved: Checkpoint[] = [];
  for (const run of runsOf(lines, identity.total)) proved.push(await provedPrefix(file, run, signal));
  return { identity, proved: proved.filter(({ start, end }) => start < end) };
}

/** Removes the journal: nothing proves the bytes on disk any more. */
export async function removeJournal(path: string): Promise<void> {
  await rm(path, { force: true });
}

interface Run {
  start: number;
  checkpoints: { end: number; crc: number }[];
}

/** The checkpoints by their common start, each group in the order of the ends. */
function runsOf(lines: readonly string[], total: number): Run[] {
  const runs = new Map<number, Run>();
  for (const line of lines) {
    const [, first, last, hex] = linePattern.exec(line) ?? [];
    if (first === undefined || last === undefined || hex === undefined) continue;
    const [start, end] = [Number(first), Number(last)];
    if (start >= end || end > total) continue;
    const run = runs.get(start) ?? { start, checkpoints: [] };
    run.checkpoints.push({ end, crc: Number.parseInt(hex, 16) });
    runs.set(start, run);
  }
  for (const { checkpoints } of runs.values()) checkpoints.sort((a, b) => a.end - b.end);
  return [...runs.values()];
}

/** As much of a run as has the checksums of its checkpoints. */
async function provedPrefix(file: FileHandle, { start, checkpoints }: Run, signal?: AbortSignal): Promise<Checkpoint> {
  const buffer = Buffer.allocUnsafe(readBytes);
  let proved = { start, end: start, crc: 0 };
  for (const { end, crc: expected } of checkpoints) {
    let { end: at, crc } = proved;
    while (at < end) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
      if (bytesRead === 0) return proved;
      crc = crc32(buffer.subarray(0, bytesRead), crc);
      at += bytesRead;
    }
    if (crc !== expected) return proved;
    proved = { start, end, crc };
  }
  return proved;
}

function lineOf({ start, end, crc }: Checkpoint): string {
  return `${start} ${end} ${crc.toString(16).padStart(8, '0')}\n`;
}

function parseIdentity(line: string): ObjectIdentity | null {
  try {
    const { etag, total } = JSON.parse(line);
    return typeof etag === 'string' && Number.isSafeInteger(total) && total > 0 ? { etag, total } : null;
  } catch {
    return null;
  }
}
