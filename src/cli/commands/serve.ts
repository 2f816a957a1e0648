import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { startBundlePart } from '../parts/bundle-server-part.ts';
import { withParts } from '../parts/running-parts.ts';
import { warnOfOpenServer, warnOfOtherBundlePort } from '../parts/up-warnings.ts';
import { bundlePlace } from '../stores.ts';

interface ServeFlags {
  bundlePort: number;
  bundleHost: string;
}

export default async function serve(
  context: CommandContext,
  { bundlePort, bundleHost }: ServeFlags,
): Promise<ExitCode> {
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
