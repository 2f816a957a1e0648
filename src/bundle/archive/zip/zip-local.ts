import { ArchiveFault } from '../archive-fault.ts';
import type { ByteWindow } from '../byte-window.ts';
import type { CentralEntry } from './zip-central.ts';
import { in32Bits } from './zip-end.ts';
import { parseExtra } from './zip-extra.ts';
import { flag, localSizes, readShared, requireOneName, requireReadable, stored } from './zip-fields.ts';

export const headerBytes = 30;
const headerSignature = 0x04034b50;
export const descriptorSignature = Buffer.from('PK\x07\x08');
/** A checksum and two sizes of 64 bits. */
const shortestIn64 = 20;

/** What only the local header says. */
export interface LocalHeader {
  /** A data descriptor follows the content. */
  late: boolean;
  /** The directory does not say so. */
  lateHereOnly: boolean;
  /** Its sizes are in 64 bits, needed or not. */
  in64: boolean;
}

/** How an entry says where its content ends. */
export interface Ending extends LocalHeader {
  /** The sizes of its data descriptor are in 64 bits. */
  descriptorIn64: boolean;
}

/**
 * Reads the local header at the window's position, which must agree with the central directory. Throws `ArchiveFault` and
 * system errors.
 */
export async function readLocalHeader(window: ByteWindow, entry: CentralEntry): Promise<LocalHeader> {
  const header = await take(window, headerBytes, entry);
  if (header.readUInt32LE(0) !== headerSignature) {
    throw new ArchiveFault('headers-disagree', entry.name, 'there is no header where the directory says');
  }
  const local = readShared(header, 6);
  const rest = await take(window, local.nameLength + local.extraLength, entry);
  const name = rest.subarray(0, local.nameLength);
  const extra = parseExtra(rest.subarray(local.nameLength), 'local', entry.rawName);
  const late = (local.flags & flag.descriptor) !== 0;
  // Readers of the directory need no descriptor: some writers mark it in the local header only.
  const flags = late ? entry.fields.flags | flag.descriptor : entry.fields.flags;
  const same = local.flags === flags && local.method === entry.fields.method;
  if (!same || !name.equals(entry.rawName)) throw disagreeing(entry, 'name, flags or method');
  requireOneName(name, local.flags, extra);
  requireReadable(local, entry.name);
  const { bytes, packed, in64 } = localSizes(local, extra, entry.rawName);
  const agrees = (here: number, there: number) => here === there || (late && here === 0);
  if (!agrees(local.crc, entry.fields.crc) || !agrees(bytes, entry.bytes) || !agrees(packed, entry.packed)) {
    throw disagreeing(entry, 'checksum or sizes');
  }
  return { late, lateHereOnly: flags !== entry.fields.flags, in64 };
}

/**
 * Reads the data descriptor, if the entry has one, which must fill the place up to `next` and repeat what the central
 * directory says. Returns whether its sizes are in 64 bits. Throws `ArchiveFault` and system errors.
 */
export async function readDescriptor(
  window: ByteWindow,
  { entry, local, next }: { entry: CentralEntry; local: LocalHeader; next: number },
): Promise<boolean> {
  if (!local.late) return false;
  const length = next - window.position;
  const widths = local.in64 || entry.wide ? [8] : entry.in64 ? [4, 8] : [4];
  const expected = widths
    .flatMap((width) => descriptors(entry, width))
    .find((descriptor) => descriptor.length === length);
  if (!expected || !(await take(window, length, entry)).equals(expected)) {
    throw new ArchiveFault(
      'data-descriptor',
      entry.name,
      'what follows the content does not repeat checksum and sizes',
    );
  }
  return length >= shortestIn64;
}

/** How an entry ends that is not read: by its local header, and the room between its content and `end`. */
export function localEnding(header: Buffer, { fields, offset, packed }: CentralEntry, end: number): Ending {
  const { flags, nameLength, extraLength, bytes } = readShared(header, 6);
  const room = end - offset - headerBytes - nameLength - extraLength - packed;
  return {
    late: (flags & flag.descriptor) !== 0,
    lateHereOnly: flags !== fields.flags,
    in64: bytes === in32Bits,
    descriptorIn64: room >= shortestIn64,
  };
}

/**
 * With and without a signature, sizes of `width` bytes. Content that is not compressed ends at a signature only, and a
 * descriptor without one must not look signed.
 */
function descriptors({ fields, packed, bytes }: CentralEntry, width: number): Buffer[] {
  const body = Buffer.alloc(4 + 2 * width);
  body.writeUInt32LE(fields.crc, 0);
  if (width === 8) {
    body.writeBigUInt64LE(BigInt(packed), 4);
    body.writeBigUInt64LE(BigInt(bytes), 12);
  } else {
    body.writeUInt32LE(packed, 4);
    body.writeUInt32LE(bytes, 8);
  }
  const signed = Buffer.concat([descriptorSignature, body]);
  const looksSigned = body.subarray(0, descriptorSignature.length).equals(descriptorSignature);
  return looksSigned || fields.method === stored ? [signed] : [signed, body];
}

async function take(window: ByteWindow, bytes: number, entry: CentralEntry): Promise<Buffer> {
  if (window.buffered >= bytes || (await window.fill(bytes))) return window.take(bytes);
  throw new ArchiveFault('overlap', entry.name, 'the entry reaches into the central directory');
}

function disagreeing({ name }: CentralEntry, what: string): ArchiveFault {
  return new ArchiveFault('headers-disagree', name, `${what} differ between the entry and the directory`);
}
