import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { port } from '../flags.ts';
import { startBundlePart } from '../parts/bundle-server-part.ts';
import { withParts } from '../parts/running-parts.ts';
import { warnOfOpenServer, warnOfOtherBundlePort } from '../parts/up-warnings.ts';
import { bundlePlace } from '../stores.ts';

export default {
  serve: (command, run) =>
    command
      .option('--bundle-port <port>', 'port to listen on', port('--bundle-port'), 8090)
      .option('--bundle-host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .action(run(serve)),
} satisfies CommandFile;

interface ServeFlags {
  bundlePort: number;
  bundleHost: string;
}

async function serve(context: CommandContext, { bundlePort, bundleHost }: ServeFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    const { bundles } = config.store;
    warnOfOtherBundlePort(output, config, bundlePort);
    warnOfOpenServer(output, config, bundleHost);
    const { url, part } = await startBundlePart(output, bundles, bundlePort, '--bundle-port', bundleHost);
    parts.add(part);
    const place = bundlePlace(bundles);
    const directory = bundles.kind === 'directory' ? { directory: place } : {};
    output.result({ ready: true, url, place, ...directory }, `serving ${place} at ${url}\nserve: ready`);
    await parts.untilAborted(interrupted);
    return exitCodes.done;
  });
}
