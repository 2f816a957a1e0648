import http from 'node:http';
import type https from 'node:https';
import net from 'node:net';
import type tls from 'node:tls';
import { openConnection } from './service-connection.ts';

/** Servers close idle connections after 5 s or more; closing them earlier avoids writing on a closing one. */
const idleMs = 4_000;

/** What `ServiceAgent` needs in the options of `http.request`. */
export interface ConnectOptions {
  /** Ends the attempt to connect. */
  connectSignal: AbortSignal;
}

export interface ServiceAgentOptions {
  /** Null for plain HTTP. */
  tls: tls.ConnectionOptions | null;
  /** The proxy to go through; asked for every new connection. */
  proxy: () => URL | null;
  /** Keep connections open for the next request. */
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
