import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { hashFile } from '../../src/files.ts';
import { curlTeeOpenssl, docferry, type Fetcher, type Run, run, tool } from './download-runs.ts';
import { limitMb, type Source } from './nginx-source.ts';
import { startRangeSource } from './range-source.ts';

interface TableOptions {
  folder: string;
  source: Source;
  runs: number;
  /** Smaller sizes, for a look. */
  quick: boolean;
}

const mib = 1024 ** 2;

type Maker = (url: string, file: string) => Fetcher;

const curl: Maker = (url, file) => tool('curl', ['curl'], ['curl', '-sf', '-o', file, url]);
const wget: Maker = (url, file) => tool('wget', ['wget'], ['wget', '-q', '-O', file, url]);
const aria2c =
  (connections: number): Maker =>
  (url, file) => {
    const split = ['-x', `${connections}`, '-s', `${connections}`, '-k', '1M'];
    const target = ['-d', file.slice(0, file.lastIndexOf('/')), '-o', file.slice(file.lastIndexOf('/') + 1)];
    return tool(`aria2c, ${connections} connections`, ['aria2c'], ['aria2c', '-q', ...split, ...target, url]);
  };

/** One gibibyte as fast as it goes: the digest included, in ours and in `curl | tee | openssl dgst`. */
export async function freeTable(options: TableOptions): Promise<string[]> {
  const bytes = options.quick ? 256 * mib : 1024 * mib;
  const name = await randomFile(options.folder, bytes);
  const makers: Maker[] = [docferry, curlTeeOpenssl, curl, wget, aria2c(1), aria2c(4)];
  const rows = await bestOf(options, name, options.source.free(name), makers);
  const base = rows.find(({ name: row }) => row === 'curl, tee, openssl dgst')?.best?.seconds ?? null;
  return [
    `### ${bytes / mib} MiB on loopback, unlimited (${options.source.name}), best of ${options.runs}`,
    '',
    'To a file in the page cache, nothing is synchronised. Only the first two rows have the digest when they end.',
    '',
    ...seconds(rows, base, 'to curl, tee, openssl'),
  ];
}

/** A source that limits each connection. */
export async function limitedTable(options: TableOptions): Promise<string[]> {
  const bytes = options.quick ? 64 * mib : 219 * mib;
  const name = await randomFile(options.folder, bytes);
  const four: Maker = (url, file) => docferry(url, file, 4);
  const once = { ...options, runs: 1 };
  const rows = await bestOf(once, name, options.source.limited(name), [curl, docferry, four, aria2c(4)]);
  const base = rows[0]?.best?.seconds ?? null;
  return [
    `### ${bytes / mib} MiB, ${limitMb} MB/s a connection (${options.source.name})`,
    '',
    ...seconds(rows, base, 'to curl'),
  ];
}

/** Memory over idle by size. */
export async function memoryTable(options: TableOptions): Promise<string[]> {
  const sizes = options.quick ? [10, 256] : [10, 1024, 5120];
  const lines: string[] = [];
  for (const size of sizes) {
    const name = await sparseFile(options.folder, size * mib);
    const file = join(options.folder, 'target');
    for (const connections of [1, 4]) {
      const measured = await fresh(file, () => run(docferry(options.source.free(name), file, connections)));
      lines.push(
        `| ${size} MiB | ${connections} | ${measured?.seconds.toFixed(2)} | ${measured?.peakMb?.toFixed(0) ?? ''} |`,
      );
    }
    await rm(join(options.folder, name));
  }
  return [
    '### Memory over idle by size',
    '',
    '| size | connections | seconds | peak MB over idle |',
    '|---|---|---|---|',
    ...lines,
  ];
}

/** Cut twice, the object the same or replaced after the first cut: who ends with what. */
export async function cutTable(options: TableOptions): Promise<string[]> {
  const bytes = 64 * mib;
  const [old, other] = [await randomFile(options.folder, bytes), await randomFile(options.folder, bytes, 'other')];
  const file = join(options.folder, 'target');
  const digests = { old: await digestOf(options.folder, old), other: await digestOf(options.folder, other) };
  const makers: Maker[] = [
    docferry,
    (url, target) => docferry(url, target, 4),
    (url, target) =>
      tool(
        'curl --retry 5 -C -',
        ['curl'],
        ['curl', '-sf', '--retry', '5', '--retry-all-errors', '-C', '-', '-o', target, url],
      ),
    (url, target) => tool('wget -c --tries 5', ['wget'], ['wget', '-q', '-c', '--tries', '5', '-O', target, url]),
    aria2c(1),
    aria2c(4),
  ];
  const lines: string[] = [];
  for (const maker of makers) {
    const cells: string[] = [];
    let name = '';
    for (const replacement of [undefined, other]) {
      const source = await startRangeSource(options.folder, {
        cuts: 2,
        cutAfter: 20 * mib,
        ...(replacement === undefined ? {} : { replacement }),
      });
      const fetcher = maker(source.url(old), file);
      name = fetcher.name;
      const outcome = await fresh(file, async () => {
        const ended = await run(fetcher);
        if (!ended) return 'not installed | ';
        const what = await whatIsThere(file, digests, replacement !== undefined);
        return `exit ${ended.exitCode}, ${what} | ${Math.round(source.sent() / mib)}`;
      });
      cells.push(outcome);
      await source.stop();
    }
    lines.push(`| ${name} | ${cells.join(' | ')} |`);
  }
  return [
    '### Cut twice after 20 of 64 MiB',
    '',
    'The object stays the same, or is replaced by another of the same length after the first cut. "sent" is what the source',
    'sent, in MiB.',
    '',
    '| | same object | sent | replaced | sent |',
    '|---|---|---|---|---|',
    ...lines,
  ];
}

async function whatIsThere(file: string, digests: { old: string; other: string }, replaced: boolean): Promise<string> {
  if (!existsSync(file)) return 'no file';
  const digest = await hashFile(file);
  if (digest === digests.other) return 'the new object';
  if (digest === digests.old) return replaced ? 'the old object' : 'right';
  const { size } = await stat(file);
  return size === 64 * mib ? '**a mix of both**' : `a part of ${Math.round(size / mib)} MiB`;
}

interface Row {
  name: string;
  /** Null where the tool is missing. */
  best: Run | null;
}

async function bestOf(options: TableOptions, name: string, url: string, makers: Maker[]): Promise<Row[]> {
  const expected = await digestOf(options.folder, name);
  const file = join(options.folder, 'target');
  const rows = makers.map((maker) => ({ fetcher: maker(url, file), best: null as Run | null }));
  for (let turn = 0; turn < options.runs; turn += 1) {
    for (const row of rows) {
      process.stderr.write(`  ${row.fetcher.name}\n`);
      const ended = await fresh(file, () => run(row.fetcher));
      if (!ended) continue;
      if (ended.exitCode !== 0) throw new Error(`${row.fetcher.name} ended with ${ended.exitCode}`);
      if (ended.sha256 !== null && ended.sha256 !== expected) throw new Error(`${row.fetcher.name}: another digest`);
      if (!row.best || ended.seconds < row.best.seconds) row.best = ended;
    }
  }
  return rows.map(({ fetcher, best }) => ({ name: fetcher.name, best }));
}

function seconds(rows: readonly Row[], base: number | null, ratio: string): string[] {
  const cells = rows.map(({ name, best }) => {
    if (!best) return `| ${name} | not installed | | |`;
    const share = base === null ? '' : (best.seconds / base).toFixed(2);
    return `| ${name} | ${best.seconds.toFixed(2)} | ${share} | ${best.peakMb?.toFixed(0) ?? ''} |`;
  });
  return [`| | seconds | ${ratio} | peak MB (docferry: over idle) |`, '|---|---|---|---|', ...cells];
}

async function fresh<T>(file: string, use: () => Promise<T>): Promise<T> {
  const remove = () => Promise.all(['', '.resume', '.aria2'].map((end) => rm(`${file}${end}`, { force: true })));
  await remove();
  try {
    return await use();
  } finally {
    await remove();
  }
}

/** Made once: bytes that no file system and no tool can squeeze. */
async function randomFile(folder: string, bytes: number, suffix = ''): Promise<string> {
  const name = `random-${bytes / mib}${suffix}`;
  const path = join(folder, name);
  if (existsSync(path)) return name;
  const out = createWriteStream(`${path}.part`);
  for (let left = bytes; left > 0; left -= 16 * mib) {
    if (!out.write(randomBytes(Math.min(left, 16 * mib)))) await once(out, 'drain');
  }
  out.end();
  await finished(out);
  await rename(`${path}.part`, path);
  return name;
}

async function sparseFile(folder: string, bytes: number): Promise<string> {
  const name = `sparse-${bytes / mib}`;
  await writeFile(join(folder, name), '');
  await truncate(join(folder, name), bytes);
  return name;
}

const digests = new Map<string, Promise<string>>();
function digestOf(folder: string, name: string): Promise<string> {
  const known = digests.get(name) ?? hashFile(join(folder, name));
  digests.set(name, known);
  return known;
}
