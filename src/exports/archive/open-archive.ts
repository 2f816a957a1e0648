import type { ArchiveFormat } from '../rules/archive-facts.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { readTar, readTarGz } from './read-tar.ts';
import { readZip } from './read-zip.ts';

const readers: Record<ArchiveFormat, ArchiveReader> = { 'tar.gz': readTarGz, tar: readTar, zip: readZip };

/** The reader of a format; `sniffFormat` recognizes formats. */
export function readerOf(format: ArchiveFormat): ArchiveReader {
  return readers[format];
}
