import { ArchiveFault } from '../archive-fault.ts';
import type { ByteFile } from '../byte-file.ts';
import { ByteWindow } from '../byte-window.ts';
import { findDirectory } from './zip-end.ts';

const headerBytes = 46;
const windowSize = 256 * 1024;
/** What work costs, counted in bytes that are hashed and summed: a byte that inflating adds, and an entry as such. */
const inflated = 4;
const entry = 16 * 1024;
/** By so much work the second thread is late. */
const secondStart = 100 * 1024 ** 2;

/**
 * The place in a zip up to which a first thread should read, while a second one reads from there on, so that both take
 * about as long (decision 0051). It is a guess from what the directory says, and nothing is checked: any place is a
 * right one. Throws system errors.
 */
export async function zipMiddle(file: ByteFile): Promise<number> {
  try {
    const costs = await costsOf(file);
    const total = costs.reduce((sum, { cost }) => sum + cost, 0);
    // The first thread hashes the whole archive besides.
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
