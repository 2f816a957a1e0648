import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import type { HostAndPort } from '../flag-values.ts';
import { freeAddress } from '../parts/free-address.ts';
import { startGatewayPart } from './gateway-part.ts';
import { withParts } from '../parts/running-parts.ts';
import { warnOfOpenGateway } from '../parts/up-warnings.ts';

interface GatewayFlags {
  port: number;
  host: string;
  /** Milliseconds. */
  patience?: number;
  metrics?: HostAndPort;
}

const usualPatienceMs = 30_000;

export default async function runGateway(
  context: CommandContext,
  { port, host, patience = usualPatienceMs, metrics }: GatewayFlags,
): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'gateway');
    warnOfOpenGateway(output, host);
    const level = output.quiet ? 'warn' : 'info';
    const metricsAddress = metrics && (await freeAddress('--metrics', metrics));
    const place = { host, port, patienceMs: patience };
    const { url, part } = await startGatewayPart(config, place, { level, metricsAddress });
    parts.add(part);
    const clients = config.gateway.clients.map(({ name }) => name);
    output.result({ ready: true, url, clients }, `forwarding for ${clients.join(', ')} at ${url}\ngateway: ready`);
    await parts.untilAborted(interrupted);
    output.note('stopping: answers that are coming may end, requests that wait are refused');
    return exitCodes.done;
  });
}
