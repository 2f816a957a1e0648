import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { ExplainedError } from './model/explained-error.ts';

/** Another program uses the port. */
export class PortTaken extends ExplainedError {
  override readonly name = 'PortTaken';
  readonly code = 'PortTaken';
  readonly hint: string;

  constructor(host: string, port: number, flag: string) {
    super(`port ${port} on ${host} is taken`);
    this.hint = `stop what listens there, or choose another with ${flag}`;
  }
}

const idleSweepMs = 50;

/** A client sends its request, which is short, within seconds; times in milliseconds, the size in bytes. */
export const requestLimits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
};

/**
 * Listens there; port 0 picks a free one, `flag` is the one that chooses another. Throws `PortTaken`.
 *
 * @returns the port, and the address as a URL
 */
export function listen(
  server: Server,
  { host, port, flag = '--port' }: { host: string; port: number; flag?: string },
): Promise<{ port: number; url: string }> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortTaken(host, port, flag) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      const actual = address !== null && typeof address === 'object' ? address.port : port;
      resolve({ port: actual, url: `http://${isIPv6(host) ? `[${host}]` : host}:${actual}` });
    });
  });
}

/**
 * Takes no more connections, and ends once the port is free: answers under way may end, within `graceMs` if it is given.
 */
export async function stopListening(server: Server, graceMs?: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection that falls idle after its last answer stays open otherwise, for as long as clients may reuse it.
  const idle = setInterval(() => server.closeIdleConnections(), idleSweepMs);
  const grace = graceMs === undefined ? undefined : setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}
