import { createHash } from 'node:crypto';
import type { ArchiveFormat, Reason } from '../rules/archive-facts.ts';
import { ArchiveFault } from '../archive/archive-fault.ts';
import type { ArchiveEntry, ByteRange, EntryAnswer, NarrowReader } from '../archive/archive-reader.ts';
import type { ByteFile } from '../archive/byte-file.ts';
import { ByteWindow } from '../archive/byte-window.ts';
import { EntryRules } from '../archive/check-entry.ts';
import type { ContentFile } from '../archive/content-digest.ts';
import { readerOf } from '../archive/open-archive.ts';
import { ReasonList } from '../rules/reason-list.ts';
import { FileSink } from './file-sink.ts';
import type { SiteInspection, SiteNotes } from './inspect-file.ts';
import type { VerificationOptions } from './verification-options.ts';
import { defaultTimeLimitMs } from './verification-report.ts';

/** Bytes of headers and padding allowed for each file of a tar, in addition to the contents. */
const overheadPerFile = 4096;
const overhead = 1024 ** 2;
const pieceBytes = 1024 ** 2;
const progressEveryMs = 200;

/** What one reader found in an archive, or in its part of it. It can be passed between threads. */
export interface PartResult {
  reasons: Reason[];
  files: ContentFile[];
  /** Unpacked. */
  bytes: number;
  /** SHA-256 of the archive; null for parts that do not begin at its first byte. */
  sha256: string | null;
  /** Null when only the structure was asked for. */
  site: SiteNotes | null;
}

/**
 * Checks an archive, or one part of a zip, against all rules that need no view of the whole (verification.md). Any bytes
 * give a result. Throws only system errors of reading the file, and the signal's reason.
 */
export async function readPart(
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
  part?: ByteRange,
): Promise<PartResult> {
  const site = options.structureOnly ? null : await siteInspection(options);
  const reading = new PartReading(file, options, site, part);
  await reading.read(format);
  return reading.result();
}

/** Loaded on demand: the page parser is slow to load. */
async function siteInspection({ siteRules = {}, domain = null }: VerificationOptions): Promise<SiteInspection> {
  const site = await import('./inspect-file.ts');
  return new site.SiteInspection(siteRules, domain);
}

class PartReading {
  readonly #file: ByteFile;
  readonly #options: VerificationOptions;
  readonly #part: ByteRange | undefined;
  readonly #reasons = new ReasonList();
  readonly #rules: EntryRules;
  readonly #site: SiteInspection | null;
  readonly #files: ContentFile[] = [];
  readonly #deadline: number;
  readonly #hash = createHash('sha256');
  #hashed = 0;
  #bytes = 0;
  #nextProgress = 0;

  constructor(file: ByteFile, options: VerificationOptions, site: SiteInspection | null, part?: ByteRange) {
    this.#file = file;
    this.#options = options;
    this.#part = part;
    this.#rules = new EntryRules(options.limits, file.size, this.#reasons);
    this.#site = site;
    this.#deadline = performance.now() + (options.timeLimitMs ?? defaultTimeLimitMs);
  }

  get #isFirst(): boolean {
    return this.#part === undefined || this.#part.start === 0;
  }

  async read(format: ArchiveFormat): Promise<void> {
    const { maxBytes, maxFiles } = this.#options.limits;
    const options = {
      streamBytes: maxBytes + maxFiles * overheadPerFile + overhead,
      onEntry: (entry: ArchiveEntry) => this.#enter(entry),
      onStop: (reader: NarrowReader, name: string | null) => this.#site?.noteStop(reader, name),
      ...(this.#part && { part: this.#part }),
      ...(this.#isFirst && { onRaw: (bytes: Uint8Array) => this.#takeRaw(bytes) }),
    };
    await this.#noting(() => readerOf(format)(this.#file, options));
    if (this.#isFirst) await this.#noting(() => this.#readRest());
  }

  result(): PartResult {
    return {
      reasons: this.#reasons.all(),
      files: this.#files,
      bytes: this.#bytes,
      sha256: this.#isFirst ? this.#hash.digest('hex') : null,
      site: this.#site?.notes() ?? null,
    };
  }

  #enter(entry: ArchiveEntry): EntryAnswer {
    this.#pulse();
    // The first part checks all names.
    if (entry.elsewhere && !this.#isFirst) return this.#rules.count(entry) ? 'skip' : 'stop';
    const path = this.#rules.admit(entry);
    if (this.#rules.exhausted) return 'stop';
    if (path === null || entry.kind !== 'file' || entry.elsewhere) return 'skip';
    return new FileSink(entry.bytes, {
      keeps: () => this.#site?.wants(path, entry.bytes) ?? false,
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

  /** Turns archive faults into reasons; other errors are thrown. */
  async #noting(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      this.#reasons.add(error.rule, error.path, error.message);
    }
  }

  /** An archive that is refused early is still identified by the digest of all its bytes. */
  async #readRest(): Promise<void> {
    const range = { start: this.#hashed, end: this.#file.size };
    const window = new ByteWindow(this.#file, range, (bytes) => this.#takeRaw(bytes));
    while ((await window.piece(pieceBytes)) !== null) this.#options.signal?.throwIfAborted();
  }

  #takeRaw(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#hashed += bytes.length;
  }

  #pulse(): void {
    this.#options.signal?.throwIfAborted();
    const now = performance.now();
    if (now > this.#deadline) throw new ArchiveFault('time-limit', null, 'reading the archive took too long');
    if (now < this.#nextProgress) return;
    this.#nextProgress = now + progressEveryMs;
    this.#options.onProgress?.({ files: this.#files.length, bytes: this.#bytes });
  }
}
