import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { TarArchive, ZipArchive } from 'archiver';
import { create as packWithNpmTar } from 'tar';
import { pack as tarStream } from 'tar-stream';
import { ZipFile } from 'yazl';

const run = promisify(execFile);
const programs = resolve('test/tools/archives/writers');
const environment = { ...process.env, LC_ALL: 'C.UTF-8' };
const mostBytes = 16 * 1024 ** 2;

/** A program or library that packs a folder as people pack sites. */
export interface RealWriter {
  name: string;
  format: 'zip' | 'tar';
  /** Whether names beyond ASCII are marked as UTF-8, or need no mark. */
  marksNames: boolean;
  /** The archive of what lies in the folder; null when the writer is not installed. */
  pack(folder: string): Promise<Buffer | null>;
}

export const realWriters: readonly RealWriter[] = [
  zip(
    'Info-ZIP zip',
    (folder) => command('sh', ['-c', 'f=$(mktemp -u).zip && zip -qr "$f" . && cat "$f" && rm "$f"'], folder),
    false,
  ),
  zip('7-Zip', (folder) =>
    command(
      'sh',
      ['-c', 'command -v 7zz >/dev/null || exit 127; f=$(mktemp -u).zip && 7zz a -bso0 "$f" . && cat "$f" && rm "$f"'],
      folder,
    ),
  ),
  zip('Java', (folder) => command('java', [join(programs, 'Write.java'), folder], folder)),
  zip('Go', (folder) => command('go', ['run', join(programs, 'write.go'), folder], folder)),
  zip('Python', (folder) => command('python3', [join(programs, 'write.py'), 'zip', folder], folder)),
  zip('Python into a pipe', (folder) => command('python3', [join(programs, 'write.py'), 'stream', folder], folder)),
  zip('archiver', (folder) => withArchiver(new ZipArchive(), folder)),
  zip('yazl', withYazl),
  tar('GNU tar', (folder) => command('tar', ['cf', '-', '.'], folder)),
  ...['oldgnu', 'ustar', 'pax'].map((form) =>
    tar(`GNU tar as ${form}`, (folder) => command('tar', [`--format=${form}`, '-cf', '-', '.'], folder)),
  ),
  ...['pax', 'paxr', 'ustar', 'gnutar'].map((form) =>
    tar(`bsdtar as ${form}`, (folder) => command('bsdtar', [`--format=${form}`, '-cf', '-', '.'], folder)),
  ),
  tar('BusyBox tar', (folder) => command('busybox', ['tar', '-cf', '-', '.'], folder)),
  tar('Go tar', (folder) => command('go', ['run', join(programs, 'write.go'), folder, 'tar'], folder)),
  tar('npm tar', (folder) => packWithNpmTar({ cwd: folder }, ['.']).concat()),
  tar('npm tar, portable', (folder) => packWithNpmTar({ cwd: folder, portable: true }, ['.']).concat()),
  tar('tar-stream', withTarStream),
  tar('Python ustar', (folder) => command('python3', [join(programs, 'write.py'), 'ustar', folder], folder)),
  tar('Python GNU', (folder) => command('python3', [join(programs, 'write.py'), 'gnu', folder], folder)),
  tar('Python pax', (folder) => command('python3', [join(programs, 'write.py'), 'pax', folder], folder)),
  tar('archiver tar', (folder) => withArchiver(new TarArchive(), folder)),
];

function zip(name: string, pack: RealWriter['pack'], marksNames = true): RealWriter {
  return { name, format: 'zip', marksNames, pack };
}

function tar(name: string, pack: RealWriter['pack']): RealWriter {
  return { name, format: 'tar', marksNames: true, pack };
}

async function command(program: string, args: readonly string[], folder: string): Promise<Buffer | null> {
  try {
    const options = { cwd: folder, env: environment, encoding: 'buffer', maxBuffer: mostBytes } as const;
    return (await run(program, args, options)).stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 127)) return null;
    throw error;
  }
}

async function withArchiver(archive: ZipArchive | TarArchive, folder: string): Promise<Buffer> {
  archive.directory(folder, false);
  const [made] = await Promise.all([gather(archive), archive.finalize()]);
  return made;
}

async function withYazl(folder: string): Promise<Buffer> {
  const archive = new ZipFile();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) archive.addFile(path, relative(folder, path));
  }
  archive.end();
  return gather(archive.outputStream);
}

async function withTarStream(folder: string): Promise<Buffer> {
  const archive = tarStream();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path);
    if (entry.isFile()) archive.entry({ name, mode: 0o100644 }, await readFile(path));
    else archive.entry({ name, mode: 0o040755, type: 'directory' });
  }
  archive.finalize();
  return gather(Readable.from(archive));
}

async function gather(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
