import { open } from 'node:fs/promises';
import type { ByteSpan } from '../../files.ts';
import type { StructureRule } from '../rules/verification-rules.ts';

/** The archive breaks a rule about its structure, and reading cannot continue. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
  readonly rule: StructureRule;
  /** Path inside the archive; null when the fault concerns the whole archive. */
  readonly path: string | null;

  constructor(rule: StructureRule, detail: string, path: string | null = null) {
    super(detail);
    this.rule = rule;
    this.path = path;
  }
}

/** Bytes that can be read at any offset, such as those of a file. */
export interface ByteFile {
  readonly size: number;
  /** Fills `into` from `position` on and returns the number of bytes read: 0 only at the end. Throws system errors. */
  read(into: Uint8Array, position: number): Promise<number>;
}

/** Opens a file for `use` and always closes it. Throws system errors and what `use` throws. */
export async function withByteFile<T>(path: string, use: (file: ByteFile) => Promise<T>): Promise<T> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    return await use({
      size,
      read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    });
  } finally {
    await handle.close();
  }
}

/** Reads exactly `length` bytes. Throws `ArchiveFault` and system errors. */
export async function readAt(file: ByteFile, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const read = await file.read(bytes.subarray(filled), position + filled);
    if (read === 0) throw new ArchiveFault('truncated', 'the file became shorter while it was read');
    filled += read;
  }
  return bytes;
}

/** What an archive says an entry is. `device` covers character and block devices, pipes and sockets. */
export type EntryKind = 'file' | 'directory' | 'symbolic-link' | 'hard-link' | 'device' | 'other';

/** One entry, its name as stored: unchecked (bytes that are not UTF-8 show as U+FFFD). */
export interface ArchiveEntry {
  name: string;
  kind: EntryKind;
  /** Unix permissions and special bits; null where the archive has none. */
  mode: number | null;
  /** Unpacked size in bytes; a sink gets exactly this many, or reading fails. */
  bytes: number;
  /** Its content lies outside the part that is read, and is not asked for. */
  elsewhere: boolean;
}

/** Receives the content of one entry, in order; the reader awaits promises. */
export interface ContentSink {
  /** A piece of the content. The reader reuses the memory afterwards: copy what you keep. */
  write(chunk: Uint8Array): void | Promise<void>;
  /** The whole content was written, and its size and checksum are right. */
  end(): void | Promise<void>;
}

/** Readers that stop with an error at forms of a zip which all others read. */
export type NarrowReader = 'BusyBox unzip' | 'Java ZipInputStream' | '7-Zip';

/** Where the content of an entry goes; `skip` still checks it, `stop` ends the reading. */
export type EntryAnswer = ContentSink | 'skip' | 'stop';

export interface ReadOptions {
  /** Most bytes the archive as a whole may unpack to, headers and padding included. */
  streamBytes: number;
  /** Called for every entry in the order of the archive, before its content. */
  onEntry: (entry: ArchiveEntry) => EntryAnswer | Promise<EntryAnswer>;
  /** Receives the archive's bytes in order as they are read; all of them unless reading ends early. */
  onRaw?: (bytes: Uint8Array) => void;
  /** Zip only: called where a reader stops, with the entry's name; null at the end of the archive. */
  onStop?: (reader: NarrowReader, name: string | null) => void;
  /** Zip only: announces every entry, but reads only the contents of those that start in this range of the file. */
  part?: ByteSpan;
}

/**
 * Reads an archive once, front to back, with flat memory. Every byte of the file must belong to an entry or to the
 * format, and must mean the same to every reader; otherwise it throws `ArchiveFault`. Other errors come from the system or
 * from the callbacks.
 */
export type ArchiveReader = (file: ByteFile, options: ReadOptions) => Promise<void>;
