import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ArchiveFault, type ByteFile, type EntryKind, readAt } from './archive-reader.ts';
import type { ByteWindow } from './byte-window.ts';

const endBytes = 22;
const endSignature = Buffer.from('PK\x05\x06');
const locatorBytes = 20;
const locatorSignature = 0x07064b50;
const end64Bytes = 56;
const end64Signature = 0x06064b50;
/** The length that the 64-bit record must state: the known fields after the length, and nothing more. */
const end64Length = 44n;
/** bsdtar looks for the end in the last 16 KiB, BusyBox in the last 64 KiB. */
const maxCommentBytes = 8192;
const in16Bits = 0xffff;
export const in32Bits = 0xffffffff;

/** Where the central directory of a zip lies; all offsets count from the file's first byte. */
export interface ZipDirectory {
  entries: number;
  start: number;
  end: number;
  /** The end of the archive names no place of the directory in 32 bits; there BusyBox stops. */
  hidden: boolean;
}

/** Finds the central directory by the records at the end of the file, which must all agree. Throws `ArchiveFault`. */
export async function findDirectory(file: ByteFile): Promise<ZipDirectory> {
  const tailStart = Math.max(0, file.size - endBytes - 0xffff - locatorBytes - end64Bytes);
  const tail = await readAt(file, tailStart, file.size - tailStart);
  const at = lastEnd(tail);
  if (tail.length - at - endBytes > maxCommentBytes) {
    throw new ArchiveFault('meta-too-long', `the comment of the archive is longer than ${maxCommentBytes} bytes`);
  }
  const end = tail.subarray(at, at + endBytes);
  const stated = {
    disks: [end.readUInt16LE(4), end.readUInt16LE(6)],
    entriesHere: end.readUInt16LE(8),
    entries: end.readUInt16LE(10),
    bytes: end.readUInt32LE(12),
    start: end.readUInt32LE(16),
  };
  const has64 = at >= locatorBytes && tail.readUInt32LE(at - locatorBytes) === locatorSignature;
  const isWhole =
    stated.disks.every((disk) => disk === 0) || (has64 && stated.disks.every((disk) => disk === in16Bits));
  if (!isWhole || stated.entriesHere !== stated.entries) {
    throw new ArchiveFault('multi-disk', 'the archive is a part of several');
  }
  if (!has64 && (stated.entries === in16Bits || stated.bytes === in32Bits || stated.start === in32Bits)) {
    throw new ArchiveFault('zip64', 'the end of the archive refers to a 64-bit record that is not there');
  }
  const found = has64 ? await directory64(tail, tailStart, at, stated) : stated;
  const behind = tailStart + at - (has64 ? locatorBytes + end64Bytes : 0);
  if (found.start + found.bytes !== behind) {
    throw new ArchiveFault('zip-directory', 'the central directory does not end where the archive says');
  }
  const hidden = stated.start === in32Bits;
  if (hidden) requireNoOtherEnd(tail, tailStart, at);
  return { entries: found.entries, start: found.start, end: behind, hidden };
}

/**
 * Its place in the tail. Only the last signature counts; its comment must reach the end, and no other signature's may.
 */
function lastEnd(tail: Buffer): number {
  const last = tail.lastIndexOf(endSignature);
  if (last < 0 || last + endBytes > tail.length) {
    throw new ArchiveFault('truncated', 'the end of the archive is missing');
  }
  const reaches = (at: number) => at + endBytes + tail.readUInt16LE(at + 20);
  if (reaches(last) > tail.length) throw new ArchiveFault('truncated', 'the archive ends in its comment');
  if (reaches(last) < tail.length) {
    throw new ArchiveFault('trailing-data', 'there are bytes after the end of the archive');
  }
  for (let at = tail.indexOf(endSignature); at < last; at = tail.indexOf(endSignature, at + 1)) {
    if (reaches(at) === tail.length) throw twoEnds();
  }
  return last;
}

/** Where the last end names no place, BusyBox takes one of the last 64 KiB that names a place before itself. */
function requireNoOtherEnd(tail: Buffer, tailStart: number, last: number): void {
  for (let at = tail.indexOf(endSignature); at < last; at = tail.indexOf(endSignature, at + 1)) {
    if (tail.readUInt32LE(at + 16) < tailStart + at + endSignature.length) throw twoEnds();
  }
}

function twoEnds(): ArchiveFault {
  return new ArchiveFault('two-ends', 'the archive can be read from two ends');
}

type DirectoryPlace = { entries: number; bytes: number; start: number };

/** The 64-bit record lies right before its locator, and agrees with the 32-bit one where that says something. */
async function directory64(
  tail: Buffer,
  tailStart: number,
  endAt: number,
  stated: DirectoryPlace,
): Promise<DirectoryPlace> {
  const locator = tail.subarray(endAt - locatorBytes, endAt);
  const at = endAt - locatorBytes - end64Bytes;
  const place = locator.readBigUInt64LE(8);
  if (at < 0 || place !== BigInt(tailStart + at) || tail.readUInt32LE(at) !== end64Signature) {
    throw new ArchiveFault('zip64', 'the 64-bit record is not right before its locator');
  }
  const record = tail.subarray(at, at + end64Bytes);
  const disks = [locator.readUInt32LE(4), record.readUInt32LE(16), record.readUInt32LE(20)];
  if (disks.some((disk) => disk !== 0) || locator.readUInt32LE(16) !== 1) {
    throw new ArchiveFault('multi-disk', 'the archive is a part of several');
  }
  const [here, entries, bytes, start] = [24, 32, 40, 48].map((offset) => Number(record.readBigUInt64LE(offset)));
  if (record.readBigUInt64LE(4) !== end64Length || entries === undefined || bytes === undefined) throw disagreeing();
  if (start === undefined || here !== entries || !Number.isSafeInteger(bytes + start)) throw disagreeing();
  const agrees = (small: number, large: number, most: number) => small === large || small === most;
  if (!agrees(stated.entries, entries, in16Bits) || !agrees(stated.bytes, bytes, in32Bits)) throw disagreeing();
  if (!agrees(stated.start, start, in32Bits)) throw disagreeing();
  return { entries, bytes, start };
}

function disagreeing(): ArchiveFault {
  return new ArchiveFault('zip64', 'the 64-bit record and the 32-bit one do not say the same');
}

const extraKind = { zip64: 0x0001, unicodePath: 0x7075 } as const;

type ExtraFields = ReadonlyMap<number, Buffer>;

type Side = 'local' | 'central';

const none: ExtraFields = new Map();
const ntfsTimes = 0x0001;

/**
 * The kinds that do not change what an entry unpacks to, each with a check of its form: some readers refuse malformed
 * fields. All other kinds are refused: ASi (0x756e), for one, turns a file into a symbolic link.
 */
const forms: ReadonlyMap<number, (data: Buffer, side: Side) => boolean> = new Map([
  [extraKind.zip64, () => true],
  [extraKind.unicodePath, () => true],
  // Times of NTFS: four unused bytes, then one attribute of three times.
  [0x000a, (data) => data.length === 32 && data.readUInt16LE(4) === ntfsTimes && data.readUInt16LE(6) === 24],
  // Extended timestamp: flags, then a time for each of three flags; the directory may hold only the first.
  [0x5455, isExtendedTimestamp],
  // Info-ZIP's three kinds of owners, the first with times.
  [0x5855, ({ length }, side) => length === 8 || (length === 12 && side === 'local')],
  [0x7855, ({ length }, side) => length === (side === 'local' ? 4 : 0)],
  [0x7875, isOwner],
  // The marker of a jar.
  [0xcafe, ({ length }) => length === 0],
]);

/** Parses an extra field, which must be used up exactly, with each kind once. Throws `ArchiveFault`. */
export function parseExtra(extra: Buffer, side: Side, name: Buffer): ExtraFields {
  if (extra.length === 0) return none;
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < extra.length; ) {
    const kind = at + 4 <= extra.length ? extra.readUInt16LE(at) : null;
    const end = kind === null ? Number.POSITIVE_INFINITY : at + 4 + extra.readUInt16LE(at + 2);
    if (kind === null || end > extra.length || fields.has(kind)) {
      throw fault(name, 'an extra field is cut, too long or repeated');
    }
    const data = extra.subarray(at + 4, end);
    const isSound = forms.get(kind);
    if (!isSound) throw fault(name, `an extra field is of kind 0x${kind.toString(16)}`);
    if (!isSound(data, side)) throw fault(name, `the extra field of kind 0x${kind.toString(16)} is malformed`);
    fields.set(kind, data);
    at = end;
  }
  return fields;
}

function isExtendedTimestamp(data: Buffer, side: Side): boolean {
  const flags = data[0] ?? 0;
  const times = [1, 2, 4].filter((flag) => (flags & flag) !== 0).length;
  if (data.length === 0 || flags > 7) return false;
  return data.length === 1 + 4 * times || (side === 'central' && data.length === 1 + 4 * (flags & 1));
}

/** Version 1, then user id and group id, each preceded by its length. */
function isOwner(data: Buffer): boolean {
  const userBytes = data[1] ?? 0;
  const groupBytes = data[2 + userBytes] ?? 0;
  return data[0] === 1 && isIdLength(userBytes) && isIdLength(groupBytes) && data.length === 3 + userBytes + groupBytes;
}

const isIdLength = (bytes: number): boolean => bytes === 2 || bytes === 4;

function fault(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('extra-field', detail, name.toString('utf8'));
}

export const stored = 0;
const deflated = 8;
export const flag = { encrypted: 1, descriptor: 8, utf8: 0x800 } as const;
/** Bits that change nothing in how an entry is read: the packer's settings, and the two above. */
const knownFlags = 0b110 | flag.descriptor | flag.utf8;
/** Classic, strong, and the directory's own encryption. */
const encryptionFlags = flag.encrypted | 0x40 | 0x2000;

/** Version 4.5, which 64-bit sizes need. Info-ZIP skips entries that need a newer version. */
const newestVersion = 45;

/** The fields that local and central headers share, from the version needed on. */
interface SharedFields {
  /** Version of the format that a reader needs, times ten. */
  needed: number;
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  nameLength: number;
  extraLength: number;
}

interface LocalSizes {
  bytes: number;
  packed: number;
  /** The header's own fields only refer to them. */
  in64: boolean;
}

export function readShared(header: Buffer, at: number): SharedFields {
  return {
    needed: header.readUInt16LE(at - 2),
    flags: header.readUInt16LE(at),
    method: header.readUInt16LE(at + 2),
    crc: header.readUInt32LE(at + 8),
    packed: header.readUInt32LE(at + 12),
    bytes: header.readUInt32LE(at + 16),
    nameLength: header.readUInt16LE(at + 20),
    extraLength: header.readUInt16LE(at + 22),
  };
}

/** Refuses what only some readers understand: encryption, other methods, unknown flags. Throws `ArchiveFault`. */
export function requireReadable({ needed, flags, method }: SharedFields, name: string): void {
  if (needed > newestVersion) {
    throw new ArchiveFault('zip-version', `the entry needs version ${needed / 10} of the format`, name);
  }
  if (flags & encryptionFlags) throw new ArchiveFault('encrypted', 'encrypted entries are refused', name);
  if (flags & ~knownFlags) throw new ArchiveFault('zip-flags', 'the entry has flags of unknown meaning', name);
  if (method !== stored && method !== deflated) {
    throw new ArchiveFault('compression-method', `compression method ${method} is not supported`, name);
  }
}

/** Refuses names that readers understand in different ways. Throws `ArchiveFault`. */
export function requireOneName(raw: Buffer, flags: number, extra: ExtraFields): string {
  const name = raw.toString('utf8');
  if ((flags & flag.utf8) === 0 && raw.some((byte) => byte > 0x7f)) {
    throw new ArchiveFault(
      'ambiguous-name',
      'the name is not ASCII and not marked as UTF-8, so that programs read it in different ways: pack a tar',
      name,
    );
  }
  const second = extra.get(extraKind.unicodePath);
  // For a name that is not marked, even an equal one makes Info-ZIP take data descriptors in the archive for overlaps.
  if (second && !((flags & flag.utf8) !== 0 && repeats(second, raw))) {
    throw new ArchiveFault('ambiguous-name', 'the entry has a second name', name);
  }
  return name;
}

/** Whether a Unicode Path of version 1 is for this name, and equal to it. */
function repeats(unicodePath: Buffer, name: Buffer): boolean {
  if (unicodePath.length < 5 || unicodePath.readUInt8(0) !== 1) return false;
  return unicodePath.readUInt32LE(1) === crc32(name) && unicodePath.subarray(5).equals(name);
}

/**
 * Puts the 64-bit values in the place of those of the directory that refer to them, whether they need 64 bits or not. The
 * field must hold exactly those, in the order of the format. Throws `ArchiveFault`.
 */
function widen(values: readonly number[], extra: ExtraFields, name: Buffer): number[] {
  const field = extra.get(extraKind.zip64);
  const referring = values.filter((value) => value === in32Bits).length;
  if ((field?.length ?? 0) !== referring * 8)
    throw not64(name, 'the 64-bit sizes are missing or more than are asked for');
  let at = 0;
  return values.map((value) => {
    if (value !== in32Bits || field === undefined) return value;
    at += 8;
    return toSafeNumber(field.readBigUInt64LE(at - 8), name);
  });
}

/** A 64-bit field of a local header holds both sizes, and stands for both or repeats them. Throws `ArchiveFault`. */
export function localSizes({ bytes, packed }: SharedFields, extra: ExtraFields, name: Buffer): LocalSizes {
  const field = extra.get(extraKind.zip64);
  const referring = [bytes, packed].filter((size) => size === in32Bits).length;
  if (field === undefined && referring === 0) return { bytes, packed, in64: false };
  if (field?.length !== 16 || referring === 1) throw not64(name, 'a 64-bit size is missing or not asked for');
  const [wideBytes, widePacked] = [0, 8].map((at) => toSafeNumber(field.readBigUInt64LE(at), name));
  if (wideBytes === undefined || widePacked === undefined) throw new RangeError('two sizes were read');
  if (referring === 0 && (wideBytes !== bytes || widePacked !== packed)) {
    throw not64(name, 'the 64-bit sizes and the 32-bit ones do not say the same');
  }
  return { bytes: wideBytes, packed: widePacked, in64: referring === 2 };
}

/** As a number; sizes that are no safe integer are lies. Throws `ArchiveFault`. */
function toSafeNumber(value: bigint, name: Buffer): number {
  if (value <= Number.MAX_SAFE_INTEGER) return Number(value);
  throw not64(name, 'a 64-bit size is beyond anything that can be');
}

function not64(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('zip64', detail, name.toString('utf8'));
}

export const centralHeaderBytes = 46;
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
  offset: number;
  wide: boolean;
  /** Whether a size is in 64 bits, needed or not. */
  in64: boolean;
}

/**
 * The entries of the central directory in order; it must hold as many as it counts. The window stands at the first one,
 * and ends where the directory does. Throws `ArchiveFault` and system errors.
 */
export async function* centralEntries(
  window: ByteWindow,
  { entries, hidden }: Pick<ZipDirectory, 'entries' | 'hidden'>,
): AsyncGenerator<CentralEntry, null> {
  const take = async (bytes: number) => {
    if (window.buffered >= bytes || (await window.fill(bytes))) return window.take(bytes);
    throw new ArchiveFault('zip-directory', 'the central directory is shorter than the entries it counts');
  };
  for (let left = entries; left > 0; left -= 1) {
    const header = await take(centralHeaderBytes);
    if (header.readUInt32LE(0) !== signature) {
      throw new ArchiveFault('zip-directory', 'the central directory is damaged');
    }
    const fields = readShared(header, 8);
    const { nameLength, extraLength } = fields;
    const rest = await take(nameLength + extraLength + header.readUInt16LE(32));
    const rawName = Buffer.from(rest.subarray(0, nameLength));
    const extra = parseExtra(rest.subarray(nameLength, nameLength + extraLength), 'central', rawName);
    const name = requireOneName(rawName, fields.flags, extra);
    if (header.readUInt16LE(34) !== 0) throw new ArchiveFault('multi-disk', 'the entry lies in another part', name);
    requireReadable(fields, name);
    const [bytes = 0, packed = 0, offset = 0] = widen(
      [fields.bytes, fields.packed, header.readUInt32LE(42)],
      extra,
      rawName,
    );
    const wide = bytes >= in32Bits || packed >= in32Bits;
    const in64 = fields.bytes === in32Bits || fields.packed === in32Bits;
    if (header.readUInt32LE(42) === in32Bits && !hidden) {
      throw new ArchiveFault('zip64', 'its place is in 64 bits, which BusyBox skips where the end has 32', name);
    }
    const system = header.readUInt8(5);
    // Other systems give attributes another meaning, and some readers convert their names.
    if (!knownSystems.has(system)) {
      throw new ArchiveFault('zip-system', `the entry was made on an unusual system (${system})`, name);
    }
    requireSameName(system, extraLength, rawName);
    requireText(rest.subarray(nameLength + extraLength), name);
    const attributes = header.readUInt32LE(38);
    const mode = modeOf(attributes, system);
    yield { fields, rawName, name, kind: kindOf(attributes, name), mode, packed, bytes, offset, wide, in64 };
  }
  if (!(await window.fill(1))) return null;
  throw new ArchiveFault('zip-directory', 'the central directory holds more than the entries it counts');
}

/** Info-ZIP heeds the UTF-8 flag only for entries made on Unix or with an extra field; it converts other names. */
function requireSameName(system: number, extraLength: number, rawName: Buffer): void {
  if (extraLength > 0 || unixSystems.has(system) || rawName.every((byte) => byte <= 0x7f)) return;
  const detail =
    'the name is not ASCII, and Info-ZIP changes such names of entries made on DOS or Windows without an extra field: pack a tar';
  throw new ArchiveFault('ambiguous-name', detail, rawName.toString('utf8'));
}

/** Java refuses an archive with a comment that it cannot decode, or with a header of 64 KiB. */
function requireText(comment: Buffer, name: string): void {
  if (comment.length > maxCommentBytes) {
    throw new ArchiveFault('meta-too-long', `the comment of the entry is longer than ${maxCommentBytes} bytes`, name);
  }
  if (isUtf8(comment)) return;
  throw new ArchiveFault('not-utf8', 'the comment of the entry is not well-formed UTF-8', name);
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
    throw new ArchiveFault('ambiguous-type', 'its attributes mark it as a disk label, which some readers skip', name);
  }
  if ((attributes & 0xffff & ~knownAttributes) !== 0) {
    throw new ArchiveFault('ambiguous-type', 'its attributes have a meaning that only some readers know', name);
  }
  const isDirectory = name.endsWith('/');
  // 7-Zip, Go and bsdtar obey the attribute of DOS even where the mode says that it is a file.
  const claims = type === unixDirectory || (attributes & dosDirectory) !== 0;
  if (isDirectory ? type === unixFile : claims) {
    throw new ArchiveFault('ambiguous-type', 'a folder by its attributes and a file by its name, or vice versa', name);
  }
  return isDirectory ? 'directory' : 'file';
}
