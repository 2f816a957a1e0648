import { crc32, inflateRawSync } from 'node:zlib';
import { ArchiveFault, type ByteFile, type ContentSink, type ReadOptions, readAt } from './archive-reader.ts';
import { ByteWindow, inflateFault, inflateWindow } from './byte-window.ts';
import {
  type CentralEntry,
  centralEntries,
  centralHeaderBytes,
  findDirectory,
  flag,
  in32Bits,
  localSizes,
  parseExtra,
  readShared,
  requireOneName,
  requireReadable,
  stored,
  type ZipDirectory,
} from './zip-records.ts';

const headerBytes = 30;
const headerSignature = 0x04034b50;
const descriptorSignature = Buffer.from('PK\x07\x08');
/** A checksum and two sizes of 64 bits. */
const shortestIn64 = 20;

/** What only the local header says. */
interface LocalHeader {
  late: boolean;
  /** The directory does not say so. */
  lateHereOnly: boolean;
  /** Its sizes are in 64 bits, needed or not. */
  in64: boolean;
}

/** How an entry says where its content ends. */
interface Ending extends LocalHeader {
  /** The sizes of its data descriptor are in 64 bits. */
  descriptorIn64: boolean;
}

/** Reads the local header, which must agree with the central directory. Throws `ArchiveFault`, system errors. */
export async function readLocalHeader(window: ByteWindow, entry: CentralEntry): Promise<LocalHeader> {
  const header = await take(window, headerBytes, entry);
  if (header.readUInt32LE(0) !== headerSignature) {
    throw new ArchiveFault('headers-disagree', 'there is no header where the directory says', entry.name);
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
      'what follows the content does not repeat checksum and sizes',
      entry.name,
    );
  }
  return length >= shortestIn64;
}

/** How an entry ends that is not read: by its local header, and the room between its content and `end`. */
function localEnding(header: Buffer, { fields, offset, packed }: CentralEntry, end: number): Ending {
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
  throw new ArchiveFault('overlap', 'the entry reaches into the central directory', entry.name);
}

function disagreeing({ name }: CentralEntry, what: string): ArchiveFault {
  return new ArchiveFault('headers-disagree', `${what} differ between the entry and the directory`, name);
}

/** Up to here an entry is read and inflated in one go, which costs a fifth of a stream. */
const mostAtOnce = 2 * 1024 ** 2;
const pieceBytes = 256 * 1024;
const directoryWindowBytes = 256 * 1024;

/**
 * Reads a zip (an `ArchiveReader`) front to back, its central directory beside it: entry by entry the two must agree,
 * without a gap and without an overlap, so that readers of either kind see the same. Readers that only stop with an error
 * are told to `onStop`.
 */
export async function readZip(file: ByteFile, options: ReadOptions): Promise<void> {
  const directory = await findDirectory(file);
  const nextEntry = entriesOf(file, directory);
  const { part = { start: 0, end: directory.start }, onStop } = options;
  if (directory.hidden && part.start === 0) onStop?.('BusyBox unzip', null);
  let window: ByteWindow | null = null;
  /** Whether Java has stopped at a 64-bit descriptor; null: perhaps in an earlier part. */
  let hasStopped = part.start === 0 ? false : null;
  let entry = await nextEntry();
  if ((entry?.offset ?? directory.start) !== 0) throw unclaimed(entry?.name ?? null);
  while (entry !== null) {
    const { name, kind, mode, bytes, offset } = entry;
    const elsewhere = offset < part.start || offset >= part.end;
    const answer = await options.onEntry({ name, kind, mode, bytes, elsewhere });
    if (answer === 'stop') return;
    const next = await nextEntry();
    if (!elsewhere) {
      window ??= new ByteWindow(file, { start: offset, end: directory.start }, options.onRaw);
      const at = { entry, end: next?.offset ?? directory.start };
      const ending = await readEntry(window, at, answer === 'skip' ? null : answer);
      if (!directory.hidden && stopsBusyBox(entry, ending, file.size)) onStop?.('BusyBox unzip', name);
      if (ending.lateHereOnly) onStop?.('7-Zip', name);
      if (stopsJava(entry, ending)) {
        hasStopped = true;
        onStop?.('Java ZipInputStream', name);
      } else if (ending.descriptorIn64 && bytes === 0 && next !== null) {
        hasStopped ??= await hasStoppedBefore(file, directory, part.start);
        if (!hasStopped) {
          const detail = 'Java before 23 takes the 64-bit data descriptor of an empty entry for the end of the archive';
          throw new ArchiveFault('data-descriptor', detail, name);
        }
      }
    }
    entry = next;
  }
}

/** Gives the next entry with each call; null after the last. */
function entriesOf(file: ByteFile, directory: ZipDirectory): () => Promise<CentralEntry | null> {
  const entries = centralEntries(new ByteWindow(file, directory, undefined, directoryWindowBytes), directory);
  return async () => (await entries.next()).value;
}

/**
 * BusyBox reads as many bytes as 32 bits say where nothing else ends the content; behind a descriptor it believes the
 * directory. Throws `ArchiveFault`.
 */
function stopsBusyBox({ name, kind, fields, offset, in64 }: CentralEntry, ending: Ending, size: number): boolean {
  const believedIn64 = ending.late ? in64 : ending.in64;
  if (!believedIn64 || kind === 'directory' || fields.method !== stored) return false;
  if (offset + in32Bits > size) return true;
  throw new ArchiveFault('zip64', 'BusyBox takes the 64-bit size for four gibibytes, which are there', name);
}

/**
 * The ZipInputStream of Java stops at a descriptor behind content that is not compressed. Before version 23 it expects 64 bits
 * there only where a size needs them: it stops behind an entry with content, and ends behind an empty one.
 */
function stopsJava({ fields, bytes, wide }: CentralEntry, { late, descriptorIn64 }: Ending): boolean {
  return late && (fields.method === stored || (descriptorIn64 && bytes > 0 && !wide));
}

/** Whether Java has stopped before this place in the file. Throws `ArchiveFault` and system errors. */
async function hasStoppedBefore(file: ByteFile, directory: ZipDirectory, place: number): Promise<boolean> {
  const nextEntry = entriesOf(file, directory);
  for (let entry = await nextEntry(); entry !== null && entry.offset < place; ) {
    const next = await nextEntry();
    const header = await readAt(file, entry.offset, headerBytes);
    if (stopsJava(entry, localEnding(header, entry, next?.offset ?? directory.start))) return true;
    entry = next;
  }
  return false;
}

/** Every entry ends where the next one begins, and the last one where the directory does. */
async function readEntry(
  window: ByteWindow,
  { entry, end }: { entry: CentralEntry; end: number },
  sink: ContentSink | null,
): Promise<Ending> {
  const local = await readLocalHeader(window, entry);
  await readContent(window, entry, local.late ? withoutMark(entry, sink) : sink);
  const descriptorIn64 = await readDescriptor(window, { entry, local, next: end });
  if (window.position < end) throw unclaimed(entry.name);
  if (window.position > end) throw cut(entry.name);
  return { ...local, descriptorIn64 };
}

/** Streaming readers search for the mark of the descriptor where content is not compressed. */
function withoutMark({ fields, name }: CentralEntry, sink: ContentSink | null): ContentSink | null {
  if (fields.method !== stored) return sink;
  let last = Buffer.alloc(0);
  return {
    write: (chunk) => {
      const seen = Buffer.concat([last, chunk]);
      if (seen.includes(descriptorSignature)) {
        const detail = 'the content contains the mark that streaming readers take for its end';
        throw new ArchiveFault('data-descriptor', detail, name);
      }
      last = Buffer.from(seen.subarray(-descriptorSignature.length + 1));
      return sink?.write(chunk);
    },
    end: () => sink?.end(),
  };
}

async function readContent(window: ByteWindow, entry: CentralEntry, sink: ContentSink | null): Promise<void> {
  const { fields, name, packed, bytes } = entry;
  if (fields.method === stored && packed !== bytes) throw sizeMismatch(name);
  const small = packed <= mostAtOnce && bytes <= mostAtOnce;
  const crc = small ? await readAtOnce(window, entry, sink) : await readInPieces(window, entry, sink);
  if (crc !== fields.crc) throw new ArchiveFault('crc-mismatch', 'the CRC-32 of the content does not match', name);
  await sink?.end();
}

async function readAtOnce(window: ByteWindow, entry: CentralEntry, sink: ContentSink | null): Promise<number> {
  const { fields, name, packed, bytes } = entry;
  if (window.buffered < packed && !(await window.fill(packed))) throw cut(name);
  const data = window.take(packed);
  const content = fields.method === stored ? data : inflateAtOnce(data, bytes, name);
  if (content.length > 0) await sink?.write(content);
  return crc32(content);
}

async function readInPieces(window: ByteWindow, entry: CentralEntry, sink: ContentSink | null): Promise<number> {
  const { fields, name, packed, bytes } = entry;
  const end = window.position + packed;
  const pieces = fields.method === stored ? storedPieces(window, packed, name) : inflateWindow(window, packed, name);
  let crc = 0;
  let written = 0;
  for await (const piece of pieces) {
    written += piece.length;
    if (written > bytes) throw sizeMismatch(name);
    crc = crc32(piece, crc);
    await sink?.write(piece);
  }
  if (written !== bytes) throw sizeMismatch(name);
  if (window.position !== end) throw leftOver(name);
  return crc;
}

async function* storedPieces(window: ByteWindow, bytes: number, name: string): AsyncGenerator<Buffer> {
  for (let left = bytes; left > 0; ) {
    const piece = await window.piece(Math.min(left, pieceBytes));
    if (piece === null) throw cut(name);
    left -= piece.length;
    yield piece;
  }
}

function inflateAtOnce(data: Buffer, bytes: number, name: string): Buffer {
  let inflated: unknown;
  try {
    // One byte more than needed, so that a buffer of the right size is never filled up and followed by another.
    inflated = inflateRawSync(data, { info: true, chunkSize: Math.max(64, bytes + 1), maxOutputLength: bytes + 1 });
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw sizeMismatch(name);
    throw inflateFault(error, name);
  }
  if (!isInflated(inflated)) throw new TypeError('zlib gave something else than with "info: true"');
  if (inflated.buffer.length !== bytes) throw sizeMismatch(name);
  if (inflated.engine.bytesWritten !== data.length) throw leftOver(name);
  return inflated.buffer;
}

/** With `info: true` zlib gives more than its types say: how many bytes it used. */
function isInflated(value: unknown): value is { buffer: Buffer; engine: { bytesWritten: number } } {
  return typeof value === 'object' && value !== null && 'buffer' in value && 'engine' in value;
}

function sizeMismatch(name: string): ArchiveFault {
  return new ArchiveFault('size-mismatch', 'the content is not as long as the archive says', name);
}

function leftOver(name: string): ArchiveFault {
  return new ArchiveFault('hidden-data', 'bytes follow the end of the compressed data', name);
}

function unclaimed(name: string | null): ArchiveFault {
  return new ArchiveFault('hidden-data', 'bytes before or behind the entry belong to nothing', name);
}

function cut(name: string): ArchiveFault {
  return new ArchiveFault('overlap', 'the entry lies over the one listed next, or over the directory', name);
}

/** Costs relative to hashing one byte: a byte added by inflating, and an entry. */
const perInflatedByte = 4;
const perEntry = 16 * 1024;
/** Work that the first thread does before the second has started. */
const secondStart = 100 * 1024 ** 2;

/**
 * Where to divide a zip between two threads so that both take about as long. It is an estimate from the
 * unchecked directory; any result is correct. Throws system errors.
 */
export async function splitPoint(file: ByteFile): Promise<number> {
  try {
    const costs = await costsOf(file);
    const total = costs.reduce((sum, { cost }) => sum + cost, 0);
    // The first thread also hashes the whole archive.
    let left = (total + secondStart - file.size) / 2;
    for (const { offset, cost } of costs) {
      left -= cost;
      if (left < 0) return offset;
    }
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
  }
  return Math.floor(file.size / 2);
}

async function costsOf(file: ByteFile): Promise<{ offset: number; cost: number }[]> {
  const directory = await findDirectory(file);
  const window = new ByteWindow(file, directory, undefined, directoryWindowBytes);
  const costs: { offset: number; cost: number }[] = [];
  while (costs.length < directory.entries && (await window.fill(centralHeaderBytes))) {
    const header = window.take(centralHeaderBytes);
    const [packed, bytes, offset] = [header.readUInt32LE(20), header.readUInt32LE(24), header.readUInt32LE(42)];
    costs.push({ offset, cost: perEntry + bytes + perInflatedByte * Math.max(0, bytes - packed) });
    const rest = header.readUInt16LE(28) + header.readUInt16LE(30) + header.readUInt16LE(32);
    if (!(await window.fill(rest))) break;
    window.take(rest);
  }
  return costs;
}
