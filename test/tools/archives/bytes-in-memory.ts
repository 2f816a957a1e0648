import type { ByteFile } from '../../../src/exports/archive/archive-reader.ts';

/** Bytes in memory as a `ByteFile`. */
export function bytesInMemory(bytes: Uint8Array): ByteFile {
  return {
    size: bytes.length,
    read: async (into, position) => {
      const part = bytes.subarray(position, position + into.length);
      into.set(part);
      return part.length;
    },
  };
}
