import { ArchiveFault, type ByteRange } from './archive-reader.ts';
import type { ByteFile } from './byte-file.ts';

/** Read at once; the window grows only when a caller needs more in one piece. */
const WINDOW_BYTES = 1024 ** 2;

/** Reads a file front to back through a window of bounded size. What it gives is valid until the next `fill`. */
export class ByteWindow {
  readonly #file: ByteFile;
  readonly #onRaw: ((bytes: Uint8Array) => void) | undefined;
  /** Reading ends here, though the file may be longer. */
  readonly #end: number;
  #buffer: Buffer;
  /** Bytes of the buffer already given. */
  #start = 0;
  #filled = 0;
  /** Place in the file of the byte behind the buffer's last one. */
  #next: number;

  constructor(file: ByteFile, range: ByteRange, onRaw?: (bytes: Uint8Array) => void, windowBytes = WINDOW_BYTES) {
    this.#file = file;
    this.#onRaw = onRaw;
    this.#next = range.start;
    this.#end = range.end;
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(windowBytes, range.end - range.start)));
  }

  /** Place in the file of the next byte to be given. */
  get position(): number {
    return this.#next - this.buffered;
  }

  /** Bytes that can be taken without waiting. */
  get buffered(): number {
    return this.#filled - this.#start;
  }

  /** Waits until `bytes` can be taken in one piece; false when the file ends before. Throws system errors. */
  async fill(bytes: number): Promise<boolean> {
    if (this.buffered >= bytes) return true;
    if (this.position + bytes > this.#end) return false;
    this.#makeRoom(bytes);
    while (this.#filled < this.#buffer.length && this.#next < this.#end) {
      const most = Math.min(this.#buffer.length - this.#filled, this.#end - this.#next);
      const room = this.#buffer.subarray(this.#filled, this.#filled + most);
      const read = await this.#file.read(room, this.#next);
      if (read === 0) throw new ArchiveFault('truncated', null, 'the file became shorter while it was read');
      this.#onRaw?.(room.subarray(0, read));
      this.#filled += read;
      this.#next += read;
    }
    return true;
  }

  /** The next bytes; the caller has seen to it that they are buffered. */
  take(bytes: number): Buffer {
    if (bytes > this.buffered) throw new RangeError('taken without filling the window');
    const taken = this.#buffer.subarray(this.#start, this.#start + bytes);
    this.#start += bytes;
    return taken;
  }

  /** Gives back the last bytes taken since the last `fill`. */
  untake(bytes: number): void {
    if (bytes > this.#start) throw new RangeError('gave back more than was taken');
    this.#start -= bytes;
  }

  /** The next piece of at most `most` bytes, whatever is at hand; null at the end. Throws system errors. */
  async piece(most: number): Promise<Buffer | null> {
    if (this.buffered === 0 && !(await this.fill(1))) return null;
    return this.take(Math.min(most, this.buffered));
  }

  #makeRoom(bytes: number): void {
    const rest = this.#buffer.subarray(this.#start, this.#filled);
    if (bytes > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(bytes);
      rest.copy(larger);
      this.#buffer = larger;
    } else {
      this.#buffer.copyWithin(0, this.#start, this.#filled);
    }
    this.#filled = rest.length;
    this.#start = 0;
  }
}
