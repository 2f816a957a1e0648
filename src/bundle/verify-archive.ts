import { createHash } from 'node:crypto';
import type { ArchiveFacts, ArchiveFormat, Reason } from '../model/cargo.ts';
import { type ContentFile, contentDigest, sortFiles } from './content-digest.ts';
import { type ArchiveLimits, EntryRules } from './entry-rules.ts';
import { FileSink } from './file-sink.ts';
import { readerOf } from './open-archive.ts';
import { type ArchiveEntry, ArchiveFault, type EntryAnswer } from './readers/archive-reader.ts';
import { type ByteFile, withByteFile } from './readers/byte-file.ts';
import { ByteWindow } from './readers/byte-window.ts';
import { ReasonList } from './reason-list.ts';
import { SiteInspection } from './site/site-inspection.ts';
import { isPage } from './site/site-pages.ts';
import type { SiteRuleLevels } from './site/site-rules.ts';
import { sniffFormat } from './sniff-format.ts';

/** Bytes of headers and padding allowed for each file of a tar, on top of the contents. */
const OVERHEAD_PER_FILE = 4096;
const OVERHEAD = 1024 ** 2;
const PIECE_BYTES = 1024 ** 2;
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
  /** What becomes of a site that breaks a rule about its content, where it differs from the rule's default. */
  siteRules?: SiteRuleLevels;
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
  return withByteFile(file, (bytes) => verifyBytes(bytes, options));
}

/** As `verifyArchive`, for a file that is open already. */
export async function verifyBytes(file: ByteFile, options: VerificationOptions): Promise<VerificationReport> {
  const sniffed = await sniffFormat(file);
  if (sniffed.format === null) return refusedReport(null, [sniffed.reason]);
  const reading = new Reading(file, sniffed.format, options);
  await reading.read();
  return reading.report();
}

/** The report of an archive that could not be read at all. */
export function refusedReport(archive: ArchiveFacts | null, reasons: Reason[]): VerificationReport {
  const format = archive?.format ?? null;
  const nothing = { files: 0, pages: 0, bytes: 0, contentDigest: null, entries: [] };
  return { ok: false, format, reasons, warnings: [], archive, ...nothing };
}

class Reading {
  readonly #file: ByteFile;
  readonly #format: ArchiveFormat;
  readonly #options: VerificationOptions;
  readonly #reasons = new ReasonList();
  readonly #rules: EntryRules;
  readonly #site: SiteInspection | null;
  readonly #files: ContentFile[] = [];
  readonly #deadline: number;
  readonly #archiveHash = createHash('sha256');
  #archiveBytes = 0;
  #bytes = 0;
  #nextProgress = 0;

  constructor(file: ByteFile, format: ArchiveFormat, options: VerificationOptions) {
    this.#file = file;
    this.#format = format;
    this.#options = options;
    this.#rules = new EntryRules(options.limits, file.size, this.#reasons);
    this.#site = options.structureOnly ? null : new SiteInspection(options.siteRules ?? {});
    this.#deadline = performance.now() + (options.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS);
  }

  async read(): Promise<void> {
    const { maxBytes, maxFiles } = this.#options.limits;
    const streamBytes = maxBytes + maxFiles * OVERHEAD_PER_FILE + OVERHEAD;
    const onRaw = (bytes: Uint8Array) => this.#takeRaw(bytes);
    await this.#noting(() =>
      readerOf(this.#format)(this.#file, { streamBytes, onRaw, onEntry: (entry) => this.#enter(entry) }),
    );
    await this.#noting(() => this.#readRest());
  }

  report(): VerificationReport {
    const entries = sortFiles(this.#files);
    const whole = this.#reasons.count === 0;
    if (whole && entries.length === 0) this.#reasons.add('no-files', null, 'the archive holds no file');
    const site = whole && entries.length > 0 ? this.#site?.conclude(entries.map(({ path }) => path)) : undefined;
    const reasons = [...this.#reasons.all(), ...(site?.reasons ?? [])];
    return {
      ok: reasons.length === 0,
      format: this.#format,
      reasons,
      warnings: site?.warnings ?? [],
      files: entries.length,
      pages: entries.filter(({ path }) => isPage(path)).length,
      bytes: this.#bytes,
      contentDigest: whole ? contentDigest(entries) : null,
      archive: { sha256: this.#archiveHash.digest('hex'), bytes: this.#archiveBytes, format: this.#format },
      entries,
    };
  }

  #enter(entry: ArchiveEntry): EntryAnswer {
    this.#pulse();
    const path = this.#rules.admit(entry);
    if (this.#rules.exhausted) return 'stop';
    if (path === null || entry.kind !== 'file') return 'skip';
    return new FileSink(entry.bytes, this.#site?.wants(path, entry.bytes) ?? false, {
      onBytes: (bytes) => {
        this.#bytes += bytes;
        this.#pulse();
      },
      onEnd: (sha256, content) => {
        this.#files.push({ path, bytes: entry.bytes, sha256 });
        if (content !== null) this.#site?.inspect(path, content);
      },
    });
  }

  /** Faults of the archive become reasons; all else is thrown. */
  async #noting(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      this.#reasons.add(error.rule, error.path, error.message);
    }
  }

  /** An archive that is refused early is still named by the digest of all its bytes. */
  async #readRest(): Promise<void> {
    const range = { start: this.#archiveBytes, end: this.#file.size };
    const window = new ByteWindow(this.#file, range, (bytes) => this.#takeRaw(bytes));
    while ((await window.piece(PIECE_BYTES)) !== null) this.#options.signal?.throwIfAborted();
  }

  #takeRaw(bytes: Uint8Array): void {
    this.#archiveHash.update(bytes);
    this.#archiveBytes += bytes.length;
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
