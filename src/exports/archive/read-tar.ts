import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ArchiveFault, type ByteFile, type ContentSink, type ReadOptions } from './archive-reader.ts';
import { ByteWindow, inflateWindow } from './byte-window.ts';
import { escapeOf } from './check-entry.ts';
import {
  blockBytes,
  compressionOf,
  isZero,
  maxOwner,
  mostInOctal,
  parseTarHeader,
  type TarHeader,
} from './tar-header.ts';

/** Reads a sequence of pieces as one stream of at most `limit` bytes. */
class ChunkCursor {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #limit: number;
  #chunk: Buffer = Buffer.alloc(0);
  #total = 0;

  constructor(chunks: AsyncIterable<Buffer>, limit: number) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#limit = limit;
  }

  /** The buffered bytes, at most `most`, valid until the next call; null at the end. */
  async piece(most: number): Promise<Buffer | null> {
    while (this.#chunk.length === 0) if (!(await this.#next())) return null;
    return this.#take(most);
  }

  /** Like `piece`, without waiting; also null when nothing is buffered. */
  pieceAtHand(most: number): Buffer | null {
    return this.#chunk.length === 0 ? null : this.#take(most);
  }

  /** Exactly `bytes` bytes in one piece, valid until the next call. Throws `ArchiveFault` if the stream ends first. */
  async exactly(bytes: number, missing: string): Promise<Buffer> {
    if (this.#chunk.length >= bytes) return this.#take(bytes);
    const gathered = Buffer.alloc(bytes);
    for (let filled = 0; filled < bytes; ) {
      const piece = await this.piece(bytes - filled);
      if (piece === null) throw new ArchiveFault('truncated', missing);
      filled += piece.copy(gathered, filled);
    }
    return gathered;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #take(most: number): Buffer {
    const taken = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  async #next(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#total += value.length;
    if (this.#total > this.#limit) {
      throw new ArchiveFault('too-many-bytes', `more than ${this.#limit} bytes unpacked, headers included`);
    }
    this.#chunk = value;
    return true;
  }
}

const space = 0x20;
const equalsSign = 0x3d;
const newline = 0x0a;
const utf8Charset = 'ISO-IR 10646 2000 UTF-8';
const sparse = /^(GNU\.sparse\.|SCHILY\.(realsize|filetype)$)/;
const time = /^-?\d{1,11}(\.\d{1,9})?$/;
const id = /^\d{1,10}$/;
const anyText = /^/;
/** The form of each key's value; some readers refuse any other form. */
const common: ReadonlyMap<string, RegExp> = new Map([
  ['atime', time],
  ['ctime', time],
  ['mtime', time],
  ['LIBARCHIVE.creationtime', time],
  ['uid', id],
  ['gid', id],
  ['SCHILY.dev', id],
  ['SCHILY.ino', anyText],
  ['SCHILY.nlink', id],
  ['uname', anyText],
  ['gname', anyText],
  ['comment', anyText],
]);
const forOneEntry: typeof common = new Map([...common, ['path', anyText], ['size', anyText], ['hdrcharset', anyText]]);
/** Keys that set an entry's name or size, or how other values are read. */
const deciding = new Set(['path', 'size', 'linkpath', 'hdrcharset', 'charset']);

/** What pax records say about the entry that follows. */
interface PaxOverride {
  path: Buffer | null;
  bytes: number | null;
}

/** Reads the records of a header for one entry (type `x`). Throws `ArchiveFault`. */
export function parsePaxOverride(data: Buffer): PaxOverride {
  const records = parseRecords(data, forOneEntry);
  const charset = records.get('hdrcharset')?.toString('latin1') ?? utf8Charset;
  if (charset !== utf8Charset)
    throw new ArchiveFault('pax-charset', `the names are in another character set than UTF-8`);
  const size = records.get('size');
  return { path: records.get('path') ?? null, bytes: size === undefined ? null : parseSize(size) };
}

function parseRecords(data: Buffer, known: typeof common): Map<string, Buffer> {
  // Some libraries stop at an empty header.
  if (data.length === 0) throw malformed();
  const records = new Map<string, Buffer>();
  for (let start = 0; start < data.length; ) {
    const end = start + recordLength(data, start);
    const equals = data.indexOf(equalsSign, start);
    if (end > data.length || data[end - 1] !== newline || equals < 0 || equals >= end) throw malformed();
    const key = data.toString('utf8', data.indexOf(space, start) + 1, equals);
    if (key === '') throw malformed();
    if (records.has(key)) throw new ArchiveFault('pax-duplicate', `"${key.slice(0, 50)}" is set twice for one entry`);
    const value = data.subarray(equals + 1, end - 1);
    requireHarmlessRecord(key, value, known);
    records.set(key, value);
    start = end;
  }
  return records;
}

/** Refuses keys and values that only some readers act on. Throws `ArchiveFault`. */
function requireHarmlessRecord(key: string, value: Buffer, known: typeof common): void {
  if (sparse.test(key)) throw new ArchiveFault('sparse', 'sparse files are refused');
  const form = known.get(key);
  if (known === common && deciding.has(key))
    throw new ArchiveFault('pax-global', `a header for all entries sets "${key}"`);
  if (form === undefined)
    throw new ArchiveFault('pax-keyword', `a pax header sets ${JSON.stringify(key.slice(0, 50))}`);
  const isText = key === 'path' || (isUtf8(value) && !value.includes(0));
  const text = value.toString('latin1');
  const isSound = form.test(text) && (form !== id || Number(text) <= maxOwner);
  if (!isText || value.includes(newline) || !isSound) {
    throw new ArchiveFault('pax-record', `a pax header sets "${key}" to a value that readers interpret differently`);
  }
}

/** The decimal number that starts a record: the record's length, including the number. */
function recordLength(data: Buffer, start: number): number {
  const [, digits] = /^([1-9]\d{0,6}) /.exec(data.toString('latin1', start, start + 8)) ?? [];
  const length = Number(digits ?? 0);
  if (digits === undefined || length < digits.length + 4) throw malformed();
  return length;
}

function parseSize(value: Buffer): number {
  const text = value.toString('latin1');
  const size = Number(text);
  if (!/^(0|[1-9]\d*)$/.test(text) || !Number.isSafeInteger(size)) {
    throw new ArchiveFault('pax-record', 'the size in a pax header is not a whole number');
  }
  return size;
}

function malformed(): ArchiveFault {
  return new ArchiveFault('pax-record', 'a record of a pax header is not "length key=value"');
}

const fixedBytes = 10;
const trailerBytes = 8;
const gzipMark = 0x1f8b;
const deflate = 8;
const flag = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const;
/** Longest name, comment or extra field in the header. Go's limit; BusyBox stops at extra fields from 16 KiB on. */
const maxPartBytes = 511;

/** A gzip file of one member and nothing else (RFC 1952), checked. Throws `ArchiveFault` and system errors. */
async function* readGzip(file: ByteFile, onRaw?: (bytes: Uint8Array) => void): AsyncGenerator<Buffer> {
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
    throw new ArchiveFault('corrupt', 'the checksum of the gzip data does not match');
  }
  if (trailer.readUInt32LE(4) !== bytes % 2 ** 32) {
    throw new ArchiveFault('size-mismatch', 'the gzip data is not as long as its end says');
  }
  await requireEnd(window);
}

async function skipHeader(window: ByteWindow): Promise<void> {
  const fixed = await need(window, fixedBytes);
  let crc = crc32(fixed);
  const flags = fixed.readUInt8(3);
  if (fixed.readUInt8(2) !== deflate || (flags & flag.reserved) !== 0) {
    throw new ArchiveFault('gzip-header', 'the gzip header has an unknown method or unknown flags');
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
    throw new ArchiveFault('corrupt', 'the checksum of the gzip header does not match');
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
  return new ArchiveFault('gzip-header', `a part of the gzip header is longer than ${maxPartBytes} bytes`);
}

async function need(window: ByteWindow, bytes: number): Promise<Buffer> {
  if (await window.fill(bytes)) return window.take(bytes);
  throw new ArchiveFault('truncated', 'the gzip data ends in the middle');
}

async function requireEnd(window: ByteWindow): Promise<void> {
  if (!(await window.fill(1))) return;
  if ((await window.fill(2)) && window.take(2).readUInt16BE(0) === gzipMark) {
    throw new ArchiveFault('gzip-members', 'the file holds several gzip members');
  }
  throw new ArchiveFault('trailing-data', 'there are bytes after the end of the gzip data');
}

const pieceBytes = 256 * 1024;
/** Longest header about another entry: pax records, long names. */
const maxMetaBytes = 256 * 1024;
/** GNU headers repeat this much of a long name; some writers cut within a character. */
const repeatedBytes = 96;
const gnuLongName = 'L';
const gnuLongLink = 'K';
const paxEntry = 'x';
const paxGlobal = 'g';
/** The pre-ustar file type: some readers take such an entry for a folder when its name ends in a slash. */
const oldFile = '\0';
const slash = 0x2f;

/** Reads a tar (an `ArchiveReader`): ustar, pax, and GNU with long names. */
export async function readTar(file: ByteFile, options: ReadOptions): Promise<void> {
  const window = new ByteWindow(file, { start: 0, end: file.size }, options.onRaw);
  await new TarReading(piecesOf(window), options).read();
}

/** Reads a gzip-compressed tar (an `ArchiveReader`). */
export async function readTarGz(file: ByteFile, options: ReadOptions): Promise<void> {
  await new TarReading(readGzip(file, options.onRaw), options).read();
}

async function* piecesOf(window: ByteWindow): AsyncGenerator<Buffer> {
  for (let piece = await window.piece(pieceBytes); piece !== null; piece = await window.piece(pieceBytes)) {
    yield piece;
  }
}

class TarReading {
  readonly #cursor: ChunkCursor;
  readonly #options: ReadOptions;
  #pax: PaxOverride | null = null;
  #longName: Buffer | null = null;
  #longLink = false;
  #globalLast = false;

  constructor(chunks: AsyncIterable<Buffer>, options: ReadOptions) {
    this.#cursor = new ChunkCursor(chunks, options.streamBytes);
    this.#options = options;
  }

  async read(): Promise<void> {
    try {
      const first = await this.#block();
      const compression = compressionOf(first);
      if (compression !== null) {
        throw new ArchiveFault('two-formats', `the first name of the tar begins like data of ${compression}`);
      }
      for (let block = first; !isZero(block); block = await this.#block()) {
        if ((await this.#record(parseTarHeader(block))) === 'stop') return;
      }
      await this.#end();
    } finally {
      await this.#cursor.close();
    }
  }

  #block(): Promise<Buffer> {
    return this.#cursor.exactly(blockBytes, 'the end-of-archive marker is missing');
  }

  async #record(header: TarHeader): Promise<'stop' | undefined> {
    switch (header.type) {
      case paxEntry:
        if (this.#pax !== null) throw new ArchiveFault('pax-duplicate', 'two pax headers stand before one entry');
        this.#pax = parsePaxOverride(await this.#meta(header));
        return;
      case paxGlobal:
        if (this.#isExpectingEntry())
          throw new ArchiveFault('dangling-header', 'a global header stands between an entry and the header about it');
        // bsdtar and Python stop at many in a row.
        if (this.#globalLast) throw new ArchiveFault('pax-duplicate', 'two global headers stand in a row');
        // None may change what an entry is.
        parseRecords(await this.#meta(header), common);
        this.#globalLast = true;
        return;
      case gnuLongName:
        this.#requireNoSize();
        if (this.#longName !== null) throw longNameFault('two long names stand before one entry');
        this.#longName = endedByNul(await this.#meta(header));
        return;
      case gnuLongLink:
        this.#requireNoSize();
        await this.#meta(header);
        this.#longLink = true;
        return;
      default:
        return this.#entry(header);
    }
  }

  async #entry(header: TarHeader): Promise<'stop' | undefined> {
    const name = this.#nameOf(header);
    const bytes = this.#sizeOf(header, name);
    const { kind, mode } = header;
    if (this.#longLink && kind !== 'symbolic-link' && kind !== 'hard-link') {
      throw longNameFault('the long name of a link stands before something else');
    }
    this.#pax = null;
    this.#longName = null;
    this.#longLink = false;
    this.#globalLast = false;
    const answer = await this.#options.onEntry({ name, kind, mode, bytes, elsewhere: false });
    if (answer === 'stop') return 'stop';
    await this.#content(bytes, answer === 'skip' ? null : answer);
    return;
  }

  /** node-tar takes the size in a pax header for that of the long name, and then the name for a header. */
  #requireNoSize(): void {
    if ((this.#pax?.bytes ?? null) !== null) throw longNameFault('a long name stands after a size from pax');
  }

  #isExpectingEntry(): boolean {
    return this.#pax !== null || this.#longName !== null || this.#longLink;
  }

  #nameOf(header: TarHeader): string {
    const path = this.#pax?.path ?? null;
    const longName = this.#longName;
    const long = path ?? longName;
    if (long === null) return header.name.toString('utf8');
    if (path !== null && longName !== null) {
      throw longNameFault('the entry has a long name from pax and another one from GNU tar');
    }
    if (header.type === oldFile && header.name.at(-1) === slash) {
      throw new ArchiveFault(
        'ambiguous-type',
        'a file whose header looks like that of a folder',
        long.toString('utf8'),
      );
    }
    if (longName === null) {
      requireHarmlessName(header.name, long);
    } else if (!longName.subarray(0, Math.max(header.name.length, repeatedBytes)).equals(header.name)) {
      // Readers that ignore the extension must not see another file.
      throw longNameFault('the name in the header is not the first part of the long name');
    }
    return long.toString('utf8');
  }

  /** A reader that ignores pax must not take content for headers, or headers for content. */
  #sizeOf(header: TarHeader, name: string): number {
    const bytes = this.#pax?.bytes ?? header.bytes;
    if (bytes === header.bytes || (bytes > mostInOctal && header.bytes === 0)) return bytes;
    throw new ArchiveFault('pax-disagrees', `pax says ${bytes} bytes, the header ${header.bytes}`, name);
  }

  async #content(bytes: number, sink: ContentSink | null): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const piece = this.#cursor.pieceAtHand(left) ?? (await this.#cursor.piece(left));
      if (piece === null) throw new ArchiveFault('truncated', 'the archive ends in the middle of a file');
      left -= piece.length;
      await sink?.write(piece);
    }
    await this.#padding(bytes);
    await sink?.end();
  }

  async #padding(bytes: number): Promise<void> {
    const over = bytes % blockBytes;
    if (over === 0) return;
    const padding = await this.#cursor.exactly(blockBytes - over, 'the archive ends in the middle');
    if (!isZero(padding)) {
      throw new ArchiveFault('hidden-data', 'what fills up the last block of a file is not zero');
    }
  }

  async #meta({ name, bytes }: TarHeader): Promise<Buffer> {
    // BusyBox takes a header without a name for the end of the archive.
    if (name.length === 0) throw new ArchiveFault('empty-name', 'a header about an entry has no name');
    requirePlainName(name);
    if (bytes > maxMetaBytes) {
      throw new ArchiveFault('meta-too-long', `a header about an entry is longer than ${maxMetaBytes} bytes`);
    }
    const kept = Buffer.from(await this.#cursor.exactly(bytes, 'the archive ends in the middle of a header'));
    await this.#padding(bytes);
    return kept;
  }

  /** After the first block of zeros: a second one, then only zeros. */
  async #end(): Promise<void> {
    // Python reads no archive that ends with a global header.
    if (this.#isExpectingEntry() || this.#globalLast) {
      throw new ArchiveFault('dangling-header', 'no entry follows a header about entries');
    }
    if (!isZero(await this.#block())) {
      throw new ArchiveFault('trailing-data', 'a single block of zeros stands in the middle of the archive');
    }
    let bytes = 0;
    for (let piece = await this.#cursor.piece(pieceBytes); piece; piece = await this.#cursor.piece(pieceBytes)) {
      bytes += piece.length;
      if (!isZero(piece)) throw new ArchiveFault('trailing-data', 'there are bytes after the end of the archive');
    }
    if (bytes % blockBytes !== 0) throw new ArchiveFault('trailing-data', 'the archive ends within a block');
  }
}

/** Nothing else checks these names; bsdtar unpacks uuencoded lines in the first one of a tar. Throws `ArchiveFault`. */
function requirePlainName(name: Buffer): void {
  if (!name.some((byte) => byte < space || byte === 0x7f)) return;
  throw new ArchiveFault('control-character', 'a name in a header holds a control character', name.toString());
}

/** A reader that ignores pax uses this name, so it must not leave the folder. Throws `ArchiveFault`. */
function requireHarmlessName(rawName: Buffer, path: Buffer): void {
  requirePlainName(rawName);
  const name = rawName.toString('utf8');
  // Go leaves out what is not ASCII, so that a slash may come first.
  const isByGo = path
    .toString('utf8')
    .replace(/\P{ASCII}/gu, '')
    .startsWith(name);
  const broken = escapeOf(isByGo ? name.replace(/^\/+/, '') : name);
  if (broken) throw new ArchiveFault(broken.rule, `below the pax name: ${broken.detail}`, name);
}

function endedByNul(data: Buffer): Buffer {
  const name = data.subarray(0, -1);
  if (name.length > 0 && data.indexOf(0) === name.length) return name;
  throw longNameFault('the long name does not end with its only NUL');
}

function longNameFault(detail: string): ArchiveFault {
  return new ArchiveFault('gnu-long-name', detail);
}
