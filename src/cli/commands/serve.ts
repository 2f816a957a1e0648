import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { bundlePlace } from '../input/bundle-place.ts';
import { portOf } from '../input/port-option.ts';
import { withParts } from '../processes/running-parts.ts';
import { warnOfOtherBundlePort } from '../processes/up-warnings.ts';

interface ServeFlags {
  bundlePort: string;
  bundleHost: string;
}

export function addServe(parent: Command, run: RunCommand): void {
  parent
    .command('serve')
    .description('The server of published bundles alone, until SIGINT or SIGTERM')
    .option('--bundle-port <port>', 'port to listen on', '8090')
    .option('--bundle-host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
    .action((flags: ServeFlags) => run((context) => serve(context, flags)));
}

async function serve(context: CommandContext, { bundlePort, bundleHost }: ServeFlags): Promise<ExitCode> {
  const { output } = context;
  const port = portOf('--bundle-port', bundlePort);
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    const { bundles } = config.store;
    warnOfOtherBundlePort(output, config, port);
    const { startBundlePart } = await import('../processes/bundle-server-part.ts');
    const { url, part } = await startBundlePart(bundles, port, '--bundle-port', bundleHost);
    parts.add(part);
    const place = bundlePlace(bundles);
    const directory = bundles.kind === 'directory' ? { directory: place } : {};
    output.result({ ready: true, url, place, ...directory }, `serving ${place} at ${url}\nserve: ready`);
    await parts.untilAborted(interrupted);
    return exitCodes.done;
  });
}
