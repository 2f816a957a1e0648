import { budgetClientOf } from '../../budget/client.ts';
import { startGateway } from '../../budget/gateway/gateway.ts';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/secrets.ts';
import { servicesOf } from '../../organizations.ts';
import { isLoopback } from '../../rules/proxy.ts';
import { connectClient } from '../../temporal/connection.ts';
import { createLog, logDestination } from '../../temporal/log.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig, type Output } from '../context.ts';
import { duration, type HostAndPort, hostAndPort, metricsHelp, port } from '../flags.ts';
import { withFeedbackStore } from '../operator.ts';
import { freeAddress, never, type Part, withParts } from '../parts.ts';

export default {
  gateway: (command, run) =>
    command
      .option('--port <port>', 'port to listen on', port('--port'), 8789)
      .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .option('--max-wait <duration>', 'how long a request waits for a permit, by default 30s', duration('--max-wait'))
      .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
      .action(run(runGateway)),
} satisfies CommandFile;

/** Starts the gateway, logging to stderr. Throws `ConfigError` without clients, `TemporalUnreachable`, `PortTaken`. */
async function startGatewayPart(
  config: Config,
  place: { host: string; port: number; maxWaitMs: number },
  { level, metricsAddress }: { level: 'info' | 'warn'; metricsAddress: string | undefined },
): Promise<{ url: string; part: Part }> {
  const clients = clientsOf(config);
  const log = createLog(logDestination({ stderr: true }), level);
  let services = servicesOf(config, new Set(clients.map(({ client }) => client.org)));
  if (metricsAddress !== undefined) {
    // The SDK for workers is loaded for that alone.
    const { countedServices } = await import('../../worker-metrics.ts');
    services = countedServices(services, log, metricsAddress);
  }
  const temporal = await connectClient(config.temporal);
  try {
    const permits = budgetClientOf(temporal, config, (work) => withFeedbackStore(config, work));
    const gateway = await startGateway({ ...place, clients, services, permits, log });
    const stop = async () => {
      await gateway.stop();
      await temporal.connection.close();
    };
    return { url: gateway.url, part: { name: 'the gateway', ended: never, stop } };
  } catch (error) {
    await temporal.connection.close();
    throw error;
  }
}

function clientsOf({ file, gateway }: Config) {
  if (gateway.clients.length === 0) {
    throw new ConfigError(`${file} names no clients of the gateway`, [], 'add them under gateway.clients');
  }
  const clients = gateway.clients.map(({ token, ...client }) => ({ client, token: token.read() }));
  const tokens = clients.map(({ token }) => token);
  for (const [i, { token, client }] of clients.entries()) {
    const same = clients[tokens.indexOf(token)]?.client.name;
    if (tokens.indexOf(token) < i) throw new ConfigError(`the clients ${same} and ${client.name} have the same token`);
  }
  return clients;
}

interface GatewayFlags {
  port: number;
  host: string;
  /** Milliseconds. */
  maxWait?: number;
  metrics?: HostAndPort;
}

const usualMaxWaitMs = 30_000;

async function runGateway(
  context: CommandContext,
  { port, host, maxWait = usualMaxWaitMs, metrics }: GatewayFlags,
): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'gateway');
    warnOfOpenGateway(output, host);
    const level = output.quiet ? 'warn' : 'info';
    const metricsAddress = metrics && (await freeAddress('--metrics', metrics));
    const place = { host, port, maxWaitMs: maxWait };
    const { url, part } = await startGatewayPart(config, place, { level, metricsAddress });
    parts.add(part);
    const clients = config.gateway.clients.map(({ name }) => name);
    output.result({ ready: true, url, clients }, `forwarding for ${clients.join(', ')} at ${url}\ngateway: ready`);
    await parts.untilAborted(interrupted);
    output.note('stopping: finishing answers in progress, refusing queued requests');
  });
}

/** An eavesdropper who reads a token can use up the organization's requests. */
function warnOfOpenGateway(output: Output, host: string): void {
  if (isLoopback(host)) return;
  output.warn(`tokens and feedback travel to ${host} unencrypted: let only a TLS proxy or a private network reach it`);
}
