import { ArchiveFault } from './archive-fault.ts';
import { type ByteFile, readAt } from './byte-file.ts';

const endBytes = 22;
const endSignature = Buffer.from('PK\x05\x06');
const locatorBytes = 20;
const locatorSignature = 0x07064b50;
const end64Bytes = 56;
const end64Signature = 0x06064b50;
/** The length that the 64-bit record must state: the known fields after the length, and nothing more. */
const end64Length = 44n;
/** bsdtar looks for the end in the last 16 KiB, BusyBox in the last 64 KiB. */
export const maxCommentBytes = 8192;
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
    throw new ArchiveFault('meta-too-long', null, `the comment of the archive is longer than ${maxCommentBytes} bytes`);
  }
  const end = tail.subarray(at, at + endBytes);
  const told = {
    disks: [end.readUInt16LE(4), end.readUInt16LE(6)],
    entriesHere: end.readUInt16LE(8),
    entries: end.readUInt16LE(10),
    bytes: end.readUInt32LE(12),
    start: end.readUInt32LE(16),
  };
  const has64 = at >= locatorBytes && tail.readUInt32LE(at - locatorBytes) === locatorSignature;
  const isWhole = told.disks.every((disk) => disk === 0) || (has64 && told.disks.every((disk) => disk === in16Bits));
  if (!isWhole || told.entriesHere !== told.entries) {
    throw new ArchiveFault('multi-disk', null, 'the archive is a part of several');
  }
  if (!has64 && (told.entries === in16Bits || told.bytes === in32Bits || told.start === in32Bits)) {
    throw new ArchiveFault('zip64', null, 'the end of the archive refers to a 64-bit record that is not there');
  }
  const found = has64 ? await directory64(tail, tailStart, at, told) : told;
  const behind = tailStart + at - (has64 ? locatorBytes + end64Bytes : 0);
  if (found.start + found.bytes !== behind) {
    throw new ArchiveFault('zip-directory', null, 'the central directory does not end where the archive says');
  }
  const hidden = told.start === in32Bits;
  if (hidden) requireNoOtherEnd(tail, tailStart, at);
  return { entries: found.entries, start: found.start, end: behind, hidden };
}

/**
 * Its place in the tail. Only the last signature counts; its comment must reach the end, and no other signature's may.
 */
function lastEnd(tail: Buffer): number {
  const last = tail.lastIndexOf(endSignature);
  if (last < 0 || last + endBytes > tail.length) {
    throw new ArchiveFault('truncated', null, 'the end of the archive is missing');
  }
  const reaches = (at: number) => at + endBytes + tail.readUInt16LE(at + 20);
  if (reaches(last) > tail.length) throw new ArchiveFault('truncated', null, 'the archive ends in its comment');
  if (reaches(last) < tail.length) {
    throw new ArchiveFault('trailing-data', null, 'there are bytes after the end of the archive');
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
  return new ArchiveFault('two-ends', null, 'the archive can be read from two ends');
}

type Told = { entries: number; bytes: number; start: number };

/** The 64-bit record lies right before its locator, and agrees with the 32-bit one where that says something. */
async function directory64(tail: Buffer, tailStart: number, endAt: number, told: Told): Promise<Told> {
  const locator = tail.subarray(endAt - locatorBytes, endAt);
  const at = endAt - locatorBytes - end64Bytes;
  const place = locator.readBigUInt64LE(8);
  if (at < 0 || place !== BigInt(tailStart + at) || tail.readUInt32LE(at) !== end64Signature) {
    throw new ArchiveFault('zip64', null, 'the 64-bit record is not right before its locator');
  }
  const record = tail.subarray(at, at + end64Bytes);
  const disks = [locator.readUInt32LE(4), record.readUInt32LE(16), record.readUInt32LE(20)];
  if (disks.some((disk) => disk !== 0) || locator.readUInt32LE(16) !== 1) {
    throw new ArchiveFault('multi-disk', null, 'the archive is a part of several');
  }
  const [here, entries, bytes, start] = [24, 32, 40, 48].map((offset) => Number(record.readBigUInt64LE(offset)));
  if (record.readBigUInt64LE(4) !== end64Length || entries === undefined || bytes === undefined) throw disagreeing();
  if (start === undefined || here !== entries || !Number.isSafeInteger(bytes + start)) throw disagreeing();
  const agrees = (small: number, large: number, most: number) => small === large || small === most;
  if (!agrees(told.entries, entries, in16Bits) || !agrees(told.bytes, bytes, in32Bits)) throw disagreeing();
  if (!agrees(told.start, start, in32Bits)) throw disagreeing();
  return { entries, bytes, start };
}

function disagreeing(): ArchiveFault {
  return new ArchiveFault('zip64', null, 'the 64-bit record and the 32-bit one do not say the same');
}
