import type { ArchiveFormat } from '../model/cargo.ts';
import type { ArchiveReader } from './readers/archive-reader.ts';
import { readTar, readTarGz } from './readers/read-tar.ts';
import { readZip } from './readers/read-zip.ts';

const READERS: Record<ArchiveFormat, ArchiveReader> = { 'tar.gz': readTarGz, tar: readTar, zip: readZip };

/** The reader of a format; formats are told apart by `sniffFormat`. */
export function readerOf(format: ArchiveFormat): ArchiveReader {
  return READERS[format];
}
