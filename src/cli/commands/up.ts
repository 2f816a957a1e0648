import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Sandbox } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import type { DevServer } from '../../embedded/dev-server.ts';
import type { CommandContext, RunCommand } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { portOf } from '../input/port-option.ts';
import { type RunningParts, withParts } from '../processes/running-parts.ts';
import { loadUpConfig, sandboxOptionsFor, withEmbedded } from '../processes/up-config.ts';
import { warnOfSurprises } from '../processes/up-warnings.ts';
import { factLines } from '../terminal/text.ts';

interface UpFlags {
  sandbox?: boolean;
  port: string;
  uiPort: string;
  bundlePort: string;
  db: string;
  /** False for `--no-server`. */
  server: boolean;
}

interface Addresses {
  temporal: string;
  ui: string | null;
  bundles: string;
  sandbox: string | null;
  workerLog: string;
}

export function addUp(parent: Command, run: RunCommand): void {
  parent
    .command('up')
    .description('Temporal with its UI, a worker and the bundle server on this machine, until SIGINT or SIGTERM')
    .option('--sandbox', 'start the stand-in of the documentation service too; needs no configuration')
    .option('--port <port>', 'port of Temporal', '7233')
    .option('--ui-port <port>', "port of Temporal's UI", '8233')
    .option('--bundle-port <port>', 'port of the bundle server', '8090')
    .option('--db <file>', "Temporal's database", './data/temporal.db')
    .option('--no-server', 'use the Temporal of the configuration instead of an embedded one')
    .action((flags: UpFlags) => run((context) => up(context, flags)));
}

async function up(context: CommandContext, flags: UpFlags): Promise<ExitCode> {
  const { output } = context;
  const ports = {
    port: portOf('--port', flags.port),
    uiPort: portOf('--ui-port', flags.uiPort),
    bundlePort: portOf('--bundle-port', flags.bundlePort),
  };
  return withParts(output, async (parts, interrupted) => {
    const configured = await loadUpConfig(context, { sandbox: flags.sandbox === true, ...ports });
    const temporalPort = flags.server ? ports.port : null;
    const dbFile = resolve(context.cwd, flags.db);
    const server = flags.server
      ? await startServer(context, parts, configured, { ...ports, dbFile }, interrupted)
      : null;
    interrupted.throwIfAborted();
    const sandbox = flags.sandbox ? await startSandbox(configured, parts) : null;
    warnOfSurprises(output, configured, { temporalPort, bundlePort: ports.bundlePort, sandbox });
    const config = server ? withEmbedded(configured, server.address) : configured;
    const { startBundlePart } = await import('../processes/bundle-server-part.ts');
    const bundles = await startBundlePart(config.store.bundles, ports.bundlePort, '--bundle-port');
    parts.add(bundles.part);
    const workerLog = join(dirname(dbFile), 'worker.log');
    const { startWorkerPart } = await import('../processes/worker-part.ts');
    parts.add(await startWorkerPart(config, { file: workerLog }, 'info'));
    const { applySchedulesAtStart } = await import('../processes/up-schedules.ts');
    await parts.during(applySchedulesAtStart(output, config));
    announce(context, {
      temporal: config.temporal.address,
      ui: server?.uiUrl ?? null,
      bundles: bundles.url,
      sandbox: sandbox?.url ?? null,
      workerLog,
    });
    await parts.untilAborted(interrupted);
    output.note('stopping …');
    return exitCodes.done;
  });
}

async function startSandbox(config: Config, parts: RunningParts): Promise<Sandbox> {
  const { startSandboxPart } = await import('../processes/sandbox-part.ts');
  const flag = '`docferry sandbox --port … --storage-port …`, and use `up` without --sandbox';
  const { sandbox, part } = await startSandboxPart(sandboxOptionsFor(config), { port: flag, storagePort: flag });
  parts.add(part);
  return sandbox;
}

async function startServer(
  context: CommandContext,
  parts: RunningParts,
  config: Config,
  places: { port: number; uiPort: number; dbFile: string },
  interrupted: AbortSignal,
): Promise<DevServer> {
  const { startEmbedded } = await import('../processes/embedded-part.ts');
  const { namespace } = config.temporal;
  const { server, part } = await startEmbedded(context, { ...places, namespace }, interrupted);
  parts.add(part);
  return server;
}

function announce({ output }: CommandContext, addresses: Addresses): void {
  const { temporal, ui, bundles, sandbox, workerLog } = addresses;
  const facts: [string, string][] = [['Temporal', temporal]];
  if (ui !== null) facts.push(['Temporal UI', ui]);
  facts.push(['bundles', bundles]);
  if (sandbox !== null) facts.push(['sandbox', sandbox]);
  facts.push(['worker log', workerLog]);
  output.say(factLines(facts));
  if (ui !== null) output.note('this is for evaluation and small single-host use; Ctrl-C stops it');
  output.result({ ready: true, addresses }, 'docferry: ready');
}
