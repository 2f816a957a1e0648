import { ArchiveFault } from '../archive-fault.ts';
import type { ByteWindow } from '../byte-window.ts';
import type { CentralEntry } from './zip-central.ts';
import { parseExtra } from './zip-extra.ts';
import { flag, readShared, requireNeeded64, requireOneName, requireReadable, stored, widen } from './zip-fields.ts';

const headerBytes = 30;
const headerSignature = 0x04034b50;
const descriptorSignature = 0x08074b50;

/**
 * Reads the local header at the window's position, which must agree with the central directory. Throws `ArchiveFault` and
 * system errors.
 */
export async function readLocalHeader(window: ByteWindow, entry: CentralEntry): Promise<void> {
  const header = await take(window, headerBytes, entry);
  if (header.readUInt32LE(0) !== headerSignature) {
    throw new ArchiveFault('headers-disagree', entry.name, 'there is no header where the directory says');
  }
  const local = readShared(header, 6);
  const rest = await take(window, local.nameLength + local.extraLength, entry);
  const name = rest.subarray(0, local.nameLength);
  const extra = parseExtra(rest.subarray(local.nameLength), 'local', entry.rawName);
  const same = local.flags === entry.fields.flags && local.method === entry.fields.method;
  if (!same || !name.equals(entry.rawName)) throw disagreeing(entry, 'name, flags or method');
  requireOneName(name, local.flags, extra);
  requireReadable(local, entry.name);
  requireNeeded64(extra, entry.wide, entry.name);
  const late = (local.flags & flag.descriptor) !== 0;
  const [bytes, packed] = widen([local.bytes, local.packed], extra, entry.rawName);
  const agrees = (here: number | undefined, there: number) => here === there || (late && here === 0);
  if (!agrees(local.crc, entry.fields.crc) || !agrees(bytes, entry.bytes) || !agrees(packed, entry.packed)) {
    throw disagreeing(entry, 'checksum or sizes');
  }
}

/**
 * Reads the data descriptor, if the entry has one, which must fill the place up to `next` and repeat what the central
 * directory says. Throws `ArchiveFault` and system errors.
 */
export async function readDescriptor(window: ByteWindow, entry: CentralEntry, next: number): Promise<void> {
  if ((entry.fields.flags & flag.descriptor) === 0) return;
  if (entry.fields.method === stored) {
    // A streaming reader cannot find its end: Java refuses it, others search for a signature.
    throw new ArchiveFault('data-descriptor', entry.name, 'the entry is not compressed and has a data descriptor');
  }
  const length = next - window.position;
  const expected = descriptors(entry).find((descriptor) => descriptor.length === length);
  if (!expected || !(await take(window, length, entry)).equals(expected)) {
    throw new ArchiveFault(
      'data-descriptor',
      entry.name,
      'what follows the content does not repeat checksum and sizes',
    );
  }
}

/** With and without a signature; a descriptor without one must not look signed. Sizes have 64 bits only where needed. */
function descriptors({ fields, packed, bytes, wide }: CentralEntry): Buffer[] {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(descriptorSignature);
  const body = Buffer.alloc(wide ? 20 : 12);
  body.writeUInt32LE(fields.crc, 0);
  if (wide) {
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
