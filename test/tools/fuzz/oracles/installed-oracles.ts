import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ArchiveFormat } from '../../../../src/exports/rules/site-export.ts';
import { userCacheFolder } from '../../../../src/local/binaries.ts';
import { CommandOracle, environment, shellLoop } from './command-oracle.ts';
import { libraryOracles } from './library-oracles.ts';
import type { Oracle, Oracles } from './oracle.ts';

const run = promisify(execFile);
const sources = resolve('test/tools/fuzz/oracles');
const tars: readonly ArchiveFormat[] = ['tar', 'tar.gz'];
const zips: readonly ArchiveFormat[] = ['zip'];

interface Spec {
  name: string;
  formats: readonly ArchiveFormat[];
  /** Prints the version in its first line that is not empty. */
  version: readonly string[];
  /** The program to keep running. Throws when it cannot be made. */
  command: () => Promise<string[]> | string[];
}

const sevenZip = `case $format in
tar.gz) 7zz x -so "$archive" | 7zz x -si -ttar -y -bd -o"$folder" ;;
*) 7zz x -y -bd -o"$folder" "$archive" ;;
esac`;

const specs: readonly Spec[] = [
  {
    name: 'Info-ZIP unzip',
    formats: zips,
    version: ['unzip', '-v'],
    // It ends with 1 after warnings.
    command: () => shellLoop('unzip -qq -o "$archive" -d "$folder" </dev/null || [ $? = 1 ]'),
  },
  {
    name: 'BusyBox unzip',
    formats: zips,
    version: ['busybox'],
    command: () => shellLoop('busybox unzip -q -o "$archive" -d "$folder" </dev/null'),
  },
  {
    name: 'BusyBox tar',
    formats: tars,
    version: ['busybox'],
    command: () =>
      shellLoop(
        'if [ $format = tar ]; then busybox tar xf "$archive" -C "$folder"; else busybox tar xzf "$archive" -C "$folder"; fi',
      ),
  },
  {
    name: 'GNU tar',
    formats: tars,
    version: ['tar', '--version'],
    command: () => shellLoop('tar xf "$archive" -C "$folder"'),
  },
  {
    name: 'bsdtar',
    formats: [...tars, ...zips],
    version: ['bsdtar', '--version'],
    command: () => shellLoop('bsdtar -xf "$archive" -C "$folder"'),
  },
  { name: '7-Zip', formats: [...tars, ...zips], version: ['7zz'], command: () => shellLoop(sevenZip) },
  {
    name: 'Python',
    formats: [...tars, ...zips],
    version: ['python3', '--version'],
    command: () => ['python3', '-W', 'ignore', join(sources, 'extract.py')],
  },
  {
    name: 'Go',
    formats: [...tars, ...zips],
    version: ['go', 'version'],
    command: async () => [
      join(
        await compiled('extract.go', (folder, source) => ['go', 'build', '-o', join(folder, 'extract'), source]),
        'extract',
      ),
    ],
  },
  { name: 'Java JarFile', formats: zips, version: ['javac', '-version'], command: () => java('directory') },
  { name: 'Java ZipInputStream', formats: zips, version: ['javac', '-version'], command: () => java('stream') },
];

/** Starts every oracle that this machine has. Close them when they are no longer needed. */
export async function startOracles(): Promise<Oracles> {
  const started = await Promise.all(specs.map(start));
  const commands = started.filter((oracle) => oracle !== null);
  const missing = specs.filter((_, index) => started[index] === null).map(({ name }) => name);
  const libraries = libraryOracles.map((oracle) => ({ ...oracle, version: libraryVersion(oracle.name) }));
  return { installed: [...commands, ...libraries], missing };
}

async function start({ name, formats, version, command }: Spec): Promise<Oracle | null> {
  const text = await firstLine(version);
  return text === null ? null : new CommandOracle({ name, version: text, formats }, await command());
}

async function firstLine([program = '', ...args]: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(program, args, { env: environment });
    return `${stdout}${stderr}`.split('\n').find((line) => line.trim() !== '') ?? '';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function libraryVersion(name: string): string {
  const { version } = JSON.parse(readFileSync(resolve('node_modules', name, 'package.json'), 'utf8'));
  return version;
}

async function java(reader: 'directory' | 'stream'): Promise<string[]> {
  const classes = await compiled('Extract.java', (folder, source) => ['javac', '-d', folder, source]);
  return ['java', '-XX:TieredStopAtLevel=1', '-Xmx128m', '-cp', classes, 'Extract', reader];
}

/** The folder with what a compiler made of a source; made on first use, by one of several processes. */
async function compiled(
  source: string,
  compiler: (folder: string, source: string) => readonly string[],
): Promise<string> {
  const path = join(sources, source);
  const digest = createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
    .slice(0, 16);
  const folder = join(userCacheFolder(), 'archive-readers', digest);
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const own = await mkdtemp(`${folder}-`);
  const [program = '', ...args] = compiler(own, path);
  await run(program, args, { env: environment });
  try {
    await rename(own, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    await rm(own, { recursive: true });
  }
  return folder;
}
