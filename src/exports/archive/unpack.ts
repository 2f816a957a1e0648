import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ReasonList } from '../rules/verification-rules.ts';
import type { Manifest, Work } from '../store/bundle-store.ts';
import type { ArchiveEntry, ContentSink, EntryAnswer } from './archive-reader.ts';
import { ArchiveFault, withByteFile } from './archive-reader.ts';
import { EntryRules } from './check-entry.ts';
import type { ContentFile } from './content-digest.ts';
import { readers } from './open-archive.ts';

/** The archive does not match its manifest; none of it was put into service. */
export class UnpackMismatch extends Error {
  override readonly name = 'UnpackMismatch';
}

/** What is known about a verified archive. */
export type PackedFiles = Pick<Manifest, 'archive' | 'files'>;

/**
 * Unpacks a verified archive into an empty folder. Names are checked again, and each file's size and SHA-256 must match
 * the manifest, or it throws `UnpackMismatch`. A file that is not listed, or would grow past its listed size, stops it
 * before any byte of that file is written.
 */
export async function unpack(
  archive: string,
  manifest: PackedFiles,
  folder: string,
  { signal, onProgress }: Work,
): Promise<void> {
  const unlimited = Number.POSITIVE_INFINITY;
  const reasons = new ReasonList();
  const limits = { maxBytes: unlimited, maxFiles: unlimited, maxRatio: unlimited };
  const rules = new EntryRules(limits, manifest.archive.bytes, reasons);
  const missing = new Map(manifest.files.map((file) => [file.path, file]));
  const folders = new Set<string>();
  let writing: FileHandle | null = null;

  const close = async () => {
    await writing?.close();
    writing = null;
  };
  const ensureFolder = async (path: string) => {
    if (folders.has(path)) return;
    await mkdir(path, { recursive: true });
    folders.add(path);
  };
  const sinkOf = (handle: FileHandle, listed: ContentFile): ContentSink => {
    const hash = createHash('sha256');
    return {
      write: async (chunk) => {
        signal?.throwIfAborted();
        hash.update(chunk);
        // Unlike `write`, appends and retries until every byte is written.
        await handle.writeFile(chunk);
        onProgress?.();
      },
      end: async () => {
        await close();
        signal?.throwIfAborted();
        onProgress?.();
        if (listed.sha256 !== hash.digest('hex')) throw otherFile();
      },
    };
  };
  const onEntry = async (entry: ArchiveEntry): Promise<EntryAnswer> => {
    const path = rules.admit(entry);
    const [reason] = reasons.all();
    if (reason) throw new UnpackMismatch(`${reason.rule}: ${reason.detail}`);
    if (path === null) return 'skip';
    const target = join(folder, path);
    if (entry.kind === 'directory') {
      await ensureFolder(target);
      return 'skip';
    }
    const listed = missing.get(path);
    if (listed === undefined) throw new UnpackMismatch('the archive holds a file that the manifest does not list');
    // The reader never yields more than `entry.bytes`.
    if (listed.bytes !== entry.bytes) throw otherFile();
    missing.delete(path);
    await ensureFolder(dirname(target));
    writing = await open(target, 'wx', 0o644);
    return sinkOf(writing, listed);
  };

  try {
    const read = readers[manifest.archive.format];
    await withByteFile(archive, (file) => read(file, { streamBytes: unlimited, onEntry }));
  } catch (error) {
    throw error instanceof ArchiveFault ? new UnpackMismatch(`${error.rule}: ${error.message}`) : error;
  } finally {
    await close();
  }
  if (missing.size > 0) throw new UnpackMismatch(`the archive lacks ${missing.size} files of the manifest`);
}

function otherFile(): UnpackMismatch {
  return new UnpackMismatch('a file of the archive is not as the manifest lists it');
}
