import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Database } from '../../src/sqlite.ts';
import { type StatusSize, statusStage } from '../status/status-stage.ts';
import { machineFacts } from '../tools/machine-facts.ts';
import { memoryOf } from '../tools/process-memory.ts';
import type { ChildMessage, ConsoleCounts } from './console-child.ts';
import { type BenchSession, firstByte, look, signIn, type ViewedPage } from './console-viewer.ts';

/*
 * What the console costs with many sites and many viewers: npm run bench:console [-- seconds sites projects]. Without
 * arguments it looks for a minute at 1,000 sites and 300 projects, and writes bench/results/console.md.
 */

const [seconds = 60, sites = 1_000, projects = 300] = process.argv.slice(2).map(Number);
const size: StatusSize = { sites, projects, runsPerSite: 365, passesPerProject: 200, running: 100 };
const looks = 300;
/** Fewer than the console lets a session have. */
const viewersPerSession = 14;
const changeEveryMs = 5_000;

const overview: ViewedPage = { path: '/', events: '/events?of=overview' };
const pages: readonly ViewedPage[] = [
  overview,
  { path: '/budget', events: '/events?of=budget' },
  { path: '/sites/org-0/docs0.acme.example', events: '/events?of=site&org=org-0&name=docs0.acme.example' },
  { path: '/projects/org-0/prj_0', events: '/events?of=project&org=org-0&name=prj_0' },
];

const stage = await statusStage(size, (text) => void process.stderr.write(`${text}\n`));
if (stage === null) throw new Error('there is no S3 server on this machine');
const told = new EventEmitter();
const running = once(told, 'ready') as Promise<[{ ready: { url: string } }]>;
let people = 0;
const child = start('console-child.js', [join(stage.folder, 'docferry.yaml')]);
child.on('message', (message: ChildMessage) => {
  told.emit('ready' in message ? 'ready' : 'counts', message);
});
try {
  const session = await newSession();
  const { bytes } = await firstByte(session, '/');
  process.stderr.write('first bytes …\n');
  const firsts = await timesOf(session, bytes);
  const rows: string[] = [];
  for (const viewers of [1, 20, 200]) rows.push(await lineOf('the overview', [overview], viewers, seconds));
  for (const viewers of [4, 200])
    rows.push(await lineOf('overview, budget, a site, a project', pages, viewers, seconds / 2));
  const page = `# The console with many sites and many viewers

\`npm run bench:console\`, ${machineFacts()}.

${sites.toLocaleString('en')} sites and ${projects} projects in 20 organizations, ${size.running} exports running: a Temporal dev server, a SQLite
file with a year of runs, bundles in an S3 server on this machine.

## First byte of the overview

${looks} requests one after the other on one connection while one viewer looks, in turns with \`hono\` and a constant page of the
same ${bytes.toLocaleString('en')} bytes, in a process of its own.

| | median | 95 of 100 | slowest |
|---|---|---|---|
${firsts}

## Viewers

Each has a stream of events open and loads its page again when told of a change. A run of an export is written to the store
every ${changeEveryMs / 1_000} s. Memory is that of the whole process.

| look at | viewers | seconds | pages loaded | calls of Temporal | calls of the stores | memory before | most memory |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
  if (process.argv.length === 2) await writeFile('bench/results/console.md', page);
  process.stdout.write(page);
} finally {
  await end(child);
  await stage.stop();
}

function start(file: string, given: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), given, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function end(process: ChildProcess): Promise<void> {
  if (!process.connected) return;
  const ended = once(process, 'exit');
  process.disconnect();
  await ended;
}

/** Each of another person: the console limits what one login may open. */
async function newSession(): Promise<BenchSession> {
  people += 1;
  const [{ ready }] = await running;
  return signIn(ready.url, `viewer-${people}`);
}

async function countsOf(process: ChildProcess): Promise<ConsoleCounts> {
  const answer = once(told, 'counts');
  process.send('counts');
  const [{ counts }] = (await answer) as [{ counts: ConsoleCounts }];
  return { ...counts };
}

/** Ends a run of a site, so that pages change. */
function writeRun(id: string): void {
  const db = new Database(join(stage?.folder ?? '', 'data/feedback.db'));
  db.prepare(
    `insert into export_runs (workflow_id, run_id, org_id, domain, started_at, finished_at, outcome, jobs_started, version, polls, detail)
    values ('export:org-0:docs0.acme.example', ?, 'org-0', 'docs0.acme.example', ?, ?, 'published', 1, null, 3, '{}')`,
  ).run(id, ...Array.from({ length: 2 }, () => new Date().toISOString()));
  db.close();
}

/** The rows of the overview and of the constant page, and how they compare. */
async function timesOf(session: BenchSession, bytes: number): Promise<string> {
  const plain = start('constant-page.js', [`${bytes}`]);
  const [port] = (await once(plain, 'message')) as [number];
  const constant = { origin: `http://127.0.0.1:${port}`, headers: {} };
  const leave = await look(session, overview, () => {});
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let n = 0; n < looks; n += 1) {
    // In turns, so that what else the machine does meets both.
    ours.push((await firstByte(session, '/')).ms);
    theirs.push((await firstByte(constant, '/')).ms);
    await sleep(20);
  }
  leave();
  await end(plain);
  const at = (times: number[], share: number) => times.sort((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? 0;
  const cells = (times: number[]) => [0.5, 0.95, 1].map((share) => at(times, share));
  const [console, hono] = [cells(ours), cells(theirs)];
  const row = (name: string, all: number[], text: (ms: number) => string) =>
    `| ${name} | ${all.map(text).join(' | ')} |`;
  const ratios = console.map((ms, index) => ms / (hono[index] ?? 1));
  return [
    row('console', console, (ms) => `${ms.toFixed(2)} ms`),
    row('constant page', hono, (ms) => `${ms.toFixed(2)} ms`),
    row('ratio', ratios, (ratio) => ratio.toFixed(2)),
  ].join('\n');
}

async function lineOf(what: string, shown: readonly ViewedPage[], viewers: number, seconds: number): Promise<string> {
  process.stderr.write(`${viewers} viewers …\n`);
  const sessions: BenchSession[] = [];
  while (sessions.length * viewersPerSession < viewers) sessions.push(await newSession());
  const pid = child.pid ?? 0;
  const memory = (await memoryOf(pid)).now;
  let loaded = 0;
  const leaving = await Promise.all(
    Array.from({ length: viewers }, (_, viewer) => {
      const session = sessions[Math.floor(viewer / viewersPerSession)];
      if (session === undefined) throw new Error('too few sessions');
      return look(session, shown[viewer % shown.length] ?? overview, () => {
        loaded += 1;
      });
    }),
  );
  const before = await countsOf(child);
  let most = memory;
  for (let change = 0; change * changeEveryMs < seconds * 1_000; change += 1) {
    writeRun(`${what}-${viewers}-${change}`);
    await sleep(changeEveryMs);
    most = Math.max(most, (await memoryOf(pid)).now);
  }
  const after = await countsOf(child);
  for (const leave of leaving) leave();
  const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  const asked = (name: keyof ConsoleCounts) => (after[name] - before[name]).toLocaleString('en');
  const cells = [what, viewers, seconds, loaded.toLocaleString('en'), asked('temporal'), asked('stores')];
  return `| ${[...cells, mebibytes(memory), mebibytes(most)].join(' | ')} |`;
}
