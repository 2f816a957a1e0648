import type { BundleStoreConfig, Config } from '../../config/config.ts';
import { startBundleServer } from '../../exports/server/bundle-server.ts';
import { openBundleStore } from '../../exports/store/open-bundle-store.ts';
import { assertPortFree } from '../../local/ports.ts';
import { isLoopback } from '../../rules/proxy.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig, type Output } from '../context.ts';
import { explainFailure } from '../explain-failure.ts';
import { port } from '../flags.ts';
import { bundlePlace } from '../operator.ts';
import { never, type Part, withParts } from '../parts.ts';

export default {
  serve: (command, run) =>
    command
      .option('--bundle-port <port>', 'port to listen on', port('--bundle-port'), 8090)
      .option('--bundle-host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .action(run(serve)),
} satisfies CommandFile;

async function serve(context: CommandContext, flags: { bundlePort: number; bundleHost: string }): Promise<ExitCode> {
  const { output } = context;
  const { bundlePort, bundleHost } = flags;
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
  });
}

/** A disk that fails would fill the terminal otherwise. */
const warnEveryMs = 60_000;

/** Serves published bundles, on loopback unless another address is given. Throws `PortTaken` naming the flag. */
export async function startBundlePart(
  output: Output,
  bundles: BundleStoreConfig,
  port: number,
  flag: string,
  host = '127.0.0.1',
): Promise<{ url: string; part: Part }> {
  await assertPortFree(port, flag);
  const source = bundles.kind === 'directory' ? { root: bundles.directory } : { store: await openBundleStore(bundles) };
  const { token, readers, readersPerAddress, idleMs } = bundles.server;
  const limits = { readers, readersPerAddress, idleMs, ...(token && { token: token.read() }) };
  const { publicUrl } = bundles;
  const server = await startBundleServer({ ...source, ...limits, publicUrl, host, port, onFailure: warningOf(output) });
  return { url: server.url, part: { name: 'the bundle server', ended: never, stop: () => server.stop() } };
}

function warningOf(output: Output): (error: unknown) => void {
  let next = 0;
  return (error) => {
    if (Date.now() < next) return;
    next = Date.now() + warnEveryMs;
    output.warn(
      `the bundle server could not read a bundle: ${explainFailure(error).message} (see \`docferry store verify\`)`,
    );
  };
}

/** Published addresses name `publicUrl`, even when another program listens there. */
export function warnOfOtherBundlePort(output: Output, { store }: Config, bundlePort: number): void {
  const { publicUrl } = store.bundles;
  const { hostname, port } = new URL(publicUrl);
  if (!isLoopback(hostname) || port === String(bundlePort)) return;
  output.warn(`store.bundles.publicUrl is ${publicUrl}, but the bundle server listens on port ${bundlePort}`);
}

/** Bundles are often documentation for customers only. */
function warnOfOpenServer(output: Output, { store }: Config, host: string): void {
  if (isLoopback(host) || store.bundles.server.token !== null) return;
  output.warn(
    `bundles are served at ${host} without a token: every client that reaches this address can read them; set store.bundles.server.token`,
  );
}
