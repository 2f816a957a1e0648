import { ArchiveFault } from '../archive-fault.ts';
import type { EntryKind } from '../archive-reader.ts';

export const blockBytes = 512;

const nameField = [0, 100] as const;
const modeField = [100, 108] as const;
const sizeField = [124, 136] as const;
const checksumField = [148, 156] as const;
const typeField = 156;
const linkField = [157, 257] as const;
const magicField = [257, 265] as const;
/** Readers stop at owners that are no number. */
const ownerNumbers = { 'user id': [108, 116], 'group id': [116, 124] } as const;
const timeField = [136, 148] as const;
/** Numbers of devices; most writers leave them empty. */
const deviceNumbers = { 'major device number': [329, 337], 'minor device number': [337, 345] } as const;
const userNameField = [265, 297] as const;
const groupNameField = [297, 329] as const;
const prefixField = [345, 500] as const;
const unused = [500, 512] as const;

const ustar = 'ustar\x0000';
const gnu = 'ustar  \0';
/** Larger sizes have more digits than the field. */
export const mostInOctal = 0o77777777777;
/** setuid, setgid and sticky. */
const specialBits = 0o7000;
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
  /** Type flag, one character. */
  type: string;
  kind: EntryKind;
  hasSpecialMode: boolean;
}

/** Reads a header block of a ustar or GNU tar; no field may be readable in two ways. Throws `ArchiveFault`. */
export function parseTarHeader(block: Buffer): TarHeader {
  if (parseOctal(block.subarray(...checksumField)) !== checksum(block)) {
    throw new ArchiveFault('corrupt', null, 'the checksum of a tar header does not match');
  }
  const name = nameOf(block);
  const type = block.toString('latin1', typeField, typeField + 1);
  if (!isZero(block.subarray(...unused))) throw headerFault(name, 'the unused end of the header is not zero');
  const bytes = numberOf(block, sizeField, name, 'size');
  const mode = numberOf(block, modeField, name, 'mode');
  for (const [what, field] of Object.entries(ownerNumbers)) numberOf(block, field, name, what);
  // Octal reaches to the year 2242; npm cannot set times far beyond.
  if (parseOctal(block.subarray(...timeField)) === null) throw headerFault(name, 'the time is not an octal number');
  for (const [what, field] of Object.entries(deviceNumbers)) {
    if (!isZero(block.subarray(...field))) numberOf(block, field, name, what);
  }
  textOf(block, ...userNameField);
  textOf(block, ...groupNameField);
  return {
    name,
    bytes,
    type,
    kind: kindOf(type, name, textOf(block, ...linkField)),
    hasSpecialMode: (mode & specialBits) !== 0,
  };
}

/** BusyBox makes a hard link of any file that names the target of one, and npm refuses other headers that do. */
function kindOf(type: string, name: Buffer, linkTarget: Buffer): EntryKind {
  const kind = kinds[type] ?? 'other';
  if (linkTarget.length === 0 || kind === 'symbolic-link') return kind;
  if (kind === 'other') throw headerFault(name, 'the header of something else than a link names a target');
  return 'hard-link';
}

/** True for no bytes, too. Equal to itself one byte further on is what consists of one value only. */
export function isZero(bytes: Buffer): boolean {
  if (bytes.length < 2) return bytes.length === 0 || bytes[0] === 0;
  return bytes[0] === 0 && bytes.compare(bytes, 1, bytes.length, 0, bytes.length - 1) === 0;
}

function nameOf(block: Buffer): Buffer {
  const name = textOf(block, ...nameField);
  const magic = block.toString('latin1', ...magicField);
  if (magic === gnu) {
    // What is a prefix in ustar holds times and sparse maps here: readers that mix the two up see other names.
    if (isZero(block.subarray(...prefixField))) return name;
    throw headerFault(name, 'a GNU header uses the bytes that other readers take for the beginning of the name');
  }
  if (magic !== ustar) {
    throw new ArchiveFault('tar-dialect', printable(name), 'the header is neither of a ustar nor of a GNU tar');
  }
  const prefix = textOf(block, ...prefixField);
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]);
}

/** Up to the first NUL; after it there must be nothing that another reader could see. */
function textOf(block: Buffer, start: number, end: number): Buffer {
  const field = block.subarray(start, end);
  const nul = field.indexOf(0);
  if (nul < 0) return Buffer.from(field);
  const text = Buffer.from(field.subarray(0, nul));
  if (isZero(field.subarray(nul))) return text;
  throw headerFault(text, 'there are bytes after the end of the name');
}

/** In octal, or in base 256 where octal has too few digits. */
function numberOf(block: Buffer, [start, end]: readonly [number, number], name: Buffer, what: string): number {
  const field = block.subarray(start, end);
  const number = field[0] === base256 ? parseBase256(field) : parseOctal(field);
  if (number === null) throw headerFault(name, `the ${what} is not a number in the form that the format wants`);
  return number;
}

function parseBase256(field: Buffer): number | null {
  const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
  return value >= 8 ** (field.length - 1) && value <= Number.MAX_SAFE_INTEGER ? value : null;
}

/** Octal digits, led by spaces or zeros, ended by NULs, spaces or the field; null for anything else. */
function parseOctal(field: Buffer): number | null {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(field.toString('latin1')) ?? [];
  return digits === undefined ? null : Number.parseInt(digits, 8);
}

function checksum(block: Buffer): number {
  let sum = 0;
  for (let at = 0; at < blockBytes; at += 1) sum += block[at] ?? 0;
  for (let at = checksumField[0]; at < checksumField[1]; at += 1) sum += space - (block[at] ?? 0);
  return sum;
}

function headerFault(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('header-field', printable(name), detail);
}

function printable(name: Buffer): string {
  return name.toString('utf8');
}
