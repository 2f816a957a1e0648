import { ArchiveFault } from '../archive-fault.ts';
import type { EntryKind } from '../archive-reader.ts';
import type { ByteWindow } from '../byte-window.ts';
import type { ZipDirectory } from './zip-end.ts';
import {
  has64,
  parseExtra,
  readShared,
  requireOneName,
  requireReadable,
  type SharedFields,
  widen,
} from './zip-fields.ts';

const headerBytes = 46;
const signature = 0x02014b50;
const unixTypeMask = 0o170000;
const unixDirectory = 0o040000;
const unixFile = 0o100000;
const unixSymbolicLink = 0o120000;
const dosDirectory = 0x10;
/** Windows: a link, or something else that is not the file it looks like. */
const reparsePoint = 0x400;

/** What the central directory says of one entry. */
export interface CentralEntry {
  fields: SharedFields;
  rawName: Buffer;
  name: string;
  kind: EntryKind;
  /** Packed and unpacked size in bytes, 64-bit values in their place. */
  packed: number;
  bytes: number;
  /** Where the local header lies. */
  offset: number;
  /** Whether it has 64-bit sizes. */
  wide: boolean;
}

/** Reads the central directory's entries one after the other. */
export class CentralEntries {
  readonly #window: ByteWindow;
  #left: number;

  /** @param window stands at the first entry, and ends where the directory does */
  constructor(window: ByteWindow, directory: ZipDirectory) {
    this.#window = window;
    this.#left = directory.entries;
  }

  /** The next entry; null after the last, which must be the directory's end. Throws `ArchiveFault`, system errors. */
  async next(): Promise<CentralEntry | null> {
    if (this.#left === 0) {
      if (!(await this.#window.fill(1))) return null;
      throw new ArchiveFault('zip-directory', null, 'the central directory holds more than the entries it counts');
    }
    this.#left -= 1;
    const header = await this.#take(headerBytes);
    if (header.readUInt32LE(0) !== signature) {
      throw new ArchiveFault('zip-directory', null, 'the central directory is damaged');
    }
    const fields = readShared(header, 8);
    const rest = await this.#take(fields.nameLength + fields.extraLength + header.readUInt16LE(32));
    const rawName = Buffer.from(rest.subarray(0, fields.nameLength));
    const extra = parseExtra(rest.subarray(fields.nameLength, fields.nameLength + fields.extraLength), rawName);
    const name = requireOneName(rawName, fields.flags, extra);
    if (header.readUInt16LE(34) !== 0) throw new ArchiveFault('multi-disk', name, 'the entry lies in another part');
    requireReadable(fields, name);
    const [bytes = 0, packed = 0, offset = 0] = widen(
      [fields.bytes, fields.packed, header.readUInt32LE(42)],
      extra,
      rawName,
    );
    const kind = kindOf(header.readUInt32LE(38), name);
    return { fields, rawName, name, kind, packed, bytes, offset, wide: has64(extra) };
  }

  async #take(bytes: number): Promise<Buffer> {
    if (this.#window.buffered >= bytes || (await this.#window.fill(bytes))) return this.#window.take(bytes);
    throw new ArchiveFault('zip-directory', null, 'the central directory is shorter than the entries it counts');
  }
}

/** A folder is what ends in a slash; attributes that say something else would make it a file to some readers. */
function kindOf(attributes: number, name: string): EntryKind {
  const type = (attributes >>> 16) & unixTypeMask;
  if (type === unixSymbolicLink || (attributes & reparsePoint) !== 0) return 'symbolic-link';
  if (type !== 0 && type !== unixDirectory && type !== unixFile) return 'device';
  const isDirectory = name.endsWith('/');
  const claims = type === unixDirectory || (type === 0 && (attributes & dosDirectory) !== 0);
  if (isDirectory ? type === unixFile : claims) {
    throw new ArchiveFault('ambiguous-type', name, 'a folder by its attributes and a file by its name, or vice versa');
  }
  return isDirectory ? 'directory' : 'file';
}
