import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { type DevServer, startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { Database } from '../../src/sqlite.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

/**
 * Assumption D of docs/budget.md. A built worker stops itself with SIGSTOP at exactly the place where nothing can be
 * checked any more, between the lease's last check and the system call that writes the request, or right after that
 * call (stop-at-write.mjs), and goes on when this test sends SIGCONT. Another worker takes the work over meanwhile. The
 * sandbox's log of arrivals is the judge (B1).
 *
 * The slots of a lease that nobody reported are held until its end and D. So a stop for more than D does no harm as
 * long as it is over by then; later nothing on the worker's side can call the request back.
 */

const budget = { requests: 10, windowMs: 10_000 };
const arrivalMs = 3_000;
/** How long a lease can be used; its slots are held for D and a window longer when nobody reports it. */
const leaseMs = 15_000;
let folder: string;
let sandbox: Sandbox;
let server: DevServer;
const running: DocferryProcess[] = [];

afterEach(async () => {
  // -9 ends a stopped process too.
  for (const process of running.splice(0)) await process.kill('SIGKILL');
  await server?.stop();
  await sandbox?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function begin(pages: number): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'docferry-stop-'));
  await mkdir(join(folder, 'orders'));
  sandbox = await startSandbox({ ...budget, entries: pages * 100 });
  const { path: binary } = await resolveBinary(devServerTool);
  server = await startDevServer({
    binary,
    port: await findFreePort(),
    logFile: join(folder, 'temporal.log'),
    searchAttributes: Object.values(searchAttributes),
  });
  await writeFile(
    join(folder, 'docferry.yaml'),
    `temporal: { address: "${server.address}" }
service: { baseUrl: "${sandbox.url}", allowInsecure: true }
organizations:
  - id: acme
    apiKey: "${sandbox.apiKey}"
    budget: { requests: ${budget.requests}, window: ${budget.windowMs}ms, arrival: ${arrivalMs}ms }
    projects: [{ id: prj_1 }]
`,
  );
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): DocferryProcess {
  const process = new DocferryProcess(args, { cwd: folder, env });
  running.push(process);
  return process;
}

async function startWorkers(count: number): Promise<void> {
  const env = {
    NODE_OPTIONS: `--import ${resolve('test/chaos/stop-at-write.mjs')}`,
    STOP_FOLDER: join(folder, 'orders'),
  };
  const workers = Array.from({ length: count }, () => start(['worker'], env));
  await Promise.all(workers.map((worker) => worker.says('worker: ready')));
}

const analytics = () => sandbox.log().filter((entry) => entry.kind === 'analytics');

interface Stop {
  /** By the stopped process's own monotonic clock, in milliseconds. */
  lastedMs: number;
  /** Requests of others that arrived while it was stopped. */
  meanwhile: number;
}

/** Stops whichever worker writes the next request, for `ms`. */
async function stopAt(place: 'before' | 'after', ms: number): Promise<Stop> {
  const orders = join(folder, 'orders');
  await writeFile(join(orders, `armed-${place}`), '');
  const pid = await numberIn(orders, 'stopping-', 90_000);
  // The stopped process's own request may be on its way at first.
  await sleep(ms / 4);
  const before = analytics().length;
  await sleep((ms * 3) / 4);
  const meanwhile = analytics().length - before;
  process.kill(pid, 'SIGCONT');
  await numberIn(orders, 'went-on-', 10_000);
  const lastedMs = Number(await readFile(join(orders, `went-on-${pid}`), 'utf8'));
  for (const file of await readdir(orders)) await rm(join(orders, file));
  return { lastedMs, meanwhile };
}

/** The number after `prefix` in the name of a file, once there is one. */
async function numberIn(orders: string, prefix: string, timeout: number): Promise<number> {
  let number = Number.NaN;
  await expect
    .poll(
      async () => {
        const name = (await readdir(orders)).find((file) => file.startsWith(prefix));
        number = Number(name?.slice(prefix.length));
        return number;
      },
      { timeout, interval: 10 },
    )
    .toBeGreaterThan(0);
  return number;
}

function expectAllStoredOnce(): void {
  const db = new Database(join(folder, 'data/feedback.db'), { readOnly: true });
  const stored = db.prepare<{ id: string }>('select id from feedback order by id').all();
  db.close();
  const truth = [...sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id).sort();
  expect(stored.map(({ id }) => id).sort()).toEqual(truth);
}

interface Case {
  place: 'before' | 'after';
  ms: number;
  times: number;
  /** Enough that the sweep is not over before the last stop. */
  pages: number;
}

/** A sweep by two workers, stopped again and again on its way; prints what came of it. */
async function sweepWithStops({ place, ms, times, pages }: Case): Promise<void> {
  await begin(pages);
  await startWorkers(2);
  const sync = start(['feedback', 'sync', 'prj_1', '--wait', '--json']);
  const stops: Stop[] = [];
  while (stops.length < times) {
    stops.push(await stopAt(place, ms));
    // Not twice in one lease: a second stop late in it would end after the lease and D.
    if (ms > arrivalMs) await sleep(Math.max(0, leaseMs - ms) + 1_000);
  }
  expect(await sync.ended()).toBe(0);
  const meanwhile = stops.map((stop) => stop.meanwhile).join(' ');
  process.stderr.write(
    `  ${place}, ${ms} ms, ${times} times: ${analytics().length} requests for ${pages} pages, at most ` +
      `${sandbox.maxInAnyWindow('acme')} in a window; of others during each stop: ${meanwhile}\n`,
  );
  for (const { lastedMs } of stops) expect(lastedMs).toBeGreaterThanOrEqual(ms * 0.9);
  expectAllStoredOnce();
}

describe('a worker stopped at the request', () => {
  it.each([
    { place: 'before', ms: arrivalMs / 2, than: 'less than D', times: 8, pages: 30 },
    { place: 'before', ms: arrivalMs * 4, than: 'more than D', times: 3, pages: 60 },
    { place: 'after', ms: arrivalMs / 2, than: 'less than D', times: 8, pages: 30 },
    { place: 'after', ms: arrivalMs * 4, than: 'more than D', times: 3, pages: 60 },
  ] as const)(
    '$place the bytes leave, for $than ($ms ms), never takes a window over its limit',
    async (stopped) => {
      await sweepWithStops(stopped);
      expect(sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(budget.requests);
      expect(analytics().filter(({ status }) => status === 429)).toEqual([]);
      // The heartbeat finds the stopped worker out, and its page is asked for again under another lease.
      if (stopped.ms > arrivalMs) expect(analytics().length).toBeGreaterThan(stopped.pages);
    },
    400_000,
  );

  it('past the end of its lease and D breaks the assumption, and costs one request too many at most', async () => {
    const ms = leaseMs + arrivalMs + budget.windowMs + 2_000;
    await sweepWithStops({ place: 'before', ms, times: 1, pages: 30 });
    expect(sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(budget.requests + 1);
    expect(analytics().filter(({ status }) => status === 429).length).toBeLessThanOrEqual(1);
  }, 200_000);
});
