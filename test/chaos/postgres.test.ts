import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { findFreePort } from '../../src/embedded/ports.ts';
import { DocferryProcess } from '../support/docferry-process.ts';
import { createDatabase, hasPostgres, type PostgresDatabase } from '../support/postgres-database.ts';

/**
 * Two worker processes on one PostgreSQL, killed with -9 in turn in the middle of two passes of one project (DESIGN B1,
 * S1, S2).
 */

const budget = { requests: 20, windowMs: 5_000 };
const project = 'prj_1';
const running: DocferryProcess[] = [];
let folder: string;
let sandbox: Sandbox;
let database: PostgresDatabase;
let serverPid: number | null = null;

afterEach(async () => {
  for (const child of running.splice(0)) await child.kill('SIGTERM');
  if (serverPid !== null) process.kill(serverPid);
  await sandbox?.stop();
  await database?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function begin(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'docferry-kill-'));
  sandbox = await startSandbox({ ...budget, entries: 8_000, rejects: 0.01 });
  database = await createDatabase();
  const port = await findFreePort();
  await writeFile(
    join(folder, 'docferry.yaml'),
    `temporal: { address: "127.0.0.1:${port}" }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
  - id: acme
    apiKey: "${sandbox.apiKey}"
    budget: { requests: ${budget.requests}, window: 5s, arrival: 1s }
    projects: [{ id: ${project} }]
store: { feedback: "${database.url}" }
`,
  );
  const ports = [await findFreePort(), await findFreePort()];
  const up = start(['up', '--port', `${port}`, '--ui-port', `${ports[0]}`, '--bundle-port', `${ports[1]}`]);
  await up.says('docferry: ready');
  serverPid = JSON.parse(await readFile(join(folder, 'data/temporal.db.server.json'), 'utf8')).pid;
  // Its server lives on; from here on the workers are processes of their own.
  await up.kill('SIGKILL');
}

function start(args: readonly string[]): DocferryProcess {
  const child = new DocferryProcess(args, { cwd: folder });
  running.push(child);
  return child;
}

async function startWorker(): Promise<DocferryProcess> {
  const worker = start(['worker']);
  await worker.says('worker: ready');
  return worker;
}

const analytics = () => sandbox.log().filter((entry) => entry.kind === 'analytics');

describe.skipIf(!hasPostgres())('two workers on one PostgreSQL', () => {
  it('lose and double nothing, whichever of them is killed', async () => {
    await begin();
    const workers = [await startWorker(), await startWorker()];
    const syncs = ['sweep', 'incremental'].map((pass) =>
      start(['feedback', 'sync', project, '--pass', pass, '--wait', '--json']),
    );
    for (let kill = 0; kill < 4; kill += 1) {
      const at = analytics().length;
      await expect.poll(() => analytics().length, { timeout: 90_000, interval: 20 }).toBeGreaterThanOrEqual(at + 15);
      await workers[kill % 2]?.kill('SIGKILL');
      workers[kill % 2] = await startWorker();
    }
    const results: { pages: number; requests: number; entries: Record<string, number> }[] = [];
    for (const sync of syncs) {
      expect(await sync.ended(), sync.output).toBe(0);
      results.push(JSON.parse(sync.stdout));
    }
    const pages = results.reduce((sum, result) => sum + result.pages, 0);
    process.stderr.write(`  ${analytics().length} requests for ${pages} pages, workers killed 4 times\n`);

    const truth = [...sandbox.truth(project)] as ({ id?: unknown; status?: unknown; comment?: unknown } | null)[];
    const held = new Map((await database.rows('select * from feedback')).map((row) => [row.id, row]));
    const rejected = await database.rows('select id from feedback_rejects');
    const distinct = new Set(truth.map((entry) => (typeof entry?.id === 'string' ? entry.id : JSON.stringify(entry))));
    expect(held.size + rejected.length).toBe(distinct.size);
    for (const entry of truth) {
      const row = held.get(entry?.id);
      if (row) expect(row).toMatchObject({ status: entry?.status, comment: entry?.comment ?? null });
    }
    // Each entry was new to one pass and known to the other; neither counted what the other had done.
    expect(results.reduce((sum, { entries }) => sum + (entries.inserted ?? 0), 0)).toBe(held.size);
    expect(results.map(({ entries }) => entries.updated)).toEqual([0, 0]);
    expect(results.map(({ entries }) => entries.seen)).toEqual([truth.length, truth.length]);
    expect(sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(budget.requests);
    expect(analytics().filter((entry) => entry.status === 429)).toEqual([]);
  }, 300_000);
});
