import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { crc32, deflateRawSync } from 'node:zlib';
import { TarArchive, ZipArchive } from 'archiver';
import { create as packWithNpmTar } from 'tar';
import { pack as tarStream } from 'tar-stream';
import { ZipFile } from 'yazl';
import { type RawEnd, type RawEntry, rawZip, zip64Records } from './raw-zip.ts';
import { extra, narrow, wide, type ZipFields } from './zip-bytes.ts';

const run = promisify(execFile);
const programs = resolve('test/tools/archives/writers');
const environment = { ...process.env, LC_ALL: 'C.UTF-8' };
const everythingIn64: RawEnd = {
  entries: 0xffff,
  bytes: 0xffffffff,
  start: 0xffffffff,
  before: (told) => zip64Records(told),
};
const mostBytes = 16 * 1024 ** 2;

/** A program or library that packs a folder as people pack sites. */
interface RealWriter {
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
  zip('yazl', (folder) => withYazl(folder)),
  zip('Info-ZIP zip -fz', (folder) => infoZip('-fz "$f" . && cat "$f" && rm "$f"', folder), false),
  zip('Info-ZIP zip into a pipe', (folder) => infoZip('- . | cat', folder), false),
  zip('bsdtar zip', (folder) =>
    command('sh', ['-c', 'f=$(mktemp -u).zip; bsdtar --format zip -cf "$f" . && cat "$f" && rm "$f"'], folder),
  ),
  zip('Python in 64 bits', (folder) => command('python3', [join(programs, 'write.py'), 'zip64', folder], folder)),
  zip('Python in 64 bits into a pipe', (folder) =>
    command('python3', [join(programs, 'write.py'), 'stream64', folder], folder),
  ),
  zip('archiver in 64 bits', (folder) => withArchiver(new ZipArchive({ forceZip64: true }), folder)),
  zip('yazl in 64 bits', (folder) => withYazl(folder, { forceZip64Format: true })),
  zip('yazl without compression', (folder) => withYazl(folder, { compress: false })),
  // Programs that need no installation of their own here: their archives by the form of each byte.
  byForm('zipstream-ng', (file) => ({ ...file, ...late32(file, true), stored: true })),
  byForm('zipstream-ng, of unknown sizes', (file) => ({ ...file, ...late64(file) })),
  byForm('stream-zip', (file) => ({ ...file, ...late64(file), in64: ['bytes', 'packed', 'offset'] }), {
    ...everythingIn64,
    disk: 0xffff,
  }),
  byForm(
    'Commons Compress',
    (file) => ({ ...file, system: 0, attributes: 0, local: { extra: sizesOf(file) } }),
    {},
    false,
  ),
  byForm(
    'Commons Compress in 64 bits into a pipe',
    (file) => ({ ...file, ...late64(file), in64: ['bytes', 'packed'] }),
    { before: (told) => zip64Records(told) },
  ),
  byForm('zip of Rust for large files', (file) => ({ ...file, local: header64(file), in64: ['bytes', 'packed'] })),
  byForm('ZipArchive of .NET into a pipe', (file) =>
    file.content.length > 0 ? { ...file, ...late32(file) } : { ...file, stored: true },
  ),
  byForm('ZipArchive of PHP', (file) => ({ ...file, attributes: 0o100666 * 2 ** 16 })),
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

function byForm(name: string, form: (file: PackedFile) => RawEntry, end: RawEnd = {}, marksNames = true): RealWriter {
  const pack = async (folder: string) => {
    const files: PackedFile[] = [];
    for (const path of await filesIn(folder)) {
      files.push({ name: relative(folder, path), content: await readFile(path) });
    }
    return rawZip(files.map(form), end);
  };
  return zip(name, pack, marksNames);
}

interface PackedFile {
  name: string;
  content: Buffer;
}

function sizesOf({ content }: PackedFile): Buffer {
  return extra(1, wide(content.length, deflateRawSync(content).length));
}

function header64(file: PackedFile): Partial<ZipFields> {
  return { packed: 0xffffffff, bytes: 0xffffffff, extra: sizesOf(file) };
}

/** Sizes that only the data descriptor says, in 32 bits. */
function late32({ content }: PackedFile, isStored = false): Partial<RawEntry> {
  const packed = isStored ? content.length : deflateRawSync(content).length;
  const descriptor = narrow(0x08074b50, crc32(content), packed, content.length);
  return { both: { flags: 0x808 }, local: { crc: 0, packed: 0, bytes: 0 }, descriptor };
}

/** The same in 64 bits, as the local header announces. */
function late64({ content }: PackedFile): Partial<RawEntry> {
  const sizes = wide(deflateRawSync(content).length, content.length);
  const local = { crc: 0, packed: 0xffffffff, bytes: 0xffffffff, extra: extra(1, wide(0, 0)) };
  return { both: { flags: 0x808 }, local, descriptor: Buffer.concat([narrow(0x08074b50, crc32(content)), sizes]) };
}

function infoZip(rest: string, folder: string): Promise<Buffer | null> {
  return command('sh', ['-c', `command -v zip >/dev/null || exit 127; f=$(mktemp -u).zip; zip -qr ${rest}`], folder);
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

async function withYazl(
  folder: string,
  options: { forceZip64Format?: boolean; compress?: boolean } = {},
): Promise<Buffer> {
  const archive = new ZipFile();
  for (const path of await filesIn(folder)) archive.addFile(path, relative(folder, path), options);
  archive.end({ forceZip64Format: options.forceZip64Format ?? false, comment: '' });
  return gather(archive.outputStream);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
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
