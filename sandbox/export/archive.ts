import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack as createPack, type Pack } from 'tar-stream';
import { ZipFile } from 'yazl';
import type { Settings } from '../settings.ts';
import type { SiteFile } from './site.ts';

export type ArchiveFormat = Settings['archiveFormat'];

interface ArchiveJob {
  files: Iterable<SiteFile>;
  format: ArchiveFormat;
  /** Path of the archive to be written. */
  target: string;
  /** Modification time of everything inside. */
  mtime: Date;
  /** False when compression would take long and gain nothing. */
  compress: boolean;
  signal: AbortSignal;
}

/** Writes files to an archive, streaming: memory stays flat whatever their size. */
export async function writeArchive(job: ArchiveJob): Promise<void> {
  const target = createWriteStream(job.target);
  if (job.format === 'zip') return pipeline(zipStream(job), target, { signal: job.signal });

  const pack = createPack();
  const filled = fillTar(pack, job);
  // When the archive cannot be written, further entries fail too; the pipeline reports why.
  filled.catch((error) => pack.destroy(error));
  if (job.format === 'tar') await pipeline(pack, target, { signal: job.signal });
  else await pipeline(pack, createGzip({ level: job.compress ? 6 : 0 }), target, { signal: job.signal });
  await filled;
}

async function fillTar(pack: Pack, { files, mtime }: ArchiveJob): Promise<void> {
  const folders = new Set<string>();
  for (const file of files) {
    for (const folder of newFolders(folders, file.path)) {
      pack.entry({ name: `${folder}/`, type: 'directory', mtime });
    }
    await addToTar(pack, file, mtime);
  }
  pack.finalize();
}

async function addToTar(pack: Pack, file: SiteFile, mtime: Date): Promise<void> {
  const entry = pack.entry({ name: file.path, size: file.size, mtime });
  const write = async (): Promise<void> => {
    for (const chunk of file.chunks()) {
      if (!entry.write(chunk)) await once(entry, 'drain');
    }
    entry.end(null);
  };
  await Promise.all([once(entry, 'close'), write()]);
}

/** Folders of a path that are not in `known` yet, outermost first; adds them. */
function newFolders(known: Set<string>, path: string): string[] {
  const folder = posix.dirname(path);
  if (folder === '.' || known.has(folder)) return [];
  const outer = newFolders(known, folder);
  known.add(folder);
  return [...outer, folder];
}

function zipStream({ files, mtime }: ArchiveJob): NodeJS.ReadableStream {
  const zip = new ZipFile();
  for (const file of files) {
    const options = { mtime, compress: file.compressible };
    if (file.compressible) {
      zip.addBuffer(Buffer.concat([...file.chunks()]), file.path, options);
    } else {
      zip.addReadStreamLazy(file.path, { ...options, size: file.size }, (give) =>
        give(null, Readable.from(file.chunks())),
      );
    }
  }
  zip.end();
  return zip.outputStream;
}
