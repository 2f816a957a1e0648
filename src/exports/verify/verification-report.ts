import type { ArchiveFacts, ArchiveFormat, Reason } from '../rules/archive-facts.ts';
import type { ContentFile } from '../archive/content-digest.ts';

/** Longest time for one archive unless told otherwise, in milliseconds. */
export const defaultTimeLimitMs = 30 * 60_000;

/** The result of verifying an archive (contracts.md, `export verify`). */
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

/** The report of an archive that could not be read at all. */
export function refusedReport(archive: ArchiveFacts | null, reasons: Reason[]): VerificationReport {
  const format = archive?.format ?? null;
  const nothing = { files: 0, pages: 0, bytes: 0, contentDigest: null, entries: [] };
  return { ok: false, format, reasons, warnings: [], archive, ...nothing };
}
