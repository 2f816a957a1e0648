import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PortTaken } from '../../src/http-server.ts';
import { type DevServer, type DevServerOptions, startDevServer, waitUntilReady } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { DatabaseInUse, DataFolderNotWritable, DevServerFailed } from '../../src/local/run-command.ts';
import { describeProcess, writeRecord } from '../../src/local/server-record.ts';
import { Database } from '../../src/sqlite.ts';
import { compileSources } from '../tools/compiled-sources.ts';
import { startEnding } from '../tools/ending-process.ts';
import { devServerBinary } from '../tools/temporal/temporal.ts';

let compiled: string;
let folder: string;
type TestOptions = DevServerOptions & { dbFile: string; port: number };

let options: TestOptions;
const cleanUps: (() => unknown)[] = [];

beforeAll(async () => {
  compiled = await compileSources('src/local/dev-server.ts');
});

afterAll(async () => {
  await rm(compiled, { recursive: true });
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-dev-server-'));
  options = await optionsIn(folder);
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await rm(folder, { recursive: true, force: true });
});

async function optionsIn(home: string): Promise<TestOptions> {
  return {
    binary: devServerBinary(),
    port: await findFreePort(),
    ui: true,
    dbFile: join(home, 'data', 'temporal.db'),
    logFile: join(home, 'data', 'temporal.log'),
    searchAttributes: ['DocferryOrg'],
  };
}

/** Starts a server that is stopped after the test in any case. */
async function start(changes: Partial<DevServerOptions> = {}): Promise<DevServer> {
  const server = await startDevServer({ ...options, ...changes });
  cleanUps.push(() => server.stop());
  return server;
}

/** Starts a server in another docferry. */
async function startElsewhere(): Promise<{ owner: ChildProcess; pid: number }> {
  const program = `
    import { startDevServer } from '${compiled}/src/local/dev-server.js';
    process.on('SIGINT', () => process.exit(130));
    console.log((await startDevServer(${JSON.stringify(options)})).pid);
    setInterval(() => undefined, 1000);`;
  const args = ['--input-type=module', '-e', program];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = Number((await once(owner.stdout, 'data'))[0]);
  cleanUps.push(() => isAlive(pid).then((alive) => alive && process.kill(pid, 'SIGKILL')));
  return { owner, pid };
}

/** Starts a server in another docferry, which is then killed -9; returns the process id of the orphaned server. */
async function leaveOrphan(): Promise<number> {
  const { owner, pid } = await startElsewhere();
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  expect(await isAlive(pid)).toBe(true);
  return pid;
}

async function isAlive(pid: number): Promise<boolean> {
  return (await describeProcess(pid))?.command.includes(options.dbFile) ?? false;
}

async function withClient<T>(server: DevServer, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (server: DevServer, workflowId: string) =>
  withClient(server, (client) => client.workflow.start('any', { taskQueue: 'nobody', workflowId }));
const statusOf = (server: DevServer, workflowId: string) =>
  withClient(server, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  return server;
}

/** Which of the server's files others can read: database, log, lock, record, and what SQLite puts there for a while. */
async function openFiles({ dbFile, logFile }: TestOptions): Promise<string[]> {
  const files = await readdir(dirname(dbFile));
  const database = basename(dbFile);
  const expected = [database, basename(logFile), `${database}.lock`, `${database}.server.json`];
  expect(files).toEqual(expect.arrayContaining(expected));
  const modes = await Promise.all(files.map((name) => stat(join(dirname(dbFile), name)).catch(() => null)));
  return files.filter((_, index) => ((modes[index]?.mode ?? 0) & 0o077) !== 0);
}

/** The status of an answer about the namespaces; null when it is no HTTP, or not in time. */
function answerTo(place: string, headers: Record<string, string>): Promise<number | null> {
  return new Promise((resolve) => {
    const url = `http://${place}/api/v1/namespaces`;
    const asked = get(url, { headers, agent: false, timeout: 5_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? null);
    });
    asked.on('timeout', () => asked.destroy()).on('error', () => resolve(null));
  });
}

async function failureOf(starting: Promise<DevServer>): Promise<unknown> {
  return starting.then(
    (server) => server.stop().then(() => new Error('it started')),
    (error: unknown) => error,
  );
}

describe('a server that is ready', () => {
  let home: string;
  let given: TestOptions;
  let server: DevServer;

  beforeAll(async () => {
    vi.stubEnv('ACME_API_KEY', 'planted-secret');
    home = await mkdtemp(join(tmpdir(), 'docferry-dev-server-'));
    given = await optionsIn(home);
    server = await startDevServer(given);
    vi.unstubAllEnvs();
  });

  afterAll(async () => {
    await server.stop();
    await rm(home, { recursive: true });
  });

  it('answers on its port and shows its UI', async () => {
    expect(server).toMatchObject({ adopted: false, address: `127.0.0.1:${given.port}`, namespace: 'default' });
    const page = await fetch(server.uiUrl ?? '');
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<html');
  });

  it('asks its UI itself: the global fetch may go to a proxy, which could not reach it', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new Error('the proxy does not know this address')));
    onTestFinished(() => void vi.unstubAllGlobals());
    const { host } = new URL(server.uiUrl ?? '');
    const port = Number(server.address.split(':')[1]);
    await waitUntilReady({ port, ui: host, namespace: 'default', searchAttributes: [] }, 1_000);
  });

  it('keeps closed workflows for 30 days', async () => {
    const { config } = await withClient(server, ({ connection }) =>
      connection.workflowService.describeNamespace({ namespace: 'default' }),
    );
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600);
  });

  it('takes workflows with its search attributes', async () => {
    const searchAttributes = { DocferryOrg: ['acme'] };
    await withClient(server, (client) =>
      client.workflow.start('any', { taskQueue: 'nobody', workflowId: 'with-attribute', searchAttributes }),
    );
  });

  it('is in a separate process group, out of reach of a Ctrl-C in the terminal', () => {
    expect(() => process.kill(-server.pid, 0)).not.toThrow();
  });

  it.runIf(process.platform === 'linux')('is not given our environment, which may hold API keys', async () => {
    expect(await readFile(`/proc/${server.pid}/environ`, 'utf8')).not.toContain('planted-secret');
  });

  it('keeps its database and its log from other users of this machine', async () => {
    expect(await openFiles(given)).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('answers nothing under a foreign name but where its guard looks', async () => {
    const { stdout } = await promisify(execFile)('ss', ['-ltnpH']);
    const own = stdout.split('\n').filter((line) => line.includes(`pid=${server.pid},`));
    const places = own.map((line) => line.trim().split(/\s+/)[3] ?? '');
    const { host } = new URL(server.uiUrl ?? '');
    expect(places).toEqual(expect.arrayContaining([host, server.address]));
    // Not the address that a foreign name would lead to.
    expect(host).not.toContain('127.0.0.1');
    for (const place of places.filter((other) => other !== host)) {
      const answer = await answerTo(place, { host: 'evil.example' });
      expect([place, answer === 200]).toEqual([place, false]);
    }
  });

  it('refuses another docferry on the same database, naming the first', async () => {
    const error = await failureOf(startDevServer(given));
    expect(error).toBeInstanceOf(DatabaseInUse);
    expect(String(error)).toContain(`process ${process.pid}`);
    await startWorkflow(server, 'untouched');
  });
});

describe('a server', () => {
  it('keeps workflows over a restart, and adds new search attributes', async () => {
    const first = await start();
    await startWorkflow(first, 'kept');
    await first.stop();
    expect(await first.exited).toMatchObject({ code: 0, expected: true });
    // As earlier versions left it.
    await chmod(options.dbFile, 0o644);
    const second = await start({ searchAttributes: ['DocferryOrg', 'DocferryDomain'] });
    expect(second.adopted).toBe(false);
    expect(await openFiles(options)).toEqual([]);
    expect(await statusOf(second, 'kept')).toBe('RUNNING');
    const attributes = await withClient(second, ({ connection }) =>
      connection.operatorService.listSearchAttributes({ namespace: 'default' }),
    );
    expect(Object.keys(attributes.customAttributes)).toEqual(expect.arrayContaining(['DocferryOrg', 'DocferryDomain']));
  });

  it('goes on beside another program that reads its database, as a backup does', async () => {
    const server = await start();
    const reader = new Database(options.dbFile, { readOnly: true });
    reader.exec('begin; select * from sqlite_schema');
    await startWorkflow(server, 'beside-a-reader').finally(() => reader.close());
    expect(await statusOf(server, 'beside-a-reader')).toBe('RUNNING');
  });

  it('is gone once stopped, even when stopped twice, and leaves no record', async () => {
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
    expect(await isAlive(server.pid)).toBe(false);
    expect(existsSync(`${options.dbFile}.server.json`)).toBe(false);
  });

  it('reports when it ends unexpectedly, and starts again with its data', async () => {
    const server = await start();
    await startWorkflow(server, 'kept');
    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).toMatchObject({ signal: 'SIGKILL', expected: false });
    await server.stop();
    expect(await statusOf(await start(), 'kept')).toBe('RUNNING');
  });

  it('keeps nothing and needs no folder without a database', async () => {
    const { dbFile: _, ...inMemory } = options;
    const server = await startDevServer({ ...inMemory, logFile: join(folder, 'log') });
    cleanUps.push(() => server.stop());
    await startWorkflow(server, 'any');
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });
});

it('a server ends with its docferry when that ends at once, as at a second Ctrl-C', async () => {
  const { owner, pid } = await startElsewhere();
  owner.kill('SIGINT');
  await once(owner, 'exit');
  await expect.poll(() => isAlive(pid)).toBe(false);
});

describe('after a kill -9 of its docferry, the server', () => {
  it('is adopted, with all that runs on it, and can be stopped', async () => {
    const orphan = await leaveOrphan();
    const server = await start();
    expect(server).toMatchObject({ adopted: true, pid: orphan });
    expect((await fetch(server.uiUrl ?? '')).status).toBe(200);
    await startWorkflow(server, 'any');
    await server.stop();
    expect(await isAlive(orphan)).toBe(false);
    expect(await server.exited).toMatchObject({ expected: true });
  });

  it('is replaced when other ports are asked for', async () => {
    const orphan = await leaveOrphan();
    const server = await start({ port: await findFreePort() });
    expect(server.adopted).toBe(false);
    expect(await isAlive(orphan)).toBe(false);
  });

  it('is replaced when it does not answer', async () => {
    const orphan = await leaveOrphan();
    process.kill(orphan, 'SIGSTOP');
    // While the thread that the signal wakes writes to a busy disk, the others answer.
    const state = async () => (await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(orphan)])).stdout;
    await expect.poll(state).toMatch(/^T/);
    const server = await start({ adoptWithinMs: 100 });
    expect(server.adopted).toBe(false);
    expect(await isAlive(orphan)).toBe(false);
  });
});

it.runIf(process.platform === 'linux')('a server that was killed leaves its port once it has ended', async () => {
  const { port, dbFile } = options;
  await mkdir(dirname(dbFile));
  const killed = await startEnding(port);
  const startedAt = (await describeProcess(killed.pid))?.startedAt ?? '';
  await writeRecord({ pid: killed.pid, startedAt, port, ui: null, dbFile, fingerprint: 'x', owner: 1 });
  setTimeout(() => killed.kill('SIGKILL'), 500);
  expect((await start()).adopted).toBe(false);
});

describe('a record of a server that is gone', () => {
  let innocent: ChildProcess & { pid: number };

  beforeEach(async () => {
    const child = spawn('sleep', ['600']);
    await once(child, 'spawn');
    innocent = Object.assign(child, { pid: child.pid ?? 0 });
    cleanUps.push(() => child.kill('SIGKILL'));
    await mkdir(dirname(options.dbFile));
  });

  it.each([
    ['has another start time', (_: string) => 'boot/1'],
    ['has another command line', (startedAt: string) => startedAt],
  ])('never harms the process that got its number and %s', async (_, recorded) => {
    const startedAt = recorded((await describeProcess(innocent.pid))?.startedAt ?? '');
    const { port, dbFile } = options;
    await writeRecord({ pid: innocent.pid, startedAt, port, ui: null, dbFile, fingerprint: 'x', owner: 1 });
    const server = await start();
    expect(server.adopted).toBe(false);
    expect(innocent.exitCode ?? innocent.signalCode).toBeNull();
    expect(await describeProcess(innocent.pid)).toBeDefined();
  });
});

describe('the start is refused', () => {
  it('when another program has the port, naming it and --port', async () => {
    await listen(options.port);
    const error = await failureOf(start());
    expect(error).toBeInstanceOf(PortTaken);
    expect(error).toMatchObject({
      code: 'PortTaken',
      place: { port: options.port },
      hint: expect.stringContaining('--port'),
    });
    if (process.platform === 'linux') expect(String(error)).toContain(`process ${process.pid}`);
  });

  it('when the data folder cannot be created', async () => {
    await writeFile(join(folder, 'file'), '');
    const error = await failureOf(start({ dbFile: join(folder, 'file', 'data', 'temporal.db') }));
    expect(error).toBeInstanceOf(DataFolderNotWritable);
    expect(error).toMatchObject({ message: expect.stringContaining('ENOTDIR'), hint: expect.stringContaining('--db') });
  });

  it.skipIf(process.getuid?.() === 0)('when the data folder is read-only', async () => {
    await chmod(folder, 0o500);
    cleanUps.push(() => chmod(folder, 0o700));
    expect(await failureOf(start({ dbFile: join(folder, 'temporal.db') }))).toBeInstanceOf(DataFolderNotWritable);
  });

  it('when the database is broken, with the last lines of the server', async () => {
    await mkdir(dirname(options.dbFile));
    await writeFile(options.dbFile, 'this is no database');
    const error = await failureOf(start());
    expect(error).toBeInstanceOf(DevServerFailed);
    expect(String(error)).toMatch(/ended at once \(exit code 1\)[\s\S]*file is not a database/);
    expect(existsSync(`${options.dbFile}.server.json`)).toBe(false);
  });

  it('when the program cannot be run, and the database is free afterwards', async () => {
    const error = await failureOf(start({ binary: join(folder, 'absent') }));
    expect(error).toBeInstanceOf(DevServerFailed);
    await start();
  });
});
