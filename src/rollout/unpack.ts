import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ArchiveEntry, ArchiveFault } from '../bundle/archive-reader.ts';
import type { Manifest } from '../bundle/bundle-store.ts';
import { EntryRules } from '../bundle/entry-rules.ts';
import { readerOf } from '../bundle/open-archive.ts';
import { ReasonList } from '../bundle/reason-list.ts';

/** The archive is not what its manifest says; nothing of it was put into service. */
export class UnpackMismatch extends Error {
  override readonly name = 'UnpackMismatch';
}

export interface UnpackOptions {
  signal?: AbortSignal | undefined;
  /** Called for each file and every chunk of it. */
  onProgress?: (() => void) | undefined;
}

/**
 * Unpacks a published archive into an empty folder. Its names pass the rules of verification again, and every file's
 * size and SHA-256 is compared with the manifest: the files end up exactly as listed, or it throws `UnpackMismatch`.
 */
export async function unpack(
  archive: string,
  manifest: Manifest,
  folder: string,
  options: UnpackOptions,
): Promise<void> {
  const { format, bytes } = manifest.archive;
  const reasons = new ReasonList();
  const unlimited = Number.POSITIVE_INFINITY;
  const rules = new EntryRules({ maxBytes: unlimited, maxFiles: unlimited, maxRatio: unlimited }, bytes, reasons);
  const missing = new Map(manifest.files.map((file) => [file.path, file]));
  const folders = new Set<string>();
  const ensureFolder = async (path: string) => {
    if (folders.has(path)) return;
    await mkdir(path, { recursive: true });
    folders.add(path);
  };
  try {
    for await (const entry of readerOf(format)(archive, unlimited)) {
      const path = rules.admit(entry);
      const [reason] = reasons.all();
      if (reason) throw new UnpackMismatch(`${reason.rule}: ${reason.detail}`);
      if (path === null) continue;
      const target = join(folder, path);
      await ensureFolder(entry.kind === 'directory' ? target : dirname(target));
      if (entry.kind === 'directory') continue;
      const listed = missing.get(path);
      missing.delete(path);
      const written = await writeEntry(entry, target, options);
      if (!listed || written.sha256 !== listed.sha256 || written.bytes !== listed.bytes) {
        throw new UnpackMismatch('a file of the archive is not as the manifest lists it');
      }
    }
  } catch (error) {
    throw error instanceof ArchiveFault ? new UnpackMismatch(`${error.rule}: ${error.message}`) : error;
  }
  if (missing.size > 0) throw new UnpackMismatch(`the archive lacks ${missing.size} files of the manifest`);
}

async function writeEntry(
  entry: ArchiveEntry,
  target: string,
  { signal, onProgress }: UnpackOptions,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const handle = await open(target, 'wx', 0o644);
  try {
    for await (const chunk of entry.content()) {
      signal?.throwIfAborted();
      hash.update(chunk);
      bytes += chunk.length;
      // Appends and goes on until all is written, unlike `write`.
      await handle.writeFile(chunk);
      onProgress?.();
    }
  } finally {
    await handle.close();
  }
  signal?.throwIfAborted();
  onProgress?.();
  return { bytes, sha256: hash.digest('hex') };
}
