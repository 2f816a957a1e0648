/** What an archive says an entry is. `device` covers character and block devices, pipes and sockets. */
export type EntryKind = 'file' | 'directory' | 'symbolic-link' | 'hard-link' | 'device' | 'other';

/** One entry, its name as stored: unchecked (bytes that are not UTF-8 show as U+FFFD). */
export interface ArchiveEntry {
  name: string;
  kind: EntryKind;
  /** Unpacked size in bytes; a reader guarantees that `content` yields exactly so many or fails. */
  bytes: number;
  /** The unpacked content, once, before the next entry is asked for; may be left alone. */
  content(): AsyncIterable<Uint8Array>;
}

/**
 * Walks an archive's entries in order with flat memory. Damage is thrown as `ArchiveFault`, anything else thrown is a
 * fault of the machine (no such file, I/O error).
 * @param streamBytes most bytes the archive as a whole may unpack to, headers and padding included
 */
export type ArchiveReader = (file: string, streamBytes: number) => AsyncIterable<ArchiveEntry>;

/** The archive breaks a rule of its own format, so that reading cannot go on. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
  /** Kebab-case name of the rule. */
  readonly rule: string;
  /** Path inside the archive; null when it concerns the whole. */
  readonly path: string | null;

  constructor(rule: string, path: string | null, detail: string) {
    super(detail);
    this.rule = rule;
    this.path = path;
  }
}

/** True for errors of the operating system, which say nothing about the archive. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
