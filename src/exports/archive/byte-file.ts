import { open } from 'node:fs/promises';
import { ArchiveFault } from './archive-fault.ts';

/** Bytes that can be read at any offset, such as those of a file. */
export interface ByteFile {
  readonly size: number;
  /** Fills `into` from `position` on and returns the number of bytes read: 0 only at the end. Throws system errors. */
  read(into: Uint8Array, position: number): Promise<number>;
}

/** Opens a file for `use` and always closes it. Throws system errors and what `use` throws. */
export async function withByteFile<T>(path: string, use: (file: ByteFile) => Promise<T>): Promise<T> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    return await use({
      size,
      read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
    });
  } finally {
    await handle.close();
  }
}

/** Reads exactly `length` bytes. Throws `ArchiveFault` and system errors. */
export async function readAt(file: ByteFile, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const read = await file.read(bytes.subarray(filled), position + filled);
    if (read === 0) throw new ArchiveFault('truncated', null, 'the file became shorter while it was read');
    filled += read;
  }
  return bytes;
}
