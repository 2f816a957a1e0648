import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Work } from '../store/bundle-store.ts';
import { flushPath } from '../../replace-file.ts';

/** Concurrent flushes share the disk's journal writes. */
const atOnce = 16;

/** Flushes every file and folder below a folder, and the folder itself, to the disk. Throws the signal's reason. */
export async function flushTree(folder: string, { signal, onProgress }: Work = {}): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  paths.push(folder);
  const next = paths.values();
  const worker = async () => {
    for (const path of next) {
      signal?.throwIfAborted();
      await flushPath(path);
      onProgress?.();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
