import { ArchiveFault } from './archive-fault.ts';
import type { ContentSink, ReadOptions } from './archive-reader.ts';
import type { ByteFile } from './byte-file.ts';
import { ByteWindow } from './byte-window.ts';
import { escapeOf } from './check-path.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { checkPaxGlobals, type PaxOverride, parsePaxOverride } from './pax-records.ts';
import { readGzip } from './read-gzip.ts';
import { blockBytes, isZero, mostInOctal, parseTarHeader, type TarHeader } from './tar-header.ts';

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
      for (let block = await this.#block(); !isZero(block); block = await this.#block()) {
        if ((await this.#record(parseTarHeader(block))) === 'stop') return;
      }
      await this.#end();
    } finally {
      await this.#cursor.close();
    }
  }

  async #block(): Promise<Buffer> {
    const block = await this.#cursor.exactly(blockBytes);
    if (block !== null) return block;
    throw new ArchiveFault('truncated', null, 'the end-of-archive marker is missing');
  }

  async #record(header: TarHeader): Promise<'stop' | undefined> {
    switch (header.type) {
      case paxEntry:
        if (this.#pax !== null) throw new ArchiveFault('pax-duplicate', null, 'two pax headers stand before one entry');
        this.#pax = parsePaxOverride(await this.#meta(header));
        return;
      case paxGlobal:
        if (this.#isExpectingEntry())
          throw new ArchiveFault(
            'dangling-header',
            null,
            'a global header stands between an entry and the header about it',
          );
        // bsdtar and Python stop at many in a row.
        if (this.#globalLast) throw new ArchiveFault('pax-duplicate', null, 'two global headers stand in a row');
        checkPaxGlobals(await this.#meta(header));
        this.#globalLast = true;
        return;
      case gnuLongName:
        if (this.#longName !== null) throw longNameFault('two long names stand before one entry');
        this.#longName = endedByNul(await this.#meta(header));
        return;
      case gnuLongLink:
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

  /** Whether a header about the next entry is pending. */
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
        long.toString('utf8'),
        'a file whose header looks like that of a folder',
      );
    }
    if (longName === null) {
      requireHarmless(header.name, long);
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
    throw new ArchiveFault('pax-disagrees', name, `pax says ${bytes} bytes, the header ${header.bytes}`);
  }

  async #content(bytes: number, sink: ContentSink | null): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const piece = this.#cursor.pieceAtHand(left) ?? (await this.#cursor.piece(left));
      if (piece === null) throw new ArchiveFault('truncated', null, 'the archive ends in the middle of a file');
      left -= piece.length;
      const writing = sink?.write(piece);
      if (writing) await writing;
    }
    await this.#padding(bytes);
    const ending = sink?.end();
    if (ending) await ending;
  }

  async #padding(bytes: number): Promise<void> {
    const over = bytes % blockBytes;
    if (over === 0) return;
    const padding = await this.#cursor.exactly(blockBytes - over);
    if (padding === null) throw new ArchiveFault('truncated', null, 'the archive ends in the middle');
    if (!isZero(padding)) {
      throw new ArchiveFault('hidden-data', null, 'what fills up the last block of a file is not zero');
    }
  }

  async #meta({ name, bytes }: TarHeader): Promise<Buffer> {
    // BusyBox takes a header without a name for the end of the archive.
    if (name.length === 0) throw new ArchiveFault('empty-name', null, 'a header about an entry has no name');
    if (bytes > maxMetaBytes) {
      throw new ArchiveFault('meta-too-long', null, `a header about an entry is longer than ${maxMetaBytes} bytes`);
    }
    const data = await this.#cursor.exactly(bytes);
    if (data === null) throw new ArchiveFault('truncated', null, 'the archive ends in the middle of a header');
    const kept = Buffer.from(data);
    await this.#padding(bytes);
    return kept;
  }

  /** After the first block of zeros: a second one, then only zeros. */
  async #end(): Promise<void> {
    // Python reads no archive that ends with a global header.
    if (this.#isExpectingEntry() || this.#globalLast) {
      throw new ArchiveFault('dangling-header', null, 'no entry follows a header about entries');
    }
    if (!isZero(await this.#block())) {
      throw new ArchiveFault('trailing-data', null, 'a single block of zeros stands in the middle of the archive');
    }
    let bytes = 0;
    for (let piece = await this.#cursor.piece(pieceBytes); piece; piece = await this.#cursor.piece(pieceBytes)) {
      bytes += piece.length;
      if (!isZero(piece)) throw new ArchiveFault('trailing-data', null, 'there are bytes after the end of the archive');
    }
    if (bytes % blockBytes !== 0) throw new ArchiveFault('trailing-data', null, 'the archive ends within a block');
  }
}

/** A reader that ignores pax uses this name, so it must not leave the folder. Throws `ArchiveFault`. */
function requireHarmless(rawName: Buffer, path: Buffer): void {
  const name = rawName.toString('utf8');
  // Go leaves out what is not ASCII, so that a slash may come first.
  const isByGo = path
    .toString('utf8')
    .replace(/\P{ASCII}/gu, '')
    .startsWith(name);
  const broken = escapeOf(isByGo ? name.replace(/^\/+/, '') : name);
  if (broken) throw new ArchiveFault(broken.rule, name, `below the pax name: ${broken.detail}`);
}

function endedByNul(data: Buffer): Buffer {
  const name = data.subarray(0, -1);
  if (name.length > 0 && data.indexOf(0) === name.length) return name;
  throw longNameFault('the long name does not end with its only NUL');
}

function longNameFault(detail: string): ArchiveFault {
  return new ArchiveFault('gnu-long-name', null, detail);
}
