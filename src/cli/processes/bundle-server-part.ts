import { startBundleServer } from '../../bundle/server/bundle-server.ts';
import type { BundleStoreConfig } from '../../config/config.ts';
import { assertPortFree } from '../../embedded/ports.ts';
import { openBundleStore } from '../../wiring/open-bundle-store.ts';
import { never, type Part } from './running-parts.ts';

/** Serves published bundles, on loopback unless another address is given. Throws `PortTaken` naming the flag. */
export async function startBundlePart(
  bundles: BundleStoreConfig,
  port: number,
  flag: string,
  host = '127.0.0.1',
): Promise<{ url: string; part: Part }> {
  await assertPortFree(port, flag);
  const source = bundles.kind === 'directory' ? { root: bundles.directory } : { store: await openBundleStore(bundles) };
  const { token, readers, readersPerAddress, idleMs } = bundles.server;
  const limits = { readers, readersPerAddress, idleMs, ...(token && { token: token.read() }) };
  const server = await startBundleServer({ ...source, ...limits, publicUrl: bundles.publicUrl, host, port });
  return { url: server.url, part: { name: 'the bundle server', ended: never, stop: () => server.stop() } };
}
