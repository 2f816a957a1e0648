import { createServer } from 'node:http';
import { listen, stopListening } from '../../http-server.ts';
import type { HostAndPort } from '../flag-values.ts';
import { never, type Part } from '../parts/running-parts.ts';

/**
 * Answers `GET /healthz` with `{"state": …}`: 200 while the worker is `RUNNING`, else 503. A process that hangs does not
 * answer at all. Whether Temporal can be reached does not count: a restart would not help, and the worker waits for it.
 */
export async function startHealthPart({ host, port }: HostAndPort, state: () => string): Promise<Part> {
  const server = createServer((request, response) => {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    const now = state();
    const status = request.url !== '/healthz' ? 404 : now === 'RUNNING' ? 200 : 503;
    response.writeHead(status, headers).end(status === 404 ? '{}\n' : `${JSON.stringify({ state: now })}\n`);
  });
  await listen(server, { host, port, flag: '--health' });
  return { name: 'the health check', ended: never, stop: () => stopListening(server, 0) };
}
