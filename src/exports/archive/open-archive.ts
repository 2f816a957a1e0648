import type { ArchiveFormat, Reason } from '../rules/site-export.ts';
import type { StructureRule } from '../rules/verification-rules.ts';
import { type ArchiveReader, type ByteFile, readAt } from './archive-reader.ts';
import { readTar, readTarGz } from './read-tar.ts';
import { readZip } from './read-zip.ts';
import { compressionOf, passesForTar } from './tar-header.ts';

/** By format; `sniffFormat` recognizes formats. */
export const readers: Record<ArchiveFormat, ArchiveReader> = { 'tar.gz': readTarGz, tar: readTar, zip: readZip };

const headBytes = 512;
const ustarOffset = 257;
const isoMark = 'CD001';
/** An ISO image may begin with 32 KiB of anything. */
const isoOffset = 32_769;

export type Sniffed = { format: ArchiveFormat } | { format: null; reason: Reason };

/** By its bytes, never by its name: some tars pass for zips (verification.md). Throws `ArchiveFault`, system errors. */
export async function sniffFormat(file: ByteFile): Promise<Sniffed> {
  const head = await readAt(file, 0, Math.min(headBytes, file.size));
  const sniffed = sniffBytes(head);
  if (sniffed.format !== 'zip') return sniffed;
  if (passesForTar(head)) return refused('two-formats', 'the zip begins with the header of a tar');
  const mark = file.size < isoOffset + isoMark.length ? null : await readAt(file, isoOffset, isoMark.length);
  if (mark?.toString('latin1') === isoMark) return refused('two-formats', 'the zip is an ISO image too');
  return sniffed;
}

/** What services send in place of an archive, by how it begins. */
const texts: readonly (readonly [RegExp, StructureRule, string])[] = [
  [
    /^<(?:!doctype )?html/i,
    'html-page',
    'an HTML page was sent in place of an archive, often an error page of a gateway',
  ],
  [/^</, 'xml-document', 'an XML document was sent in place of an archive, often an error of the object store'],
  [/^[{[]/, 'json-document', 'a JSON document was sent in place of an archive, often an error of the service'],
];

/** Like `sniffFormat`, for the first 512 bytes of a file (fewer when it is shorter). */
function sniffBytes(head: Buffer): Sniffed {
  const bytes = head.toString('latin1');
  if (bytes === '') return refused('empty-file', 'the file is empty');
  if (bytes.startsWith('\x1f\x8b')) return { format: 'tar.gz' };
  if (bytes.startsWith('PK\x03\x04') || bytes.startsWith('PK\x05\x06')) return { format: 'zip' };
  // The reader of tars names the older forms, which have no mark.
  if (bytes.startsWith('ustar', ustarOffset) || passesForTar(head)) return { format: 'tar' };
  const compression = compressionOf(head);
  if (compression !== null) return refused('unsupported-compression', `${compression} is not supported`);
  const text = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  for (const [start, rule, detail] of texts) if (start.test(text)) return refused(rule, detail);
  return refused('unknown-format', 'neither a gzip tar, nor a tar, nor a zip by its first bytes');
}

function refused(rule: StructureRule, detail: string): Sniffed {
  return { format: null, reason: { rule, path: null, detail } };
}
