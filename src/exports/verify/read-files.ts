import { createHash } from 'node:crypto';
import type { ArchiveEntry, EntryAnswer } from '../archive/archive-reader.ts';
import { withByteFile } from '../archive/byte-file.ts';
import { checkPath } from '../archive/check-path.ts';
import { readerOf } from '../archive/open-archive.ts';
import type { BundleStore, Manifest, Work } from '../store/bundle-store.ts';
import { VersionDamaged } from '../store/store-errors.ts';

/**
 * The content of a few small files of a version, by path, each as the manifest has it. Reads the whole archive until the
 * last of them is found. Throws `NoSuchVersion`, `VersionDamaged`, the signal's reason.
 */
export async function readFiles(
  store: Pick<BundleStore, 'withArchive'>,
  domain: string,
  { version, archive, files }: Manifest,
  paths: readonly string[],
  work: Work,
): Promise<Map<string, Buffer>> {
  const listed = new Map(files.map((file) => [file.path, file]));
  const wanted = new Set(paths);
  const found = new Map<string, Buffer>();
  const onEntry = ({ name, kind }: ArchiveEntry): EntryAnswer => {
    work.signal?.throwIfAborted();
    if (found.size === wanted.size) return 'stop';
    const checked = kind === 'file' ? checkPath(name, false) : null;
    const path = checked !== null && 'path' in checked ? checked.path : '';
    if (!wanted.has(path)) return 'skip';
    const pieces: Uint8Array[] = [];
    let left = listed.get(path)?.bytes ?? 0;
    return {
      write(piece) {
        left -= piece.length;
        // However much a damaged archive unpacks to, no more is held.
        if (left < 0) throw notAsListed();
        // The reader reuses its memory.
        pieces.push(Uint8Array.from(piece));
      },
      end: () => void found.set(path, Buffer.concat(pieces)),
    };
  };
  if (wanted.size > 0) {
    const streamBytes = Number.POSITIVE_INFINITY;
    const read = (path: string) =>
      withByteFile(path, (file) => readerOf(archive.format)(file, { streamBytes, onEntry }));
    await store.withArchive(domain, version, read, work);
  }
  for (const path of wanted) {
    const content = found.get(path);
    if (content === undefined || createHash('sha256').update(content).digest('hex') !== listed.get(path)?.sha256) {
      throw notAsListed();
    }
  }
  return found;
}

function notAsListed(): VersionDamaged {
  return new VersionDamaged('its archive does not have the files that its manifest lists');
}
