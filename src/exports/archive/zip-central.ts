import { isUtf8 } from 'node:buffer';
import { ArchiveFault } from './archive-fault.ts';
import type { EntryKind } from './archive-reader.ts';
import type { ByteWindow } from './byte-window.ts';
import { in32Bits, maxCommentBytes, type ZipDirectory } from './zip-end.ts';
import { parseExtra } from './zip-extra.ts';
import { readShared, requireOneName, requireReadable, type SharedFields, widen } from './zip-fields.ts';

const headerBytes = 46;
const signature = 0x02014b50;
/** DOS, Unix, Windows (NTFS by PKZIP's and Info-ZIP's numbers, VFAT) and macOS. */
const unixSystems = new Set([3, 19]);
const knownSystems = new Set([...unixSystems, 0, 10, 11, 14]);
const unixModeBits = 0o7777;
const unixTypeMask = 0o170000;
const unixDirectory = 0o040000;
const unixFile = 0o100000;
const unixSymbolicLink = 0o120000;
const dosVolumeLabel = 0x08;
const dosDirectory = 0x10;
/** Read-only, hidden, system, folder, archive, normal, temporary, compressed, not indexed, encrypted, and 7-Zip's mark. */
const knownAttributes = 0xe9b7;
/** Windows: a link, or another object that only looks like a file. */
const reparsePoint = 0x400;

/** What the central directory says of one entry. */
export interface CentralEntry {
  fields: SharedFields;
  rawName: Buffer;
  name: string;
  kind: EntryKind;
  mode: number | null;
  /** Packed and unpacked size in bytes, 64-bit values in their place. */
  packed: number;
  bytes: number;
  /** Where the local header lies. */
  offset: number;
  /** Whether a size does not fit in 32 bits. */
  wide: boolean;
  /** Whether a size is in 64 bits, needed or not. */
  in64: boolean;
}

/** Reads the entries of the central directory in order. */
export class CentralEntries {
  readonly #window: ByteWindow;
  readonly #hidden: boolean;
  #left: number;

  /** @param window stands at the first entry, and ends where the directory does */
  constructor(window: ByteWindow, directory: ZipDirectory) {
    this.#window = window;
    this.#hidden = directory.hidden;
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
    const { nameLength, extraLength } = fields;
    const rest = await this.#take(nameLength + extraLength + header.readUInt16LE(32));
    const rawName = Buffer.from(rest.subarray(0, nameLength));
    const extra = parseExtra(rest.subarray(nameLength, nameLength + extraLength), 'central', rawName);
    const name = requireOneName(rawName, fields.flags, extra);
    if (header.readUInt16LE(34) !== 0) throw new ArchiveFault('multi-disk', name, 'the entry lies in another part');
    requireReadable(fields, name);
    const [bytes = 0, packed = 0, offset = 0] = widen(
      [fields.bytes, fields.packed, header.readUInt32LE(42)],
      extra,
      rawName,
    );
    const wide = bytes >= in32Bits || packed >= in32Bits;
    const in64 = fields.bytes === in32Bits || fields.packed === in32Bits;
    if (header.readUInt32LE(42) === in32Bits && !this.#hidden) {
      throw new ArchiveFault('zip64', name, 'its place is in 64 bits, which BusyBox skips where the end has 32');
    }
    const system = header.readUInt8(5);
    requireKnownSystem(system, name);
    requireSameName(system, extraLength, rawName);
    requireText(rest.subarray(nameLength + extraLength), name);
    const attributes = header.readUInt32LE(38);
    const mode = modeOf(attributes, system);
    return { fields, rawName, name, kind: kindOf(attributes, name), mode, packed, bytes, offset, wide, in64 };
  }

  async #take(bytes: number): Promise<Buffer> {
    if (this.#window.buffered >= bytes || (await this.#window.fill(bytes))) return this.#window.take(bytes);
    throw new ArchiveFault('zip-directory', null, 'the central directory is shorter than the entries it counts');
  }
}

/** Other systems give attributes another meaning, and some readers convert their names. */
function requireKnownSystem(system: number, name: string): void {
  if (knownSystems.has(system)) return;
  throw new ArchiveFault('zip-system', name, `the entry was made on an unusual system (${system})`);
}

/** Info-ZIP heeds the UTF-8 flag only for entries made on Unix or with an extra field; it converts other names. */
function requireSameName(system: number, extraLength: number, rawName: Buffer): void {
  if (extraLength > 0 || unixSystems.has(system) || rawName.every((byte) => byte <= 0x7f)) return;
  const detail =
    'the name is not ASCII, and Info-ZIP changes such names of entries made on DOS or Windows without an extra field';
  throw new ArchiveFault('ambiguous-name', rawName.toString('utf8'), detail);
}

/** Java refuses an archive with a comment that it cannot decode, or with a header of 64 KiB. */
function requireText(comment: Buffer, name: string): void {
  if (comment.length > maxCommentBytes) {
    throw new ArchiveFault('meta-too-long', name, `the comment of the entry is longer than ${maxCommentBytes} bytes`);
  }
  if (isUtf8(comment)) return;
  throw new ArchiveFault('not-utf8', name, 'the comment of the entry is not well-formed UTF-8');
}

/** Readers use the mode of entries made on Unix even if it is 0. */
function modeOf(attributes: number, system: number): number | null {
  const unix = attributes >>> 16;
  return unix === 0 && !unixSystems.has(system) ? null : unix & unixModeBits;
}

/** A folder is what ends in a slash; attributes that say something else would make it a file to some readers. */
function kindOf(attributes: number, name: string): EntryKind {
  const type = (attributes >>> 16) & unixTypeMask;
  if (type === unixSymbolicLink || (attributes & reparsePoint) !== 0) return 'symbolic-link';
  if (type !== 0 && type !== unixDirectory && type !== unixFile) return 'device';
  if ((attributes & dosVolumeLabel) !== 0) {
    throw new ArchiveFault('ambiguous-type', name, 'its attributes mark it as a disk label, which some readers skip');
  }
  if ((attributes & 0xffff & ~knownAttributes) !== 0) {
    throw new ArchiveFault('ambiguous-type', name, 'its attributes have a meaning that only some readers know');
  }
  const isDirectory = name.endsWith('/');
  // 7-Zip, Go and bsdtar obey the attribute of DOS even where the mode says that it is a file.
  const claims = type === unixDirectory || (attributes & dosDirectory) !== 0;
  if (isDirectory ? type === unixFile : claims) {
    throw new ArchiveFault('ambiguous-type', name, 'a folder by its attributes and a file by its name, or vice versa');
  }
  return isDirectory ? 'directory' : 'file';
}
