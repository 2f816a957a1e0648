import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { ArchiveFacts, ArchiveFormat, Reason } from '../model/cargo.ts';
import { type ArchiveEntry, ArchiveFault } from './archive-reader.ts';
import { type ContentFile, contentDigest, sortFiles } from './content-digest.ts';
import { type ArchiveLimits, EntryRules } from './entry-rules.ts';
import { hashFile } from './hash-file.ts';
import { readerOf } from './open-archive.ts';
import { ReasonList } from './reason-list.ts';
import { checkSite, isPage } from './site-rules.ts';
import { sniffFormat } from './sniff-format.ts';

/** Bytes of headers and padding allowed for each file of a tar, on top of the contents. */
const OVERHEAD_PER_FILE = 4096;
const OVERHEAD = 1024 ** 2;
const PROGRESS_EVERY_MS = 200;
/** Longest time for one archive unless told otherwise, in milliseconds. */
export const DEFAULT_TIME_LIMIT_MS = 30 * 60_000;

export interface VerificationProgress {
  files: number;
  /** Unpacked so far. */
  bytes: number;
}

export interface VerificationOptions {
  limits: ArchiveLimits;
  /** Leaves out the rules about site content (DESIGN §5 `export verify`). */
  structureOnly?: boolean;
  /** Longest time for the whole archive; running out of it is the reason `time-limit`. */
  timeLimitMs?: number;
  signal?: AbortSignal;
  /** Called a few times a second at most. */
  onProgress?: (progress: VerificationProgress) => void;
}

export interface VerificationReport {
  ok: boolean;
  format: ArchiveFormat | null;
  reasons: Reason[];
  warnings: Reason[];
  files: number;
  pages: number;
  /** Unpacked. */
  bytes: number;
  /** Null unless every entry was read and none refused. */
  contentDigest: string | null;
  archive: ArchiveFacts | null;
  /** The files in the order of the content digest. */
  entries: ContentFile[];
}

/**
 * Verifies an archive (DESIGN §6) in this thread; `verifyInThread` does it in another. Whatever the bytes are, the
 * answer is a report. Throws only system errors of reading the file, and the signal's reason.
 */
export async function verifyArchive(file: string, options: VerificationOptions): Promise<VerificationReport> {
  const sniffed = await sniffFormat(file);
  if (sniffed.format === null) return refusedReport(null, [sniffed.reason]);
  const { format } = sniffed;
  const { size } = await stat(file);
  const archive: ArchiveFacts = { sha256: await hashFile(file, options.signal), bytes: size, format };
  const reading = new Reading(archive, options);
  await reading.read(file);
  return reading.report();
}

/** The report of an archive that could not be read at all. */
export function refusedReport(archive: ArchiveFacts | null, reasons: Reason[]): VerificationReport {
  const format = archive?.format ?? null;
  const nothing = { files: 0, pages: 0, bytes: 0, contentDigest: null, entries: [] };
  return { ok: false, format, reasons, warnings: [], archive, ...nothing };
}

class Reading {
  readonly #archive: ArchiveFacts;
  readonly #options: VerificationOptions;
  readonly #reasons = new ReasonList();
  readonly #rules: EntryRules;
  readonly #files: ContentFile[] = [];
  readonly #deadline: number;
  #bytes = 0;
  #nextProgress = 0;

  constructor(archive: ArchiveFacts, options: VerificationOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#rules = new EntryRules(options.limits, archive.bytes, this.#reasons);
    this.#deadline = performance.now() + (options.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS);
  }

  async read(file: string): Promise<void> {
    const { maxBytes, maxFiles } = this.#options.limits;
    const streamBytes = maxBytes + maxFiles * OVERHEAD_PER_FILE + OVERHEAD;
    try {
      for await (const entry of readerOf(this.#archive.format)(file, streamBytes)) {
        this.#pulse();
        const path = this.#rules.admit(entry);
        if (this.#rules.exhausted) break;
        if (path !== null && entry.kind === 'file') await this.#hash(path, entry);
      }
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      this.#reasons.add(error.rule, error.path, error.message);
    }
  }

  report(): VerificationReport {
    const entries = sortFiles(this.#files);
    const whole = this.#reasons.count === 0;
    if (whole) this.#checkContent(entries);
    return {
      ok: this.#reasons.count === 0,
      format: this.#archive.format,
      reasons: this.#reasons.all(),
      warnings: [],
      files: entries.length,
      pages: entries.filter(({ path }) => isPage(path)).length,
      bytes: this.#bytes,
      contentDigest: whole ? contentDigest(entries) : null,
      archive: this.#archive,
      entries,
    };
  }

  #checkContent(entries: ContentFile[]): void {
    if (entries.length === 0) this.#reasons.add('no-files', null, 'the archive holds no file');
    else if (!this.#options.structureOnly) checkSite(entries, this.#reasons);
  }

  async #hash(path: string, entry: ArchiveEntry): Promise<void> {
    const hash = createHash('sha256');
    for await (const chunk of entry.content()) {
      hash.update(chunk);
      this.#bytes += chunk.length;
      this.#pulse();
    }
    this.#files.push({ path, bytes: entry.bytes, sha256: hash.digest('hex') });
  }

  #pulse(): void {
    this.#options.signal?.throwIfAborted();
    const now = performance.now();
    if (now > this.#deadline) throw new ArchiveFault('time-limit', null, 'reading the archive took too long');
    if (now < this.#nextProgress) return;
    this.#nextProgress = now + PROGRESS_EVERY_MS;
    this.#options.onProgress?.({ files: this.#files.length, bytes: this.#bytes });
  }
}
