import { setMaxListeners } from 'node:events';
import { createServer } from 'node:http';
import { listen, requestLimits, stopListening } from '../../http-server.ts';
import type { PermitSource } from '../ask-for-lease.ts';
import type { AnalyticsAccess } from '../../service/analytics-access.ts';
import { ClientTokens } from './client-tokens.ts';
import type { GatewayClient } from './gateway-client.ts';
import { PermitQueue } from './permit-queue.ts';
import { RequestHandler } from './request-handler.ts';

export interface GatewayOptions {
  /** 127.0.0.1 by default. */
  host?: string;
  /** 0 picks a free one. */
  port: number;
  clients: readonly { client: GatewayClient; token: string }[];
  /** The analytics area with the key of each organization that has clients. */
  analytics: ReadonlyMap<string, AnalyticsAccess>;
  permits: PermitSource;
  /** Longest wait of a request for a permit, in milliseconds. */
  patienceMs: number;
  log: GatewayLog;
  /** Most connections; 1,024 by default. */
  connections?: number;
  /** Most requests of a client that wait; 256 by default. */
  mostWaiting?: number;
  /** A connection on which nothing moves for this long during an answer is cut; 60 s by default. */
  idleMs?: number;
}

export interface GatewayLog {
  info(line: object, message: string): void;
  warn(line: object, message: string): void;
}

export interface Gateway {
  url: string;
  port: number;
  /** Refuses new requests and those that wait for a permit, lets answers end that are coming, and frees the port. */
  stop(): Promise<void>;
}

/**
 * Serves the analytics area of the service to other programs of the organizations: each request waits for a permit of the
 * budget and goes out with the organization's key (B6). Throws `PortTaken`.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host = '127.0.0.1', connections = 1_024, mostWaiting = 256, idleMs = 60_000, log } = options;
  const closing = new AbortController();
  // Every request that waits listens.
  setMaxListeners(0, closing.signal);
  const organizations = new Map(
    [...options.analytics].map(([org, analytics]) => {
      const warn = (error: unknown) => log.warn({ org, err: error }, 'the budget could not be reached');
      return [org, { analytics, queue: new PermitQueue(options.permits, org, warn) }];
    }),
  );
  const handler = new RequestHandler({
    tokens: new ClientTokens(options.clients),
    organizations,
    patienceMs: options.patienceMs,
    mostWaiting,
    idleMs,
    closing: closing.signal,
    log: (line) => log.info(line, 'request'),
  });
  const server = createServer(requestLimits, (request, response) => {
    if (closing.signal.aborted) response.shouldKeepAlive = false;
    void handler.answer(request, response);
  });
  server.maxConnections = connections;
  const { port, url } = await listen(server, { host, port: options.port });
  return {
    url,
    port,
    async stop() {
      const stopped = stopListening(server);
      closing.abort();
      await stopped;
      await Promise.all([...organizations.values()].map(({ queue }) => queue.idle()));
    },
  };
}
