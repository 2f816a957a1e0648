import type { BundleStoreConfig } from '../../config/config.ts';
import { startBundleServer } from '../../exports/server/bundle-server.ts';
import { openBundleStore } from '../../exports/store/open-bundle-store.ts';
import { assertPortFree } from '../../local/ports.ts';
import { explainFailure } from '../explain-failure.ts';
import type { Output } from '../terminal/output.ts';
import { never, type Part } from './running-parts.ts';

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
