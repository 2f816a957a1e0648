import type { ByteFile } from './archive-reader.ts';
import { ArchiveFault } from './archive-reader.ts';
import { ByteWindow } from './byte-window.ts';
import { findDirectory } from './zip-records.ts';

const headerBytes = 46;
const windowSize = 256 * 1024;
/** Costs relative to hashing one byte: a byte added by inflating, and an entry. */
const inflated = 4;
const entry = 16 * 1024;
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
  const window = new ByteWindow(file, directory, undefined, windowSize);
  const costs: { offset: number; cost: number }[] = [];
  while (costs.length < directory.entries && (await window.fill(headerBytes))) {
    const header = window.take(headerBytes);
    const [packed, bytes, offset] = [header.readUInt32LE(20), header.readUInt32LE(24), header.readUInt32LE(42)];
    costs.push({ offset, cost: entry + bytes + inflated * Math.max(0, bytes - packed) });
    const rest = header.readUInt16LE(28) + header.readUInt16LE(30) + header.readUInt16LE(32);
    if (!(await window.fill(rest))) break;
    window.take(rest);
  }
  return costs;
}
