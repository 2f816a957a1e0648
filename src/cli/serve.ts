import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { portOf } from './port-option.ts';
import { withParts } from './running-parts.ts';
import { warnOfOtherBundlePort } from './up-warnings.ts';

export function addServe(parent: Command, run: RunCommand): void {
  parent
    .command('serve')
    .description('The server of published bundles alone, on loopback, until SIGINT or SIGTERM')
    .option('--bundle-port <port>', 'port to listen on', '8090')
    .action((flags: { bundlePort: string }) => run((context) => serve(context, flags.bundlePort)));
}

async function serve(context: CommandContext, portText: string): Promise<ExitCode> {
  const { output } = context;
  const port = portOf('--bundle-port', portText);
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    const { directory } = config.store.bundles;
    warnOfOtherBundlePort(output, config, port);
    const { startBundlePart } = await import('./bundle-server-part.ts');
    const { url, part } = await startBundlePart(directory, port, '--bundle-port');
    parts.add(part);
    output.result({ ready: true, url, directory }, `serving ${directory} at ${url}\nserve: ready`);
    await parts.untilAborted(interrupted);
    return exitCodes.done;
  });
}
