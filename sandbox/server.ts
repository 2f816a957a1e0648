import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { handleControl } from './control.ts';
import { type Exchange, sendError } from './exchange.ts';
import { handleExport } from './export/static-export.ts';
import { handleStorage } from './export/storage.ts';
import { handleAnalytics } from './feedback/analytics.ts';
import type { Operations } from './operations.ts';
import type { LogEntry } from './request-log.ts';
import type { World } from './world.ts';

/** Longer than clients keep idle connections, so that resets come only from faults. */
const keepAliveMs = 120_000;

type Handler = (exchange: Exchange) => Promise<void>;

/** The API: analytics, static export and `/control/`. */
export function createApiServer(world: World, operations: Operations, storageUrl: string): Server {
  return createSandboxServer(world, 'api', (exchange) => {
    switch (exchange.log.kind) {
      case 'analytics':
        return handleAnalytics(world, exchange);
      case 'export':
        return handleExport(world, exchange, storageUrl);
      default:
        if (exchange.url.pathname.startsWith('/control/')) return handleControl(world, operations, exchange);
        return Promise.resolve(sendError(exchange, 404, 'There is no such endpoint'));
    }
  });
}

/** The object store. */
export function createStorageServer(world: World): Server {
  return createSandboxServer(world, 'storage', (exchange) => handleStorage(world, exchange));
}

function createSandboxServer(world: World, port: LogEntry['port'], handle: Handler): Server {
  return createServer({ keepAliveTimeout: keepAliveMs }, (req, res) => {
    const exchange = open(world, port, req, res);
    if (exchange === null) return;
    handle(exchange).catch((error: unknown) => fail(exchange, error));
  });
}

/** Logs the request at its arrival and prepares the answer; null when the address cannot be read. */
function open(world: World, port: LogEntry['port'], req: IncomingMessage, res: ServerResponse): Exchange | null {
  res.sendDate = false;
  res.setHeader('Date', new Date(world.clock.serviceNow()).toUTCString());
  const address = `http://sandbox${req.url ?? '/'}`;
  if (!URL.canParse(address)) {
    res.writeHead(400).end();
    return null;
  }
  const url = new URL(address);
  const log: LogEntry = {
    at: world.clock.now(),
    atMono: world.clock.mono(),
    port,
    kind: port === 'storage' ? 'storage' : kindOf(url.pathname),
    org: null,
    method: req.method ?? '',
    path: url.pathname,
    status: null,
    counted: false,
    bytes: 0,
    range: req.headers.range ?? null,
    projectId: null,
    hadAuthorization: req.headers.authorization !== undefined,
    fault: null,
  };
  if (!url.pathname.startsWith('/control/')) world.log.add(log);
  return { req, res, url, log };
}

function kindOf(path: string): LogEntry['kind'] {
  if (path.startsWith('/v1/analytics/')) return 'analytics';
  return path.startsWith('/v1/static-export/') ? 'export' : 'other';
}

/** Stopping the sandbox breaks off answers; any other failure is a defect of the sandbox. */
function fail(exchange: Exchange, error: unknown): void {
  if (exchange.res.headersSent) exchange.req.socket.destroy();
  else sendError(exchange, 500, `The sandbox failed: ${error instanceof Error ? error.message : 'unknown'}`);
}

/** Starts listening and gives the port. Rejects with the system's code and the address when it cannot. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'the port is taken' : 'it is not possible';
      const error = new Error(`The sandbox cannot listen on ${host}:${port}: ${why} (${cause.code})`, { cause });
      reject(Object.assign(error, { code: cause.code }));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** Closes a server together with its connections. */
export async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}
