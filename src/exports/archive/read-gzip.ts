import { crc32 } from 'node:zlib';
import { ArchiveFault } from './archive-fault.ts';
import type { ByteFile } from './byte-file.ts';
import { ByteWindow } from './byte-window.ts';
import { inflateWindow } from './inflate-window.ts';

const fixedBytes = 10;
const trailerBytes = 8;
const deflate = 8;
const flag = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const;
/** Longest name, comment or extra field in the header. Go's limit; BusyBox stops at extra fields from 16 KiB on. */
const maxPartBytes = 511;

/**
 * The content of a gzip file (RFC 1952) that consists of one member and nothing else, in pieces; header, CRC-32 and
 * length are checked. Throws `ArchiveFault` and system errors.
 */
export async function* readGzip(file: ByteFile, onRaw?: (bytes: Uint8Array) => void): AsyncGenerator<Buffer> {
  const window = new ByteWindow(file, { start: 0, end: file.size }, onRaw);
  await skipHeader(window);
  let crc = 0;
  let bytes = 0;
  for await (const chunk of inflateWindow(window, Number.POSITIVE_INFINITY, null)) {
    crc = crc32(chunk, crc);
    bytes += chunk.length;
    yield chunk;
  }
  const trailer = await need(window, trailerBytes);
  if (trailer.readUInt32LE(0) !== crc) {
    throw new ArchiveFault('corrupt', null, 'the checksum of the gzip data does not match');
  }
  if (trailer.readUInt32LE(4) !== bytes % 2 ** 32) {
    throw new ArchiveFault('size-mismatch', null, 'the gzip data is not as long as its end says');
  }
  await requireEnd(window);
}

async function skipHeader(window: ByteWindow): Promise<void> {
  const fixed = await need(window, fixedBytes);
  let crc = crc32(fixed);
  const flags = fixed.readUInt8(3);
  if (fixed.readUInt8(2) !== deflate || (flags & flag.reserved) !== 0) {
    throw new ArchiveFault('gzip-header', null, 'the gzip header has an unknown method or unknown flags');
  }
  if (flags & flag.extra) {
    const length = await need(window, 2);
    crc = crc32(length, crc);
    if (length.readUInt16LE(0) > maxPartBytes) throw tooLong();
    crc = crc32(await need(window, length.readUInt16LE(0)), crc);
  }
  if (flags & flag.name) crc = await skipText(window, crc);
  if (flags & flag.comment) crc = await skipText(window, crc);
  if (flags & flag.headerCrc && (await need(window, 2)).readUInt16LE(0) !== (crc & 0xffff)) {
    throw new ArchiveFault('corrupt', null, 'the checksum of the gzip header does not match');
  }
}

/** Skips a text and the NUL that ends it; returns the running checksum. */
async function skipText(window: ByteWindow, before: number): Promise<number> {
  let crc = before;
  for (let length = 0; length <= maxPartBytes; length += 1) {
    const byte = await need(window, 1);
    crc = crc32(byte, crc);
    if (byte[0] === 0) return crc;
  }
  throw tooLong();
}

function tooLong(): ArchiveFault {
  return new ArchiveFault('gzip-header', null, `a part of the gzip header is longer than ${maxPartBytes} bytes`);
}

async function need(window: ByteWindow, bytes: number): Promise<Buffer> {
  if (await window.fill(bytes)) return window.take(bytes);
  throw new ArchiveFault('truncated', null, 'the gzip data ends in the middle');
}

async function requireEnd(window: ByteWindow): Promise<void> {
  if (await window.fill(2)) {
    const next = window.take(2);
    if (next[0] === 0x1f && next[1] === 0x8b) {
      throw new ArchiveFault('gzip-members', null, 'the file holds several gzip members');
    }
  } else if (!(await window.fill(1))) {
    return;
  }
  throw new ArchiveFault('trailing-data', null, 'there are bytes after the end of the gzip data');
}
