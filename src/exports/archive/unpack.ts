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
export async function unpack(archive: string, manifest: PackedFiles, folder: string, work: Work): Promise<void> {
  const unpacking = new Unpacking(manifest, folder, work);
  const onEntry = (entry: ArchiveEntry) => unpacking.enter(entry);
  const streamBytes = Number.POSITIVE_INFINITY;
  try {
    await withByteFile(archive, (file) => readers[manifest.archive.format](file, { streamBytes, onEntry }));
  } catch (error) {
    throw error instanceof ArchiveFault ? new UnpackMismatch(`${error.rule}: ${error.message}`) : error;
  } finally {
    await unpacking.close();
  }
  unpacking.requireAll();
}

class Unpacking {
  readonly #folder: string;
  readonly #work: Work;
  readonly #reasons = new ReasonList();
  readonly #rules: EntryRules;
  readonly #missing: Map<string, ContentFile>;
  readonly #folders = new Set<string>();
  #writing: FileHandle | null = null;

  constructor(manifest: PackedFiles, folder: string, work: Work) {
    const unlimited = Number.POSITIVE_INFINITY;
    const limits = { maxBytes: unlimited, maxFiles: unlimited, maxRatio: unlimited };
    this.#folder = folder;
    this.#work = work;
    this.#rules = new EntryRules(limits, manifest.archive.bytes, this.#reasons);
    this.#missing = new Map(manifest.files.map((file) => [file.path, file]));
  }

  async enter(entry: ArchiveEntry): Promise<EntryAnswer> {
    const path = this.#rules.admit(entry);
    const [reason] = this.#reasons.all();
    if (reason) throw new UnpackMismatch(`${reason.rule}: ${reason.detail}`);
    if (path === null) return 'skip';
    const listed = entry.kind === 'directory' ? null : this.#take(path, entry);
    const target = join(this.#folder, path);
    await this.#ensureFolder(entry.kind === 'directory' ? target : dirname(target));
    if (listed === null) return 'skip';
    const handle = await open(target, 'wx', 0o644);
    this.#writing = handle;
    return this.#sink(handle, listed);
  }

  requireAll(): void {
    const lacking = this.#missing.size;
    if (lacking > 0) throw new UnpackMismatch(`the archive lacks ${lacking} files of the manifest`);
  }

  async close(): Promise<void> {
    await this.#writing?.close();
    this.#writing = null;
  }

  /** Marks a file as found and returns its entry in the manifest. The reader never yields more than `entry.bytes`. */
  #take(path: string, entry: ArchiveEntry): ContentFile {
    const listed = this.#missing.get(path);
    if (listed === undefined) throw new UnpackMismatch('the archive holds a file that the manifest does not list');
    if (listed.bytes !== entry.bytes) throw otherFile();
    this.#missing.delete(path);
    return listed;
  }

  #sink(handle: FileHandle, listed: ContentFile): ContentSink {
    const { signal, onProgress } = this.#work;
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
        await this.close();
        signal?.throwIfAborted();
        onProgress?.();
        if (listed.sha256 !== hash.digest('hex')) throw otherFile();
      },
    };
  }

  async #ensureFolder(path: string): Promise<void> {
    if (this.#folders.has(path)) return;
    await mkdir(path, { recursive: true });
    this.#folders.add(path);
  }
}

function otherFile(): UnpackMismatch {
  return new UnpackMismatch('a file of the archive is not as the manifest lists it');
}
