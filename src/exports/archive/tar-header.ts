import type { EntryKind } from './archive-reader.ts';
import { ArchiveFault } from './archive-reader.ts';

export const blockBytes = 512;

const nameField = [0, 100] as const;
const modeField = [100, 108] as const;
const sizeField = [124, 136] as const;
const checksumField = [148, 156] as const;
const typeField = 156;
const linkField = [157, 257] as const;
const magicField = [257, 265] as const;
/** Readers stop at an owner that is not a number of 32 bits. npm can leave owners and times empty. */
const ownerNumbers = { 'user id': [108, 116], 'group id': [116, 124] } as const;
/** npm fails on times far beyond what octal holds; 7-Zip skips a header whose device numbers are in base 256. */
const octalNumbers = {
  time: [136, 148],
  'major device number': [329, 337],
  'minor device number': [337, 345],
} as const;
const userNameField = [265, 297] as const;
const groupNameField = [297, 329] as const;
const prefixField = [345, 500] as const;
/** Where a prefix ends at the latest if npm keeps two times behind it. */
const shortPrefixEnd = 476;
const prefixTimes = [
  [476, 488],
  [488, 500],
] as const;
const unused = [500, 512] as const;

const ustar = 'ustar\x0000';
const gnu = 'ustar  \0';
/** One less than what stands for no owner. */
export const maxOwner = 0xfffffffe;
/** The largest size that fits in the field in octal. */
export const mostInOctal = 0o77777777777;
const modeBits = 0o7777;
/** What some writers put above the mode. Go believes it rather than the type flag. */
const typeInMode: Partial<Record<EntryKind, number>> = { file: 0o100000, directory: 0o040000 };
const maxMode = 0o177777;
const space = 0x20;
const base256 = 0x80;

const kinds: Partial<Record<string, EntryKind>> = {
  '0': 'file',
  '\0': 'file',
  '1': 'hard-link',
  '2': 'symbolic-link',
  '3': 'device',
  '4': 'device',
  '5': 'directory',
  '6': 'device',
};

export interface TarHeader {
  /** The name, prefix included, as bytes. */
  name: Buffer;
  bytes: number;
  type: string;
  kind: EntryKind;
  mode: number;
}

/** Reads a ustar or GNU tar header block. Every field must have exactly one reading. Throws `ArchiveFault`. */
export function parseTarHeader(block: Buffer): TarHeader {
  const stated = block.subarray(...checksumField);
  // Without an end, npm reads on into the type flag.
  if (parseOctal(stated) !== checksum(block) || !isEnd(stated.at(-1))) {
    throw new ArchiveFault('corrupt', 'the checksum of a tar header does not match, or does not end');
  }
  const name = nameOf(block);
  const type = block.toString('latin1', typeField, typeField + 1);
  if (!isZero(block.subarray(...unused))) throw headerFault(name, 'the unused end of the header is not zero');
  const bytes = numberOf(block, sizeField, name, 'size');
  for (const [what, field] of Object.entries(ownerNumbers)) {
    if (isZero(block.subarray(...field))) continue;
    if (numberOf(block, field, name, what) > maxOwner) throw headerFault(name, `the ${what} is too large`);
  }
  for (const [what, field] of Object.entries(octalNumbers)) {
    if (!isEmptyOrOctal(block.subarray(...field))) throw headerFault(name, `the ${what} is not an octal number`);
  }
  textOf(block, ...userNameField);
  textOf(block, ...groupNameField);
  const kind = kindOf(type, name, textOf(block, ...linkField));
  return { name, bytes, type, kind, mode: modeOf(block, name, kind) };
}

/** Octal only: 7-Zip and Python stop at base 256. */
function modeOf(block: Buffer, name: Buffer, kind: EntryKind): number {
  const mode = parseOctal(block.subarray(...modeField));
  if (mode === null || mode > maxMode) throw headerFault(name, 'the mode is not an octal number of 16 bits');
  const type = mode & ~modeBits;
  if (type !== 0 && type !== (typeInMode[kind] ?? type)) {
    throw new ArchiveFault('ambiguous-type', 'the mode names another type of file than the header', name.toString());
  }
  return mode & modeBits;
}

/** BusyBox turns any file with a link target into a hard link; npm refuses link targets in other headers. */
function kindOf(type: string, name: Buffer, linkTarget: Buffer): EntryKind {
  const kind = kinds[type] ?? 'other';
  if (linkTarget.length === 0 || kind === 'symbolic-link') return kind;
  if (kind === 'other') throw headerFault(name, 'a header names a link target but is not a link');
  return 'hard-link';
}

/** Also true for no bytes. Bytes that equal themselves shifted by one all have the same value. */
export function isZero(bytes: Buffer): boolean {
  if (bytes.length < 2) return bytes.length === 0 || bytes[0] === 0;
  return bytes[0] === 0 && bytes.compare(bytes, 1, bytes.length, 0, bytes.length - 1) === 0;
}

function nameOf(block: Buffer): Buffer {
  const name = textOf(block, ...nameField);
  const magic = block.toString('latin1', ...magicField);
  if (magic === gnu) {
    // GNU tar keeps times and sparse maps where ustar has the prefix: readers that confuse the two see other names.
    if (isZero(block.subarray(...prefixField))) return name;
    throw headerFault(name, 'a GNU header uses the bytes that other readers take for the start of the name');
  }
  if (magic !== ustar) {
    throw new ArchiveFault('tar-dialect', 'the header is neither of a ustar nor of a GNU tar', name.toString());
  }
  const hasTimes =
    block[shortPrefixEnd - 1] === 0 && prefixTimes.every((field) => isEmptyOrOctal(block.subarray(...field)));
  const prefix = hasTimes ? textOf(block, prefixField[0], shortPrefixEnd) : textOf(block, ...prefixField);
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]);
}

/** The text up to the first NUL. Everything after it must be zero, or another reader could see it. */
function textOf(block: Buffer, start: number, end: number): Buffer {
  const field = block.subarray(start, end);
  const nul = field.indexOf(0);
  if (nul < 0) return Buffer.from(field);
  const text = Buffer.from(field.subarray(0, nul));
  if (isZero(field.subarray(nul))) return text;
  throw headerFault(text, 'there are bytes after the end of a text field');
}

/** Octal, or base 256 where the number does not fit in octal. */
function numberOf(block: Buffer, [start, end]: readonly [number, number], name: Buffer, what: string): number {
  const field = block.subarray(start, end);
  const number = field[0] === base256 ? parseBase256(field) : parseOctal(field);
  if (number === null) throw headerFault(name, `the ${what} is not a valid number`);
  return number;
}

function parseBase256(field: Buffer): number | null {
  const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
  return value >= 8 ** (field.length - 1) && value <= Number.MAX_SAFE_INTEGER ? value : null;
}

/** Octal digits, padded with spaces or zeros in front and NULs or spaces behind; null for anything else. */
function parseOctal(field: Buffer): number | null {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(field.toString('latin1')) ?? [];
  return digits === undefined ? null : Number.parseInt(digits, 8);
}

/**
 * Whether some reader takes the first bytes of a file for the header of a tar: GNU tar and bsdtar look at nothing but the
 * checksum, also that of signed bytes. bsdtar takes an empty field for zero, GNU tar ends the number at any other character.
 */
export function passesForTar(block: Buffer): boolean {
  if (block.length < blockBytes) return false;
  const stated = block
    .toString('latin1', ...checksumField)
    .replaceAll('\0', ' ')
    .trim();
  const digits = /^[0-7]*/.exec(stated)?.[0] ?? '';
  // One digit before something else is chance.
  if (digits.length < 2 && digits !== stated) return false;
  const sum = Number.parseInt(`0${digits}`, 8);
  return sum === checksum(block) || sum === checksum(Int8Array.from(block));
}

function isEmptyOrOctal(field: Buffer): boolean {
  return isZero(field) || parseOctal(field) !== null;
}

/** What bsdtar takes a file for by its first bytes, whatever follows; also when gzip has packed it. */
const compressions: readonly (readonly [string, RegExp])[] = [
  ['zstd', /^\x28\xb5\x2f\xfd/],
  ['bzip2', /^BZh[1-9](?:1AY&SY|.rE8P\x90)/],
  ['xz', /^\xfd7zXZ/],
];

/** The compression whose mark stands at the beginning; null where none does. */
export function compressionOf(head: Buffer): string | null {
  const text = head.toString('latin1', 0, 10);
  return compressions.find(([, mark]) => mark.test(text))?.[0] ?? null;
}

function isEnd(byte: number | undefined): boolean {
  return byte === 0 || byte === space;
}

function checksum(block: Uint8Array | Int8Array): number {
  let sum = 0;
  for (let at = 0; at < blockBytes; at += 1) sum += block[at] ?? 0;
  for (let at = checksumField[0]; at < checksumField[1]; at += 1) sum += space - (block[at] ?? 0);
  return sum;
}

function headerFault(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('header-field', detail, name.toString());
}
