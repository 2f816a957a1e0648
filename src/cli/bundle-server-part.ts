import { startBundleServer } from '../bundle/bundle-server.ts';
import { assertPortFree } from '../embedded/ports.ts';
import { never, type Part } from './running-parts.ts';

/** Serves published bundles, on loopback unless another address is given. Throws `PortTaken` naming the flag. */
export async function startBundlePart(
  directory: string,
  port: number,
  flag: string,
  host = '127.0.0.1',
): Promise<{ url: string; part: Part }> {
  await assertPortFree(port, flag);
  const server = await startBundleServer({ root: directory, host, port });
  return { url: server.url, part: { name: 'the bundle server', ended: never, stop: () => server.stop() } };
}
