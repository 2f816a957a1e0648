import type { Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ExplainedError } from './rules/errors.ts';

/** Where a server listens; `flag` is the one that chooses another port. */
interface ListenPlace {
  host: string;
  port: number;
  flag: string;
}

/** Another program uses the port; `owner` names it where this is known. */
export class PortTaken extends ExplainedError {
  override readonly name = 'PortTaken';
  readonly code = 'PortTaken';
  readonly place: ListenPlace;

  constructor(place: ListenPlace, owner?: string) {
    const taken = `port ${place.port} on ${place.host} is in use${owner === undefined ? '' : ` by ${owner}`}`;
    super(taken, `stop that program, or choose another port with ${place.flag}`);
    this.place = place;
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
 * Listens there; port 0 picks a free one. Throws `PortTaken`.
 *
 * @returns the port, and the address as a URL
 */
export function listen(
  server: Server,
  { host, port, flag = '--port' }: Omit<ListenPlace, 'flag'> & Partial<ListenPlace>,
): Promise<{ port: number; url: string }> {
  // `stopListening` has to know each connection.
  waitingOn(server);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new PortTaken({ host, port, flag }) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      const actual = address !== null && typeof address === 'object' ? address.port : port;
      resolve({ port: actual, url: `http://${isIPv6(host) ? `[${host}]` : host}:${actual}` });
    });
  });
}

/** A server that listens until it is stopped, which accepts no more requests and resolves when the port is free. */
export interface RunningServer {
  url: string;
  port: number;
  stop(): Promise<void>;
}

/**
 * Takes no more connections, and ends once the port is free: answers under way may end, within `graceMs` if it is given.
 */
export async function stopListening(server: Server, graceMs?: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // Otherwise clients could keep a connection open after its last answer, or before its first request.
  const idle = setInterval(() => {
    for (const sockets of waitingOn(server).values()) for (const socket of sockets) socket.destroy();
  }, idleSweepMs);
  const grace = graceMs === undefined ? undefined : setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(idle);
  clearTimeout(grace);
}

/** Counts the slots that clients have taken, altogether and by client, and refuses more than the limits. */
export class Slots {
  readonly #limits: { total: number; perClient: number };
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(limits: { total: number; perClient: number }) {
    this.#limits = limits;
  }

  /** Takes a slot and returns what frees it, once however often it is called; null when none is free. */
  take(client: string): (() => void) | null {
    const taken = this.#taken.get(client) ?? 0;
    if (this.#total >= this.#limits.total || taken >= this.#limits.perClient) return null;
    this.#total += 1;
    this.#taken.set(client, taken + 1);
    let isFreed = false;
    return () => {
      if (isFreed) return;
      isFreed = true;
      this.#total -= 1;
      const left = (this.#taken.get(client) ?? 1) - 1;
      if (left === 0) this.#taken.delete(client);
      else this.#taken.set(client, left);
    };
  }
}

/** What counts as one client: an IPv4 address, however written, or the /64 that an IPv6 client usually gets. */
export function clientOf(address = ''): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed
    .toByteArray()
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}/64`;
}

/** By server and client, the connections with no request under way, the oldest first. */
const waiting = new WeakMap<Server, Map<string, Set<Socket>>>();

function waitingOn(server: Server): Map<string, Set<Socket>> {
  const known = waiting.get(server);
  if (known !== undefined) return known;
  const byClient = new Map<string, Set<Socket>>();
  waiting.set(server, byClient);
  /** A client may send a request before the last one is answered. */
  const latest = new WeakMap<Socket, ServerResponse>();
  const wait = (socket: Socket, client: string) => {
    byClient.set(client, (byClient.get(client) ?? new Set()).add(socket));
  };
  const leave = (socket: Socket, client: string) => {
    const own = byClient.get(client);
    own?.delete(socket);
    if (own?.size === 0) byClient.delete(client);
  };
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress);
    wait(socket, client);
    socket.once('close', () => leave(socket, client));
  });
  server.on('request', ({ socket }, response) => {
    const client = clientOf(socket.remoteAddress);
    leave(socket, client);
    latest.set(socket, response);
    response.once('close', () => {
      if (!socket.destroyed && latest.get(socket) === response) wait(socket, client);
    });
  });
  return byClient;
}

/**
 * Keeps at most `most` connections. One more ends another, which has no request under way: the oldest of the client that
 * has the most of those. A client that opens thousands, or sends its headers byte by byte, thus displaces only its own.
 */
export function keepConnections(server: Server, most: number): void {
  const byClient = waitingOn(server);
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= most) return;
    const sockets = [...byClient.values()].reduce((a, b) => (b.size > a.size ? b : a));
    const [oldest = socket] = sockets;
    sockets.delete(oldest);
    oldest.destroy();
  });
}
