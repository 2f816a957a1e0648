import { crc32 } from 'node:zlib';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { type ArchiveEntry, ArchiveFault, type EntryKind, isSystemError } from './archive-reader.ts';

const UTF8_FLAG = 0x800;
const UNICODE_PATH_FIELD = 0x7075;
const STORED = 0;
const DEFLATED = 8;
const UNIX_TYPE_MASK = 0o170000;
const UNIX_DIRECTORY = 0o040000;
const UNIX_FILE = 0o100000;
const UNIX_SYMBOLIC_LINK = 0o120000;

/** Reads a zip (an `ArchiveReader`): sizes and CRC-32 checked; names must mean the same to every reader. */
export async function* readZip(file: string): AsyncGenerator<ArchiveEntry> {
  const zip = await openZip(file);
  try {
    for await (const entry of zip.eachEntry()) yield toEntry(zip, entry);
  } catch (error) {
    throw describe(error, null);
  } finally {
    zip.close();
  }
}

async function openZip(file: string): Promise<ZipFile> {
  try {
    // Names are left as bytes: yauzl would guess a character set and stop at the first bad name.
    const options = { decodeStrings: false, strictFileNames: true, validateEntrySizes: true, autoClose: false };
    return await yauzl.openPromise(file, options);
  } catch (error) {
    throw describe(error, null);
  }
}

function toEntry(zip: ZipFile, entry: Entry): ArchiveEntry {
  const name = nameOf(entry);
  return {
    name,
    kind: kindOf(entry, name),
    bytes: entry.uncompressedSize,
    content: () => contentOf(zip, entry, name),
  };
}

async function* contentOf(zip: ZipFile, entry: Entry, name: string): AsyncGenerator<Uint8Array> {
  if (entry.isEncrypted()) throw new ArchiveFault('encrypted', name, 'encrypted entries are refused');
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw new ArchiveFault(
      'compression-method',
      name,
      `compression method ${entry.compressionMethod} is not supported`,
    );
  }
  let crc = 0;
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  } catch (error) {
    throw describe(error, name);
  }
  if (crc !== entry.crc32) throw new ArchiveFault('crc-mismatch', name, 'the CRC-32 of the content does not match');
}

/** Refuses names that readers understand in different ways: other character sets, a second name in an extra field. */
function nameOf(entry: Entry): string {
  const raw = entry.fileNameRaw;
  const name = raw.toString('utf8');
  const isUtf8 = (entry.generalPurposeBitFlag & UTF8_FLAG) !== 0;
  if (!isUtf8 && raw.some((byte) => byte > 0x7f)) {
    throw new ArchiveFault(
      'ambiguous-name',
      name,
      'the name is not ASCII and not marked as UTF-8, so that programs read it in different ways',
    );
  }
  const second = entry.extraFields.find((field) => field.id === UNICODE_PATH_FIELD);
  if (second && !second.data.subarray(5).equals(raw)) {
    throw new ArchiveFault('ambiguous-name', name, 'the entry has a second, different name');
  }
  return name;
}

function kindOf(entry: Entry, name: string): EntryKind {
  const type = (entry.externalFileAttributes >>> 16) & UNIX_TYPE_MASK;
  if (type === UNIX_SYMBOLIC_LINK) return 'symbolic-link';
  if (type === UNIX_DIRECTORY || (type === 0 && name.endsWith('/'))) return 'directory';
  if (type === UNIX_FILE || type === 0) return 'file';
  return 'device';
}

function describe(error: unknown, path: string | null): Error {
  if (error instanceof ArchiveFault || isSystemError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith('End of central directory record signature not found') || message === 'unexpected EOF') {
    return new ArchiveFault('truncated', path, 'the archive ends in the middle');
  }
  if (message.includes('bytes in the stream') || message.includes('size mismatch')) {
    return new ArchiveFault('size-mismatch', path, 'the content is not as long as the archive says');
  }
  if (message.startsWith('Invalid comment length')) {
    return new ArchiveFault('trailing-data', path, 'there are bytes after the end of the archive');
  }
  return new ArchiveFault('corrupt', path, message);
}
