import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Extract, extract } from 'tar-stream';
import { type ArchiveEntry, ArchiveFault, type EntryKind, isSystemError } from './archive-reader.ts';

const READ_BYTES = 256 * 1024;
/** A tar ends with two blocks of zeros. */
const END_MARKER_BYTES = 1024;

type TarEntry = Extract extends AsyncIterable<infer Item> ? Item : never;

/** By tar-stream's names; it gives null, against its types, for types that it does not know. */
const KINDS: Partial<Record<string, EntryKind>> = {
  file: 'file',
  directory: 'directory',
  symlink: 'symbolic-link',
  link: 'hard-link',
  'character-device': 'device',
  'block-device': 'device',
  fifo: 'device',
};

/** Reads a tar (an `ArchiveReader`). */
export async function* readTar(file: string, streamBytes: number): AsyncGenerator<ArchiveEntry> {
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  const meter = new TarMeter(streamBytes);
  const tar = extract();
  yield* entriesOf(tar, pipeline(source, meter, tar), meter, () => source.destroy());
}

/** Reads a gzip-compressed tar (an `ArchiveReader`); bytes after the gzip data, zeros included, are refused. */
export async function* readTarGz(file: string, streamBytes: number): AsyncGenerator<ArchiveEntry> {
  const { size } = await stat(file);
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  const meter = new TarMeter(streamBytes);
  const tar = extract();
  yield* entriesOf(tar, pipeline(source, gunzip, meter, tar), meter, () => source.destroy());
  if (gunzip.bytesWritten < size) throw trailingData();
}

async function* entriesOf(
  tar: Extract,
  pumping: Promise<void>,
  meter: TarMeter,
  stop: () => void,
): AsyncGenerator<ArchiveEntry> {
  const pumped = pumping.then(
    () => null,
    (error: unknown) => error,
  );
  // The pipeline's own error is the cause; what the tar side throws may be only its echo.
  const asFault = async (error: unknown) => describe((await pumped) ?? error);
  try {
    for await (const entry of tar) {
      yield toEntry(entry, asFault);
      entry.resume();
    }
  } catch (error) {
    throw await asFault(error);
  } finally {
    stop();
    tar.destroy();
  }
  const error = await pumped;
  if (error !== null && !meter.complete) throw describe(error);
}

function toEntry(entry: TarEntry, asFault: (error: unknown) => Promise<Error>): ArchiveEntry {
  const { name, type, size } = entry.header;
  return {
    name,
    kind: KINDS[String(type)] ?? 'other',
    bytes: size,
    async *content() {
      try {
        yield* entry as AsyncIterable<Uint8Array>;
      } catch (error) {
        throw await asFault(error);
      }
    },
  };
}

function describe(error: unknown): Error {
  if (error instanceof ArchiveFault || isSystemError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (message === 'unexpected end of file' || message === 'Unexpected end of data') {
    return new ArchiveFault('truncated', null, 'the archive ends in the middle');
  }
  // The first header is known to be right (`sniffFormat`), so this one stands after the end of the gzip data.
  if (message === 'incorrect header check') return trailingData();
  if (message === 'incorrect data check') {
    return new ArchiveFault('corrupt', null, 'the checksum of the gzip data does not match');
  }
  return new ArchiveFault('corrupt', null, message);
}

function trailingData(): ArchiveFault {
  return new ArchiveFault('trailing-data', null, 'there are bytes after the end of the gzip data');
}

/** Counts the bytes of the bare tar and sees to it that they end with the marker every whole tar ends with. */
class TarMeter extends Transform {
  readonly #most: number;
  #bytes = 0;
  #trailingZeros = 0;
  /** True once the last byte has gone through. */
  complete = false;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    const zeros = zerosAtEnd(chunk);
    this.#trailingZeros = zeros === chunk.length ? this.#trailingZeros + zeros : zeros;
    if (this.#bytes > this.#most) {
      done(new ArchiveFault('too-many-bytes', null, `more than ${this.#most} bytes unpacked, headers included`));
    } else {
      done(null, chunk);
    }
  }

  override _flush(done: TransformCallback): void {
    if (this.#trailingZeros < END_MARKER_BYTES) {
      done(new ArchiveFault('truncated', null, 'the end-of-archive marker is missing'));
      return;
    }
    this.complete = true;
    done();
  }
}

function zerosAtEnd(chunk: Buffer): number {
  let index = chunk.length;
  while (index > 0 && chunk[index - 1] === 0) index -= 1;
  return chunk.length - index;
}
