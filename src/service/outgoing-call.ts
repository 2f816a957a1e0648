import http from 'node:http';
import type { Socket } from 'node:net';
import type { RequestOptions } from './documentation-service.ts';
import { Aborted, MalformedResponse, NetworkError } from './errors.ts';
import { networkErrorFor } from './network-error.ts';
import type { ConnectOptions, ServiceAgent } from './service-agent.ts';
import { resetConnection } from './service-connection.ts';

/** Time limits in milliseconds. */
export interface Timeouts {
  /** Until the connection is ready: DNS, TCP, proxy, TLS. */
  connectMs: number;
  /** From sending the request to the answer's headers. */
  firstByteMs: number;
  /** The whole call. */
  overallMs: number;
}

/**
 * One request on its way: its time limits, the caller's signal, and the moment at which it leaves.
 *
 * `beforeSend` runs when the connection is ready (see `ServiceAgent`), in the same turn of the event loop in which the
 * request is handed to the operating system. If it is not answered within `firstByteMs`, the connection is reset and
 * unsent bytes are thrown away: this bounds its arrival (B1).
 */
export class OutgoingCall {
  readonly #host: string;
  readonly #agent: ServiceAgent;
  readonly #timeouts: Timeouts;
  readonly #options: RequestOptions;
  readonly #stop = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  /** The request's connection, once it is ready. */
  #socket: Socket | null = null;
  /** Whether the request may have been sent. */
  #sent = false;
  /** Why the call was ended on this side. */
  #ended: { reason: unknown } | null = null;
  /** The request's own error, before others wrap it. */
  #failure: unknown;

  constructor(host: string, agent: ServiceAgent, timeouts: Timeouts, options: RequestOptions) {
    this.#host = host;
    this.#agent = agent;
    this.#timeouts = timeouts;
    this.#options = options;
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal?.aborted) this.#onAbort();
    this.#limit(timeouts.overallMs, 'did not finish its answer');
  }

  /** Aborted when the call ends on this side. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Throws if the call has ended on this side. */
  requireOpen(): void {
    if (this.#ended !== null) throw this.#ended.reason;
  }

  /** As `http.request`. */
  request(settings: http.RequestOptions, onResponse: (response: http.IncomingMessage) => void): http.ClientRequest {
    const withSignal: http.RequestOptions & ConnectOptions = {
      ...settings,
      agent: this.#agent,
      connectSignal: this.#stop.signal,
    };
    const connecting = this.#limit(this.#timeouts.connectMs, 'could not be connected to');
    let answering: NodeJS.Timeout | undefined;
    const outgoing = http.request(withSignal, onResponse);
    outgoing.once('socket', (ready: Socket) => {
      clearTimeout(connecting);
      this.#socket = ready;
      try {
        this.#options.beforeSend?.();
      } catch (error) {
        this.#giveUp(error);
        return;
      }
      this.#sent = true;
      // Node writes after this turn's listeners, and before timers that expired meanwhile.
      if (this.#options.afterWrite) process.nextTick(this.#options.afterWrite);
      answering = this.#limit(this.#timeouts.firstByteMs, 'did not answer');
    });
    outgoing.once('response', () => clearTimeout(answering));
    outgoing.once('error', (error) => {
      this.#failure = error;
    });
    return outgoing;
  }

  /** What to throw for `error`: why the call ended on this side, else a `NetworkError`. */
  explained(error: unknown): unknown {
    if (this.#ended !== null) return this.#ended.reason;
    if (error instanceof MalformedResponse) return error;
    return networkErrorFor(this.#failure ?? error, this.#host, this.#sent);
  }

  /** Watches no longer. */
  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = () => this.#giveUp(new Aborted(this.#sent));

  #giveUp(reason: unknown): void {
    if (this.#ended !== null) return;
    this.#ended = { reason };
    if (this.#sent && this.#socket !== null) resetConnection(this.#socket, () => this.#stop.abort());
    else this.#stop.abort();
  }

  #limit(ms: number, what: string): NodeJS.Timeout {
    const timer = setTimeout(
      () => this.#giveUp(new NetworkError(`${this.#host} ${what} within ${ms} ms`, 'ETIMEDOUT', this.#sent)),
      ms,
    );
    this.#timers.push(timer);
    return timer;
  }
}
