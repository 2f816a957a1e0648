import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { defaultLimits } from '../../src/exports/archive/check-entry.ts';
import { verifyInThread } from '../../src/exports/verify/verify-in-thread.ts';
import { type GeneratedFile, generatedSite, writeTarGz, writeZip } from './generated-site.ts';
import { packagedSites } from './packaged-sites.ts';

/*
 * Verification beside the tools people use (bench/README.md, row "verify"): npm run bench:verify [-- --runs 5 --real]
 * Writes bench/results/verify.md. The archives are made once, in --folder. Tools that are not there are left out. With
 * --real also sites that people read, out of packages of the distribution (apt-get download, dpkg-deb).
 */

const time = '/usr/bin/time';
const outputBytes = 64 * 1024 ** 2;
const repository = new URL('../../../', import.meta.url);
const starter = fileURLToPath(new URL('../../src/starter.js', import.meta.url));
const libraryProgram = fileURLToPath(new URL('./library-verify.js', import.meta.url));

interface Measured {
  name: string;
  /** Best of the runs, in seconds. */
  wall: number;
  /** Of the best run; null where it is not known. */
  cpu: number | null;
  peakMb: number | null;
}

type Runnable = { name: string; answers?: readonly number[] } & ({ command: string[] } | { run: () => Promise<void> });

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    folder: { type: 'string', default: join(tmpdir(), 'docferry-bench') },
    real: { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
await mkdir(values.folder, { recursive: true });
const sections: string[] = [];
await addSections('', generatedSite);
if (values.real) {
  for (const { name, files } of packagedSites(values.folder)) await addSections(`${name}, `, files);
}
const page = [
  '# Verification beside other tools',
  '',
  `Made by \`npm run bench:verify -- --runs ${runs}${values.real ? ' --real' : ''}\` on ${cpus().length} processors (${cpus()[0]?.model.trim()}), load average`,
  `${loadavg()[0]?.toFixed(1)} at the end; best of ${runs} runs, the commands taking turns. 20,000 files, 452 MB unpacked. docferry hashes`,
  'every file and the archive (SHA-256) besides; the others check CRCs at most. "in a worker" is the same without the',
  'start of a process, as an export does it. Site rules: the second line less the first one.',
  '',
  ...sections,
].join('\n');
await mkdir(new URL('bench/results/', repository), { recursive: true });
await writeFile(new URL('bench/results/verify.md', repository), page);
process.stdout.write(page);

async function addSections(title: string, files: () => Iterable<GeneratedFile>): Promise<void> {
  const name = title === '' ? 'site' : title.split(',')[0];
  const zip = await archive(`${name}.zip`, files, writeZip);
  const zipRows = await measureAll([
    ...docferry(zip),
    ...tools(zip, [
      ['unzip', '-tq', zip],
      ['7zz', 't', '-bd', zip],
      ['7z', 't', '-bd', zip],
      ['python3', '-m', 'zipfile', '-t', zip],
    ]),
    library('yauzl, with CRC-32', zip),
  ]);
  sections.push(...(await table(`${title}zip`, zip, zipRows)), '');
  const tarGz = await archive(`${name}.tar.gz`, files, writeTarGz);
  const tarRows = await measureAll([
    ...docferry(tarGz),
    ...tools(tarGz, [
      ['bsdtar', '-xOf', tarGz],
      ['bsdtar', '-tf', tarGz],
      ['tar', '-xOf', tarGz],
    ]),
    library('tar-stream', tarGz),
  ]);
  sections.push(...(await table(`${title}tar.gz`, tarGz, tarRows)), '');
}

async function archive(
  name: string,
  files: () => Iterable<GeneratedFile>,
  write: (files: Iterable<GeneratedFile>, target: string) => Promise<void>,
) {
  const target = join(values.folder, name);
  if (existsSync(target)) return target;
  process.stderr.write(`making ${target}\n`);
  await write(files(), `${target}.part`);
  await rename(`${target}.part`, target);
  return target;
}

function docferry(file: string): Runnable[] {
  const command = [process.execPath, starter, 'export', 'verify', file, '--json'];
  const inWorker = async () => {
    const report = await verifyInThread(file, { limits: defaultLimits, structureOnly: true });
    if (!report.ok) throw new Error(`${file} is refused`);
  };
  return [
    { name: 'docferry export verify --structure-only', command: [...command, '--structure-only'] },
    // Refused, as real sites may be for their content, is an answer too.
    { name: 'docferry export verify', command, answers: [0, 1] },
    { name: 'docferry, structure, in a worker', run: inWorker },
  ];
}

function tools(file: string, commands: string[][]): Runnable[] {
  const there = commands.filter(([tool = '']) => spawnSync('which', [tool]).status === 0);
  return there.map((command) => ({ name: command.map((part) => (part === file ? 'FILE' : part)).join(' '), command }));
}

function library(name: string, file: string): Runnable {
  return { name, command: [process.execPath, libraryProgram, file] };
}

async function measureAll(runnables: Runnable[]): Promise<Measured[]> {
  const best = new Map<string, Measured>();
  for (let run = 0; run < runs; run += 1) {
    for (const runnable of runnables) {
      const measured = await measure(runnable);
      const known = best.get(runnable.name);
      if (!known || measured.wall < known.wall) best.set(runnable.name, measured);
    }
  }
  return [...best.values()];
}

async function measure(runnable: Runnable): Promise<Measured> {
  const { name, answers = [0] } = runnable;
  const begun = performance.now();
  if ('run' in runnable) {
    const before = process.cpuUsage();
    await runnable.run();
    const { user, system } = process.cpuUsage(before);
    return { name, wall: (performance.now() - begun) / 1000, cpu: (user + system) / 1e6, peakMb: null };
  }
  const timed = existsSync(time) ? [time, '-f', '%U %S %M'] : [];
  const [program = '', ...args] = [...timed, ...runnable.command];
  const { status, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: outputBytes });
  const wall = (performance.now() - begun) / 1000;
  if (status === null || !answers.includes(status)) throw new Error(`${name} ended with ${status}: ${stderr}`);
  const [user, system, kilobytes] = stderr.toString().trim().split('\n').at(-1)?.split(' ').map(Number) ?? [];
  if (timed.length === 0 || user === undefined || system === undefined || kilobytes === undefined) {
    return { name, wall, cpu: null, peakMb: null };
  }
  return { name, wall, cpu: user + system, peakMb: (kilobytes * 1024) / 1e6 };
}

async function table(format: string, file: string, rows: readonly Measured[]): Promise<string[]> {
  const others = rows.filter(({ name }) => !name.startsWith('docferry'));
  const fastest = Math.min(...others.map(({ wall }) => wall));
  const lines = rows.map(({ name, wall, cpu, peakMb }) => {
    const ratio = (wall / fastest).toFixed(2);
    return `| \`${name}\` | ${wall.toFixed(2)} | ${cpu?.toFixed(2) ?? ''} | ${peakMb?.toFixed(0) ?? ''} | ${ratio} |`;
  });
  const [structure, whole] = rows;
  const site = structure && whole ? (whole.wall - structure.wall).toFixed(2) : '';
  return [
    `## ${format}, ${((await stat(file)).size / 1e6).toFixed(0)} MB`,
    '',
    '| command | seconds | CPU seconds | peak MB | to the fastest other |',
    '|---|---|---|---|---|',
    ...lines,
    '',
    `Site rules: ${site} s.`,
  ];
}
