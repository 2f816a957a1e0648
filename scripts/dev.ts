import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startSandbox } from '../sandbox/index.ts';
import { sandboxConfigText } from '../src/cli/commands/sandbox.ts';
import { devServerTool, resolveBinary } from '../src/local/binaries.ts';
import { startDevServer } from '../src/local/dev-server.ts';
import { searchAttributes } from '../src/rules/workflow-ids.ts';

/*
 * `npm run dev`: a Temporal server and the sandbox, which stay, and a worker that is built and started again after each
 * change under src/. A change that does not compile leaves the old worker running. Ctrl-C stops everything; workflows
 * and stores stay in data/dev.
 */

/** A save of several files, or of one by an editor that renames, is one change. */
const settleMs = 300;

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'data', 'dev');
const say = (line: string) => process.stderr.write(`dev: ${line}\n`);

// Before the Temporal program is looked for, which may take minutes.
const stopped = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
});

await mkdir(folder, { recursive: true });
const { path: binary } = await resolveBinary(devServerTool, { onProgress: say });
const server = await startDevServer({
  binary,
  ui: true,
  dbFile: join(folder, 'temporal.db'),
  searchAttributes: Object.values(searchAttributes),
  logFile: join(folder, 'temporal.log'),
});
try {
  const sandbox = await startSandbox({ port: 8787, storagePort: 8788 });
  try {
    await runWorkers();
  } finally {
    await sandbox.stop();
  }
} finally {
  await server.stop();
}

/** Until a signal arrives. */
async function runWorkers(): Promise<void> {
  const configFile = join(folder, 'docferry.yaml');
  const budget = { requests: 100, window: '1h' };
  await writeFile(configFile, sandboxConfigText({ temporalPort: 7233, sandboxPort: 8787, bundlePort: 8090, budget }));
  say(`Temporal UI ${server.uiUrl}; in another terminal: cd data/dev && npx docferry export start docs.acme.example`);
  let change = nextChange();
  let worker = startWorker();
  let running = true;
  const end = stopped.then(() => {
    running = false;
  });
  for (;;) {
    await Promise.race([end, change]);
    if (!running) break;
    change = nextChange();
    say('changed: building');
    if ((await ended(start('npm', ['run', '--silent', 'build']))) !== 0) {
      say('the build failed; the worker from before goes on');
      continue;
    }
    await stop(worker);
    if (!running) break;
    worker = startWorker();
  }
  say('stopping');
  await stop(worker);
}

function startWorker(): ChildProcess {
  return start(process.execPath, [join(root, 'dist/src/starter.js'), 'worker']);
}

/** The children get no Ctrl-C of the terminal: this process stops them in order. */
function start(program: string, args: readonly string[]): ChildProcess {
  const cwd = program === 'npm' ? root : folder;
  return spawn(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended(child);
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Resolves once something under src/ has changed and settled. */
async function nextChange(): Promise<void> {
  await new Promise<void>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const watcher = watch(join(root, 'src'), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        watcher.close();
        resolve();
      }, settleMs);
    });
  });
}
