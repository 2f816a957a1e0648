import type { Config, ConsoleConfig } from '../../config/config.ts';
import { type RunningConsole, startConsole } from '../../console/console.tsx';
import type { ConsoleSetting } from '../../console/console-setting.ts';
import { PortTaken } from '../../http-server.ts';
import { connectOptions } from '../../temporal/connection.ts';
import { explainFailure } from '../explain-failure.ts';
import { accessOf } from '../operator.ts';
import { never, type Part } from './running-parts.ts';

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
  const { write, idleMs, lifetimeMs, url, viewers, operators, contacts, proxy, oidc } = config.console;
  const console = await startConsole({
    setting: consoleSetting(config, config.console.temporalUi ?? temporalUi),
    ...place,
    url,
    write,
    idleMs,
    lifetimeMs,
    roles: { viewers, operators, contacts },
    proxy,
    openId: openIdOf(oidc),
  });
  return { console, part: { name: 'the console', ended: never, stop: () => console.stop() } };
}

/** Like `startConsolePart`, but on a free port if the usual one is taken. */
export async function startConsoleSomewhere(
  config: Config,
  place: ConsolePlace,
): Promise<{ console: RunningConsole; part: Part }> {
  try {
    return await startConsolePart(config, place);
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    return startConsolePart(config, { ...place, port: 0 });
  }
}

function openIdOf(oidc: ConsoleConfig['oidc']) {
  return oidc && { ...oidc, clientSecret: oidc.clientSecret.read() };
}

/** What the console needs of the configuration. */
export function consoleSetting(config: Config, temporalUi: string | null): ConsoleSetting {
  const { organizations, temporal } = config;
  const { namespace } = connectOptions(temporal);
  return { ...accessOf(config), organizations, temporalUi, namespace, explain: explainFailure };
}
