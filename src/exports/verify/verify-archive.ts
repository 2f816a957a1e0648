import { createHash, type Hash, hash } from 'node:crypto';
import type { ByteSpan } from '../../files.ts';
import {
  type ArchiveEntry,
  ArchiveFault,
  type ByteFile,
  type ContentSink,
  type EntryAnswer,
  type NarrowReader,
  withByteFile,
} from '../archive/archive-reader.ts';
import { ByteWindow } from '../archive/byte-window.ts';
import { type ArchiveLimits, EntryRules, foldPath } from '../archive/check-entry.ts';
import { type ContentFile, contentDigest, sortFiles } from '../archive/content-digest.ts';
import { readers, type Sniffed, sniffFormat } from '../archive/open-archive.ts';
import type { ArchiveFacts, ArchiveFormat, Reason } from '../rules/site-export.ts';
import {
  type Judgement,
  judged,
  ReasonList,
  type RuleName,
  type SiteRule,
  type SiteRuleLevels,
  siteRuleTexts,
} from '../rules/verification-rules.ts';
import { Findings, type SiteNotes, secretFile } from './inspect-file.ts';
import { candidatesOf, isPage, missingIndexPage } from './site-links.ts';

const serverFiles: readonly (readonly [string, RegExp])[] = [
  ['settings of Apache', /(?:^|\/)\.ht(?:access|passwd|group|groups|digest)$/i],
  ['settings of PHP', /(?:^|\/)(?:\.user|php)\.ini$/i],
  ['settings of IIS', /(?:^|\/)(?:web\.config|global\.asax)$/i],
  ['a program of PHP', /\.(?:php\d?|phps|pht|phtml|phar)$/i],
  ['a program of CGI', /\.f?cgi$/i],
  ['a page with server-side includes', /\.(?:shtml?|stm)$/i],
  ['a program of ASP', /\.(?:aspx?|ashx|asmx|asa|cshtml|vbhtml)$/i],
  ['a program of JSP or ColdFusion', /\.(?:jspx?|jspf|cfml?|cfc)$/i],
];

/** What a file is that common web servers execute or read as settings, by its path; null for others. */
export function serverFile(path: string): string | null {
  return serverFiles.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}

/** What breaks the rules about a site's content, each rule at its level. @param paths of all files */
function judgeSite(paths: readonly string[], notes: readonly SiteNotes[], levels: SiteRuleLevels): Judgement {
  const findings = new Findings();
  if (!paths.some(isPage)) findings.add('no-page', null, 'the archive contains no HTML page');
  const missingIndex = missingIndexPage(paths);
  if (missingIndex !== null) findings.add('no-index-page', null, missingIndex);
  if (!paths.includes('404.html')) findings.add('no-404-page', null, 'there is no 404.html at the root of the archive');
  for (const path of paths) judgeName(path, findings);
  for (const note of notes) findings.merge(note.findings);
  // The parts stand in the order of the archive: of two places, the first one counts.
  const stops = new Map<string, string | null>();
  for (const note of notes) for (const [reader, path] of note.stops) if (!stops.has(reader)) stops.set(reader, path);
  for (const [reader, path] of stops) {
    findings.add(
      'narrow-reader',
      path,
      `${reader} stops with an error at the form of ${path === null ? 'its end' : 'this entry'}`,
    );
  }
  judgeTargets(paths, notes, findings);
  const rules = Object.keys(siteRuleTexts) as SiteRule[];
  return judged(rules.map((rule) => [levels[rule] ?? siteRuleTexts[rule].level, findings.of(rule)]));
}

function judgeName(path: string, findings: Findings): void {
  const what = secretFile(path);
  if (what !== null) findings.add('secret-file', path, what);
  const served = serverFile(path);
  if (served !== null) findings.add('server-file', path, served);
  if (/\.(?:js|mjs|cjs|css)\.map$/i.test(path)) findings.add('source-map', path, 'a source map');
}

function judgeTargets(paths: readonly string[], notes: readonly SiteNotes[], findings: Findings): void {
  const files = new Set(paths);
  const seen = new Set<string>();
  let folded: Map<string, string> | null = null;
  for (const { targets } of notes) {
    for (const [path, { isResource, page, line, by }] of targets) {
      if (seen.has(path) || candidatesOf(path).some((candidate) => files.has(candidate))) continue;
      seen.add(path);
      folded ??= new Map(paths.map((file) => [foldPath(file), file]));
      const others = candidatesOf(path).map((candidate) => folded?.get(foldPath(candidate)));
      const other = others.find((found) => found !== undefined);
      const advice = other === undefined ? '' : `, which is there as ${JSON.stringify(other)}`;
      const detail = `line ${line}: ${by} leads to ${JSON.stringify(`/${path}`)}${advice}`;
      findings.add(isResource ? 'missing-resource' : 'broken-link', page, detail);
    }
  }
}

export interface VerificationProgress {
  files: number;
  /** Unpacked so far. */
  bytes: number;
}

export interface VerificationOptions {
  limits: ArchiveLimits;
  /** Leaves out the rules about site content (contracts.md `export verify`). */
  structureOnly?: boolean;
  /** What becomes of a site that breaks a rule about its content, where it differs from the rule's default. */
  siteRules?: SiteRuleLevels;
  /** Bare host name of the site, lower case, where it is known. */
  domain?: string | null;
  /** Longest time for the whole archive; running out of it is the reason `time-limit`. */
  timeLimitMs?: number;
  signal?: AbortSignal;
  /** Called a few times a second at most. */
  onProgress?: (progress: VerificationProgress) => void;
}

interface FileSinkCallbacks {
  /** Whether the content is to be kept; asked when it begins, for files that are not empty. */
  keeps: () => boolean;
  onBytes: (bytes: number) => void;
  /** With the lowercase hex SHA-256, and the content where it was to be kept. */
  onEnd: (sha256: string, content: Buffer | null) => void;
}

/** Hashes the content of one file of `bytes`, and keeps it when asked to. */
function fileSink(bytes: number, { keeps, onBytes, onEnd }: FileSinkCallbacks): ContentSink {
  let kept: Buffer | null = null;
  let filled = 0;
  let digest: string | null = null;
  let partial: Hash | null = null;
  return {
    write(chunk) {
      if (filled === 0 && keeps()) kept = Buffer.allocUnsafe(bytes);
      // Most files arrive in one piece, where creating a hash object costs more than hashing.
      if (chunk.length === bytes) digest = hash('sha256', chunk, 'hex');
      else {
        partial ??= createHash('sha256');
        partial.update(chunk);
      }
      kept?.set(chunk, filled);
      filled += chunk.length;
      onBytes(chunk.length);
    },
    end() {
      onEnd(digest ?? (partial ?? createHash('sha256')).digest('hex'), kept);
    },
  };
}

/** Longest time for one archive unless told otherwise, in milliseconds. */
export const defaultTimeLimitMs = 30 * 60_000;

/** The result of verifying an archive (contracts.md, `export verify`). */
export interface VerificationReport {
  ok: boolean;
  format: ArchiveFormat | null;
  reasons: Reason[];
  /** Why a person decides about a site that is not refused. */
  asks: Reason[];
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

/** The report of an archive that could not be read at all. */
export function refusedReport(archive: ArchiveFacts | null, reasons: Reason[]): VerificationReport {
  const format = archive?.format ?? null;
  const nothing = { files: 0, pages: 0, bytes: 0, contentDigest: null, entries: [] };
  return { ok: false, format, reasons, asks: [], warnings: [], archive, ...nothing };
}

/** The report of an archive, together with the result of rendering it. */
export function withRendering(report: VerificationReport, { reasons, asks, warnings }: Judgement): VerificationReport {
  return {
    ...report,
    ok: report.ok && reasons.length === 0,
    reasons: [...report.reasons, ...reasons],
    asks: [...report.asks, ...asks],
    warnings: [...report.warnings, ...warnings],
  };
}

/** Bytes of headers and padding allowed for each file of a tar, in addition to the contents. */
const overheadPerFile = 4096;
const overhead = 1024 ** 2;
const pieceBytes = 1024 ** 2;
const progressEveryMs = 200;

/** One reader's findings in an archive, or in its part of it; may be passed between threads. */
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
  part?: ByteSpan,
): Promise<PartResult> {
  const { limits, siteRules = {}, domain = null, timeLimitMs = defaultTimeLimitMs, signal, onProgress } = options;
  // Loaded on demand: the page parser is slow to load.
  const inspect = async () => new (await import('./inspect-file.ts')).SiteInspection(siteRules, domain);
  const site = options.structureOnly ? null : await inspect();
  const isFirst = part === undefined || part.start === 0;
  const reasons = new ReasonList();
  const rules = new EntryRules(limits, file.size, reasons);
  const files: ContentFile[] = [];
  const deadline = performance.now() + timeLimitMs;
  const whole = createHash('sha256');
  let hashed = 0;
  let unpacked = 0;
  let nextProgress = 0;

  const onRaw = (raw: Uint8Array) => {
    whole.update(raw);
    hashed += raw.length;
  };
  const pulse = () => {
    signal?.throwIfAborted();
    const now = performance.now();
    if (now > deadline) throw new ArchiveFault('time-limit', 'reading the archive took too long');
    if (now < nextProgress) return;
    nextProgress = now + progressEveryMs;
    onProgress?.({ files: files.length, bytes: unpacked });
  };
  const onEntry = (entry: ArchiveEntry): EntryAnswer => {
    pulse();
    // The first part checks all names.
    if (entry.elsewhere && !isFirst) return rules.count(entry) ? 'skip' : 'stop';
    const path = rules.admit(entry);
    if (rules.exhausted) return 'stop';
    if (path === null || entry.kind !== 'file' || entry.elsewhere) return 'skip';
    return fileSink(entry.bytes, {
      keeps: () => site?.wants(path, entry.bytes) ?? false,
      onBytes: (bytes) => {
        unpacked += bytes;
        pulse();
      },
      onEnd: (sha256, content) => {
        files.push({ path, bytes: entry.bytes, sha256 });
        if (content !== null) site?.inspect(path, content);
      },
    });
  };
  /** Turns archive faults into reasons; other errors are thrown. */
  const noting = async (step: () => Promise<void>) => {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof ArchiveFault)) throw error;
      reasons.add(error.rule, error.path, error.message);
    }
  };
  /** An archive that is refused early is still identified by the digest of all its bytes. */
  const readRest = async () => {
    const window = new ByteWindow(file, { start: hashed, end: file.size }, onRaw);
    while ((await window.piece(pieceBytes)) !== null) signal?.throwIfAborted();
  };

  const streamBytes = limits.maxBytes + limits.maxFiles * overheadPerFile + overhead;
  const onStop = (reader: NarrowReader, name: string | null) => site?.noteStop(reader, name);
  const reading = { streamBytes, onEntry, onStop, ...(part && { part }), ...(isFirst && { onRaw }) };
  await noting(() => readers[format](file, reading));
  if (isFirst) await noting(readRest);
  const sha256 = isFirst ? whole.digest('hex') : null;
  return { reasons: reasons.all(), files, bytes: unpacked, sha256, site: site?.notes() ?? null };
}

/** Reads an archive in one or more parts, which together cover it. */
type PartsReader = (
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
) => Promise<[PartResult, ...PartResult[]]>;

/** Verifies an archive (verification.md) in this thread. Any bytes give a report. Throws only system errors. */
export async function verifyArchive(file: string, options: VerificationOptions): Promise<VerificationReport> {
  return withByteFile(file, (bytes) => verifyBytes(bytes, options));
}

/** Like `verifyArchive`, for a file that is open already. */
export async function verifyBytes(
  file: ByteFile,
  options: VerificationOptions,
  readParts: PartsReader = inOnePart,
): Promise<VerificationReport> {
  const sniffed = await sniffFormat(file).catch(fileBecameShorter);
  if (sniffed.format === null) return refusedReport(null, [sniffed.reason]);
  const { format } = sniffed;
  return conclude(await readParts(file, format, options), { size: file.size, format }, options);
}

/** Sniffing finds no other fault. */
function fileBecameShorter(error: unknown): Sniffed {
  if (!(error instanceof ArchiveFault)) throw error;
  return { format: null, reason: reason(error.rule, error.message) };
}

async function inOnePart(
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
): Promise<[PartResult, ...PartResult[]]> {
  return [await readPart(file, format, options)];
}

function conclude(
  parts: [PartResult, ...PartResult[]],
  { size, format }: { size: number; format: ArchiveFormat },
  { siteRules = {} }: VerificationOptions,
): VerificationReport {
  // Every part reads the whole directory and reports the same reasons about it.
  const distinct = new Map(parts.flatMap((part) => part.reasons.map((found) => [JSON.stringify(found), found])));
  const structure = [...distinct.values()];
  const entries = sortFiles(parts.flatMap((part) => part.files));
  const whole = structure.length === 0;
  if (whole && entries.length === 0) structure.push(reason('no-files', 'the archive holds no file'));
  const notes = structure.length === 0 ? parts.flatMap(({ site }) => (site ? [site] : [])) : [];
  const paths = entries.map(({ path }) => path);
  const site = notes.length > 0 ? judgeSite(paths, notes, siteRules) : { reasons: [], asks: [], warnings: [] };
  const reasons = [...structure, ...site.reasons];
  return {
    ok: reasons.length === 0,
    format,
    reasons,
    asks: site.asks,
    warnings: site.warnings,
    files: entries.length,
    pages: paths.filter(isPage).length,
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    contentDigest: whole ? contentDigest(entries) : null,
    archive: { sha256: parts[0].sha256 ?? '', bytes: size, format },
    entries,
  };
}

function reason(rule: RuleName, detail: string): Reason {
  return { rule, path: null, detail };
}
