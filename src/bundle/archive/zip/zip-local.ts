import { ArchiveFault } from '../archive-fault.ts';
import type { ByteWindow } from '../byte-window.ts';
import type { CentralEntry } from './zip-central.ts';
import { parseExtra } from './zip-extra.ts';
import { flag, localSizes, readShared, requireOneName, requireReadable, stored } from './zip-fields.ts';

export const headerBytes = 30;
const headerSignature = 0x04034b50;
const descriptorSignature = 0x08074b50;
/** A checksum and two sizes of 64 bits. */
const shortestIn64 = 20;

/** What only the local header says. */
export interface LocalHeader {
  /** A data descriptor follows the content. */
  late: boolean;
  /** Its sizes are in 64 bits, needed or not. */
  in64: boolean;
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
  return { late, in64 };
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
  if (entry.fields.method === stored) {
    // A streaming reader cannot find its end: Java refuses it, others search for a signature.
    throw new ArchiveFault('data-descriptor', entry.name, 'the entry is not compressed and has a data descriptor');
  }
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

/** Whether a 64-bit descriptor has room between the content and `end`, in an entry that is not read. */
export function hasDescriptorIn64(header: Buffer, { offset, packed }: CentralEntry, end: number): boolean {
  const { flags, nameLength, extraLength } = readShared(header, 6);
  if ((flags & flag.descriptor) === 0) return false;
  return end - offset - headerBytes - nameLength - extraLength - packed >= shortestIn64;
}

/** With and without a signature, sizes of `width` bytes; a descriptor without a signature must not look signed. */
function descriptors({ fields, packed, bytes }: CentralEntry, width: number): Buffer[] {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(descriptorSignature);
  const body = Buffer.alloc(4 + 2 * width);
  body.writeUInt32LE(fields.crc, 0);
  if (width === 8) {
    body.writeBigUInt64LE(BigInt(packed), 4);
    body.writeBigUInt64LE(BigInt(bytes), 12);
  } else {
    body.writeUInt32LE(packed, 4);
    body.writeUInt32LE(bytes, 8);
  }
  const signed = Buffer.concat([signature, body]);
  return fields.crc === descriptorSignature ? [signed] : [signed, body];
}

async function take(window: ByteWindow, bytes: number, entry: CentralEntry): Promise<Buffer> {
  if (window.buffered >= bytes || (await window.fill(bytes))) return window.take(bytes);
  throw new ArchiveFault('overlap', entry.name, 'the entry reaches into the central directory');
}

function disagreeing({ name }: CentralEntry, what: string): ArchiveFault {
  return new ArchiveFault('headers-disagree', name, `${what} differ between the entry and the directory`);
}
