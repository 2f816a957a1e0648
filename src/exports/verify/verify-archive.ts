import type { ArchiveFormat, Reason } from '../rules/archive-facts.ts';
import { ArchiveFault } from '../archive/archive-fault.ts';
import { type ByteFile, withByteFile } from '../archive/byte-file.ts';
import { contentDigest, sortFiles } from '../archive/content-digest.ts';
import { type Sniffed, sniffFormat } from '../archive/sniff-format.ts';
import type { RuleName } from '../rules/rules.ts';
import { judgeSite } from './judge-site.ts';
import { isPage } from './site-pages.ts';
import type { VerificationOptions } from './verification-options.ts';
import { type PartResult, readPart } from './verification-part.ts';
import { refusedReport, type VerificationReport } from './verification-report.ts';

/** Reads an archive in one or more parts, which together cover it. */
export type PartsReader = (
  file: ByteFile,
  format: ArchiveFormat,
  options: VerificationOptions,
) => Promise<[PartResult, ...PartResult[]]>;

/**
 * Verifies an archive (verification.md) in this thread; `verifyInThread` does it in another. Any bytes give a
 * report. Throws only system errors of reading the file, and the signal's reason.
 */
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
  const structure = distinct(parts.flatMap((part) => part.reasons));
  const entries = sortFiles(parts.flatMap((part) => part.files));
  const whole = structure.length === 0;
  if (whole && entries.length === 0) structure.push(reason('no-files', 'the archive holds no file'));
  const notes = structure.length === 0 ? parts.flatMap(({ site }) => (site ? [site] : [])) : [];
  const paths = entries.map(({ path }) => path);
  const site = notes.length > 0 ? judgeSite(paths, notes, siteRules) : { reasons: [], warnings: [] };
  const reasons = [...structure, ...site.reasons];
  return {
    ok: reasons.length === 0,
    format,
    reasons,
    warnings: site.warnings,
    files: entries.length,
    pages: paths.filter(isPage).length,
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    contentDigest: whole ? contentDigest(entries) : null,
    archive: { sha256: parts[0].sha256 ?? '', bytes: size, format },
    entries,
  };
}

/** Every part reads the whole directory and reports the same reasons about it. */
function distinct(reasons: readonly Reason[]): Reason[] {
  const seen = new Map(reasons.map((found) => [JSON.stringify(found), found]));
  return [...seen.values()];
}

function reason(rule: RuleName, detail: string): Reason {
  return { rule, path: null, detail };
}
