import { once } from 'node:events';
import http from 'node:http';
import type https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { ProxyFailed } from '../rules/proxy.ts';

interface Destination {
  host: string;
  port: number;
  /** Options of the TLS session with `host`; null for a plain connection. */
  tls: tls.ConnectionOptions | null;
  proxy: URL | null;
}

const maxProxyHeadBytes = 16 * 1024;

const tcpSockets = new WeakMap<object, net.Socket>();

/**
 * Opens a connection that is ready to write on: name looked up, TCP connected, tunnel through the proxy open (CONNECT,
 * for plain destinations too), TLS established and the certificate checked. `signal` ends the attempt.
 */
async function openConnection(destination: Destination, signal: AbortSignal): Promise<net.Socket> {
  const { proxy } = destination;
  const hop = proxy === null ? destination : hopTo(proxy);
  const tcp = net.connect({ host: hop.host, port: hop.port });
  // Each wait below sees errors; without this listener one between two waits would end the process.
  tcp.on('error', () => {});
  try {
    await once(tcp, 'connect', { signal });
    tcp.setNoDelay(true);
    let socket = tcp;
    if (proxy !== null) {
      const { host } = hop;
      const proxyTls = { ca: destination.tls?.ca, host, servername: net.isIP(host) === 0 ? host : '' };
      if (proxy.protocol === 'https:') socket = await startTls(tcp, proxyTls, signal);
      await openTunnel(socket, destination, proxy, signal);
    }
    if (destination.tls !== null) socket = await startTls(socket, destination.tls, signal);
    else socket.resume();
    tcpSockets.set(socket, tcp);
    return socket;
  } catch (error) {
    tcp.destroy();
    throw error;
  }
}

/** Throws away unsent bytes too. Do not destroy `socket` before `closed` is called: Node 20 would crash with TLS. */
export function resetConnection(socket: net.Socket, closed: () => void): void {
  const tcp = tcpSockets.get(socket) ?? socket;
  if (tcp.closed) {
    closed();
    return;
  }
  tcp.once('close', closed);
  if (!tcp.destroyed) tcp.resetAndDestroy();
}

async function startTls(socket: net.Socket, options: tls.ConnectionOptions, signal: AbortSignal): Promise<net.Socket> {
  const secured = tls.connect({ ...options, ALPNProtocols: ['http/1.1'], socket });
  secured.on('error', () => {});
  await once(secured, 'secureConnect', { signal });
  return secured;
}

async function openTunnel(socket: net.Socket, to: Destination, proxy: URL, signal: AbortSignal): Promise<void> {
  const authority = `${net.isIPv6(to.host) ? `[${to.host}]` : to.host}:${to.port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (proxy.username !== '') {
    const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const head = await readHead(socket, signal);
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined || !status.startsWith('2')) {
    throw new ProxyFailed(`the proxy ${proxy.host} did not open a tunnel (${status ?? 'no HTTP answer'})`);
  }
}

/** Reads up to the empty line after the headers; a fresh tunnel sends no more. */
async function readHead(socket: net.Socket, signal: AbortSignal): Promise<string> {
  let head = '';
  const collect = (chunk: Buffer) => {
    head += chunk.toString('latin1');
    if (head.includes('\r\n\r\n')) socket.emit('head');
    else if (head.length > maxProxyHeadBytes) socket.destroy(new ProxyFailed('the proxy did not answer in HTTP'));
  };
  const closed = () => socket.destroy(new ProxyFailed('the proxy closed the connection'));
  socket.on('data', collect);
  socket.on('end', closed);
  try {
    await once(socket, 'head', { signal });
    return head;
  } finally {
    socket.off('data', collect);
    socket.off('end', closed);
    socket.pause();
  }
}

function hopTo({ hostname, port, protocol }: URL): { host: string; port: number } {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** Servers close idle connections after 5 s or more; closing them earlier avoids writing on a closing one. */
const idleMs = 4_000;

/** What `ServiceAgent` needs in the options of `http.request`. */
export interface ConnectOptions {
  connectSignal: AbortSignal;
}

interface ServiceAgentOptions {
  tls: tls.ConnectionOptions | null;
  /** The proxy to go through; asked for every new connection. */
  proxy: () => URL | null;
  keepAlive: boolean;
}

/**
 * An agent whose sockets, new or kept, are ready when the request gets them: there is no wait between the request's
 * `socket` event and its bytes. (Node's own agents hand out sockets that still connect, and the tunnel of axios 1.21
 * passes a proxy's refusal off as the service's answer.) For `http.request`, TLS included.
 */
export class ServiceAgent extends http.Agent {
  readonly protocol: string;
  readonly defaultPort: number;
  /** Set by Node's constructor but missing in its types; users of an `https.Agent` read it. */
  declare readonly options: https.AgentOptions;
  readonly #options: ServiceAgentOptions;

  constructor(options: ServiceAgentOptions) {
    super({ keepAlive: options.keepAlive, timeout: idleMs });
    this.protocol = options.tls === null ? 'http:' : 'https:';
    this.defaultPort = options.tls === null ? 80 : 443;
    this.#options = options;
  }

  override createConnection(
    options: http.ClientRequestArgs & Partial<ConnectOptions> & { servername?: string },
    callback?: (error: Error | null, socket: net.Socket) => void,
  ): null {
    this.#open(options).then(
      (socket) => callback?.(null, socket),
      // With an error, the socket is ignored.
      (error: Error) => callback?.(error, new net.Socket()),
    );
    return null;
  }

  async #open(
    options: http.ClientRequestArgs & Partial<ConnectOptions> & { servername?: string },
  ): Promise<net.Socket> {
    const host = options.host ?? 'localhost';
    const { servername = '', connectSignal = new AbortController().signal } = options;
    const secure = this.#options.tls === null ? null : { ...this.#options.tls, host, servername };
    const port = Number(options.port ?? this.defaultPort);
    return await openConnection({ host, port, tls: secure, proxy: this.#options.proxy() }, connectSignal);
  }
}
