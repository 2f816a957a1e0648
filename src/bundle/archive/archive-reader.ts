import type { ByteFile } from './byte-file.ts';

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
  part?: ByteRange;
}

/** From `start` up to, but not including, `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads an archive once, front to back, with flat memory. Every byte of the file must belong to an entry or to the
 * format, and must mean the same to every reader; otherwise it throws `ArchiveFault`. Other errors come from the system or
 * from the callbacks.
 */
export type ArchiveReader = (file: ByteFile, options: ReadOptions) => Promise<void>;
