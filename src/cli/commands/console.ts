import type { Config } from '../../config/config.ts';
import { type RunningConsole, startConsole } from '../../console/console.tsx';
import type { ConsoleSetting } from '../../console/console-setting.ts';
import { isLoopback } from '../../rules/proxy.ts';
import { connectOptions } from '../../temporal/connection.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig, type Output } from '../context.ts';
import { explainFailure } from '../explain-failure.ts';
import { noLinkHelp, port } from '../flags.ts';
import { accessOf } from '../operator.ts';
import { never, type Part, withParts } from '../parts.ts';

export default {
  console: (command, run) =>
    command
      .option('--port <port>', 'port to listen on', port('--port'), 8088)
      .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .option('--no-link', noLinkHelp)
      .action(run(runConsole)),
} satisfies CommandFile;

interface ConsoleFlags {
  port: number;
  host: string;
  /** False for `--no-link`. */
  link: boolean;
}

async function runConsole(context: CommandContext, { port, host, link }: ConsoleFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    warnOfOpenConsole(output, config, host);
    warnOfNoSignIn(output, config, link);
    // The only way to sign in again: also with --quiet.
    const onNewLink = (next: string) => output.say(`to sign in once more: ${next}`);
    const place = { host, port, temporalUi: null, link, onNewLink };
    const { console, part } = await startConsolePart(config, place);
    parts.add(part);
    const { url, signInUrl } = console;
    const may = config.console.write ? 'operators may act' : 'read-only: console.write lets operators act';
    output.result(
      { ready: true, url, signInUrl, write: config.console.write },
      `open ${signInUrl ?? url}\n${signInUrl === null ? '' : 'the link works once; '}${may}\nconsole: ready`,
    );
    await parts.untilAborted(interrupted);
    output.note('stopping …');
  });
}

interface ConsolePlace {
  host: string;
  port: number;
  /** Of the Temporal UI that runs beside it; null for the configured one. */
  temporalUi: string | null;
  /** False for `--no-link`. */
  link: boolean;
  onNewLink(url: string): void;
}

/** Starts the console. Throws `PortTaken`, and `ConfigError` when the provider's secret is missing. */
export async function startConsolePart(
  config: Config,
  { temporalUi, ...place }: ConsolePlace,
): Promise<{ console: RunningConsole; part: Part }> {
  const { write, idleMs, lifetimeMs, url, previewUrl, viewers, operators, contacts, proxy, oidc } = config.console;
  const console = await startConsole({
    setting: consoleSetting(config, config.console.temporalUi ?? temporalUi),
    ...place,
    url,
    previewUrl,
    write,
    idleMs,
    lifetimeMs,
    roles: { viewers, operators, contacts },
    proxy,
    openId: oidc && { ...oidc, clientSecret: oidc.clientSecret.read() },
  });
  return { console, part: { name: 'the console', ended: never, stop: () => console.stop() } };
}

/** What the console needs of the configuration. */
export function consoleSetting(config: Config, temporalUi: string | null): ConsoleSetting {
  const { organizations, temporal } = config;
  const { namespace } = connectOptions(temporal);
  return { ...accessOf(config), organizations, temporalUi, namespace, explain: explainFailure };
}

/** An eavesdropper who reads a session's cookie can act in its name. */
function warnOfOpenConsole(output: Output, { console }: Config, host: string): void {
  if (isLoopback(host) || console.url?.startsWith('https:')) return;
  output.warn(
    `sessions travel to ${host} unencrypted: put a TLS proxy in front of it, and its address into console.url`,
  );
}

/** Says so when `--no-link` leaves no way to sign in. */
export function warnOfNoSignIn(output: Output, { console }: Config, link: boolean): void {
  if (link || console.proxy !== null || console.oidc !== null) return;
  output.warn('nobody can sign in to the console: --no-link, and neither console.proxy nor console.oidc is configured');
}
