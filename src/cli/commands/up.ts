import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Sandbox, SandboxOptions } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import { errorCode, isThere } from '../../files.ts';
import { PortTaken } from '../../http-server.ts';
import { assertPortFree } from '../../local/ports.ts';
import { isLoopback } from '../../rules/proxy.ts';
import { connectOptions, type TemporalSettings } from '../../temporal/connection.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig, type Output } from '../context.ts';
import { applySchedulesAtStart, startEmbedded } from '../embedded.ts';
import { explainFailure } from '../explain-failure.ts';
import { type HostAndPort, hostAndPort, metricsHelp, noLinkHelp, port } from '../flags.ts';
import { freeAddress, type RunningParts, withParts } from '../parts.ts';
import { factLines } from '../terminal/text.ts';
import { sandboxConfigText, startSandboxPart, usualSandbox } from './sandbox.ts';
import { startBundlePart, warnOfOtherBundlePort } from './serve.ts';
import { startWorkerPart } from './worker.ts';

export default {
  up: (command, run) =>
    command
      .option('--sandbox', 'also run the sandbox, a stand-in for the documentation service; needs no configuration')
      .option('--port <port>', 'port of Temporal', port('--port'), 7233)
      .option('--ui-port <port>', "port of Temporal's UI", port('--ui-port'), 8233)
      .option('--no-ui', "run without Temporal's UI")
      .option('--bundle-port <port>', 'port of the bundle server', port('--bundle-port'), 8090)
      .option(
        '--console-port <port>',
        'port of the console, or off; default: 8088, or a free port if 8088 is taken',
        (text) => (text === 'off' ? text : port('--console-port')(text)),
      )
      .option('--sandbox-port <port>', "with --sandbox: port of the sandbox's interface", port('--sandbox-port'), 8787)
      .option('--storage-port <port>', 'with --sandbox: port of its storage', port('--storage-port'), 8788)
      .option('--db <file>', "Temporal's database, relative to the current folder", './data/temporal.db')
      .option('--no-server', 'use the configured Temporal instead of an embedded server')
      .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
      .option('--no-link', noLinkHelp)
      .action(run(up)),
} satisfies CommandFile;

interface UpFlags {
  sandbox?: boolean;
  port: number;
  uiPort: number;
  bundlePort: number;
  consolePort?: number | 'off';
  sandboxPort: number;
  storagePort: number;
  db: string;
  ui: boolean;
  server: boolean;
  /** False for `--no-link`. */
  link: boolean;
  metrics?: HostAndPort;
}

interface Addresses {
  temporal: string;
  ui: string | null;
  bundles: string;
  /** Where to sign in or, where there is no link for it, where it is; null when it does not run. */
  console: string | null;
  sandbox: string | null;
  workerLog: string;
  metrics: string | null;
}

async function up(context: CommandContext, flags: UpFlags): Promise<ExitCode> {
  const { output } = context;
  const { port, bundlePort } = flags;
  return withParts(output, async (parts, interrupted) => {
    const dbFile = resolve(context.cwd, flags.db);
    const load = () => loadUpConfig(context, flags);
    // With --sandbox it may write the configuration, so not before all ports are known to be free.
    const given = flags.sandbox ? null : await load();
    await requireFreePorts(flags, dbFile);
    const metricsAddress = flags.metrics && (await freeAddress('--metrics', flags.metrics));
    const configured = given ?? (await load());
    const temporalPort = flags.server ? port : null;
    const uiPort = flags.ui ? flags.uiPort : null;
    const { namespace } = configured.temporal;
    const embedded = flags.server
      ? await startEmbedded(context, { port, uiPort, dbFile, namespace }, interrupted)
      : null;
    if (embedded !== null) parts.add(embedded.part);
    interrupted.throwIfAborted();
    const sandboxOptions = flags.sandbox ? sandboxOptionsFor(configured, flags) : null;
    const started = sandboxOptions && (await startSandboxPart(sandboxOptions, sandboxFlags));
    if (started !== null) parts.add(started.part);
    const sandbox = started?.sandbox ?? null;
    warnOfSurprises(output, configured, { temporalPort, bundlePort, sandbox });
    const config = embedded ? withEmbedded(configured, embedded.server.address) : configured;
    const bundles = await startBundlePart(output, config.store.bundles, bundlePort, '--bundle-port');
    parts.add(bundles.part);
    const workerLog = join(dirname(dbFile), 'worker.log');
    parts.add(await startWorkerPart(config, { file: workerLog }, { metricsAddress }));
    parts.add(await parts.during(applySchedulesAtStart(output, config)));
    const signInUrl = await startConsole(context, parts, config, flags, embedded?.uiUrl ?? null);
    const addresses = {
      temporal: connectOptions(config.temporal).connection.address,
      ui: embedded?.uiUrl ?? null,
      bundles: bundles.url,
      console: signInUrl,
      sandbox: sandbox?.url ?? null,
      workerLog,
      metrics: metricsAddress ? `http://${metricsAddress}/metrics` : null,
    };
    announce(context, addresses, embedded !== null);
    await parts.untilAborted(interrupted);
    output.note('stopping …');
  });
}

/** Throws `PortTaken` before anything is written or started. */
async function requireFreePorts(flags: UpFlags, dbFile: string): Promise<void> {
  await assertPortFree(flags.bundlePort, '--bundle-port');
  if (flags.sandbox) {
    await assertPortFree(flags.sandboxPort, sandboxFlags.port);
    await assertPortFree(flags.storagePort, sandboxFlags.storagePort);
  }
  // With a database there may be a server of an earlier `up` to take over.
  if (!flags.server || (await isThere(dbFile))) return;
  await assertPortFree(flags.port, '--port');
  if (flags.ui) await assertPortFree(flags.uiPort, '--ui-port');
}

const sandboxFlags = { port: '--sandbox-port', storagePort: '--storage-port' };

const usualPort = 8088;

/** The console is an extra: its failures stop nothing else. */
async function startConsole(
  { output }: CommandContext,
  parts: RunningParts,
  config: Config,
  { consolePort: wanted, link }: UpFlags,
  temporalUi: string | null,
): Promise<string | null> {
  if (wanted === 'off') return null;
  try {
    const { startConsolePart, warnOfNoSignIn } = await import('./console.ts');
    const onNewLink = (next: string) => output.say(`to sign in to the console once more: ${next}`);
    const place = { host: '127.0.0.1', port: wanted ?? usualPort, temporalUi, link, onNewLink };
    const { console, part } = await startConsolePart(config, place).catch((error: unknown) => {
      // Another port than a person asked for would surprise them.
      if (wanted !== undefined || !(error instanceof PortTaken)) throw error;
      return startConsolePart(config, { ...place, port: 0 });
    });
    parts.add(part);
    warnOfNoSignIn(output, config, link);
    return console.signInUrl ?? console.url;
  } catch (error) {
    const { message, hint } = explainFailure(error);
    output.warn(`the console does not run: ${message}${hint === null ? '' : `; ${hint}`}`);
    return null;
  }
}

function announce({ output }: CommandContext, addresses: Addresses, isEmbedded: boolean): void {
  const { temporal, ui, bundles, console, sandbox, workerLog, metrics } = addresses;
  const named = { Temporal: temporal, 'Temporal UI': ui, bundles, console, sandbox, 'worker log': workerLog, metrics };
  const facts = Object.entries(named).flatMap(([name, place]) => (place === null ? [] : [[name, place] as const]));
  output.say(factLines(facts));
  if (isEmbedded) output.note('for evaluation and small single-host use; Ctrl-C stops it');
  output.result({ ready: true, addresses }, 'docferry: ready');
}

type SandboxPorts = Pick<UpFlags, 'sandboxPort' | 'storagePort'>;

/** The configuration of `up`. `--sandbox` writes one into a folder that has none; a named one must exist. */
export async function loadUpConfig(
  context: CommandContext,
  { sandbox, port, sandboxPort, bundlePort }: Pick<UpFlags, 'sandbox' | 'port' | 'sandboxPort' | 'bundlePort'>,
): Promise<Config> {
  const named = context.configFile ?? context.env.DOCFERRY_CONFIG;
  if (sandbox && !named) {
    const text = sandboxConfigText({ ...usualSandbox, temporalPort: port, sandboxPort, bundlePort });
    const file = resolve(context.cwd, 'docferry.yaml');
    if (await writeIfAbsent(file, text)) context.output.note(`wrote ${file} for the sandbox`);
  }
  return loadContextConfig(context, 'required');
}

async function writeIfAbsent(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** A sandbox with what the configuration names, its own keys, and the first organization's budget as each one's. */
export function sandboxOptionsFor(
  { organizations }: Config,
  { sandboxPort, storagePort }: SandboxPorts,
): SandboxOptions {
  return {
    port: sandboxPort,
    storagePort,
    ...(organizations[0] && { requests: organizations[0].budget.requests, windowMs: organizations[0].budget.windowMs }),
    organizations: organizations.map(({ id, projects, sites }) => ({
      id,
      projects: projects.map((project) => ({ id: project.id })),
      domains: sites.map(({ domain }) => domain),
    })),
  };
}

/** The configuration, pointed at the server that this process runs. */
export function withEmbedded(config: Config, address: string): Config {
  const temporal: Config['temporal'] & TemporalSettings = { ...config.temporal, address, embedded: true };
  return { ...config, temporal };
}

interface UpSetting {
  /** Null for `--no-server`. */
  temporalPort: number | null;
  bundlePort: number;
  sandbox: Sandbox | null;
}

/** Warns of settings that disagree and would cause confusing failures later. */
export function warnOfSurprises(
  output: Output,
  config: Config,
  { temporalPort, bundlePort, sandbox }: UpSetting,
): void {
  if (temporalPort !== null) warnOfOtherTemporal(output, config, temporalPort);
  warnOfOtherBundlePort(output, config, bundlePort);
  if (sandbox !== null) warnOfOtherService(output, config, sandbox);
}

function warnOfOtherTemporal(output: Output, { temporal }: Config, port: number): void {
  let options: ReturnType<typeof connectOptions>;
  try {
    options = connectOptions(temporal);
  } catch (error) {
    output.warn(`other commands cannot connect: ${explainFailure(error).message}`);
    return;
  }
  const { namespace } = options;
  const { address } = options.connection;
  const [host = '', otherPort] = address.split(':');
  if (!isLoopback(host) || otherPort !== String(port)) {
    output.warn(
      `the embedded Temporal is at 127.0.0.1:${port}, but other commands use ${address}: set temporal.address`,
    );
  } else if (namespace !== temporal.namespace) {
    const own = `the embedded Temporal has the namespace ${temporal.namespace}`;
    output.warn(`${own}, but other commands use ${namespace}: set temporal.namespace`);
  }
}

function warnOfOtherService(output: Output, { service, organizations }: Config, sandbox: Sandbox): void {
  const { port } = new URL(sandbox.url);
  const configured = new URL(service.baseUrl);
  if (!isLoopback(configured.hostname) || configured.port !== port) {
    output.warn(`service.baseUrl is ${service.baseUrl}, not the sandbox at ${sandbox.url}`);
    return;
  }
  for (const { id, apiKey } of organizations) {
    const expected = sandbox.organizations.find((organization) => organization.id === id)?.apiKey;
    if (expected !== apiKey.read()) output.warn(`the sandbox will refuse the key of ${id}: it expects ${expected}`);
  }
}
