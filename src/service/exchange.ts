import http from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import axios, { type AxiosResponse } from 'axios';
import type { RequestOptions } from './documentation-service.ts';
import { Aborted, MalformedResponse, NetworkError } from './errors.ts';
import { networkErrorFor } from './network-error.ts';
import { BodyTooLong, readBody } from './read-body.ts';
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

export interface OutgoingRequest {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
  body: string | null;
  /** Limit of a 2xx answer's body. */
  maxBytes: number;
}

export interface Answer {
  status: number;
  retryAfter: string | undefined;
  date: string | undefined;
  /** Null only for an answer that is not 2xx, when its body was cut short or too long. */
  text: string | null;
}

interface State {
  /** The request's connection, once it is ready. */
  socket: Socket | null;
  /** Whether the request may have been sent. */
  sent: boolean;
  /** Why the call was ended on this side. */
  ended: { reason: unknown } | null;
  /** The request's own error, before axios wraps it. */
  failure: unknown;
}

const maxErrorBytes = 64 * 1024;

/**
 * Sends one request and reads one answer, whatever its status; no redirect, no retry. Throws `NetworkError`,
 * `MalformedResponse` (too long), `Aborted`, or what `beforeSend` threw.
 *
 * `beforeSend` runs when the connection is ready (see `ServiceAgent`), in the same turn of the event loop in which the
 * request is handed to the operating system. If it is not answered within `firstByteMs`, the connection is reset and
 * unsent bytes are thrown away: this bounds its arrival (B1).
 */
export async function exchange(
  request: OutgoingRequest,
  agent: ServiceAgent,
  timeouts: Timeouts,
  options: RequestOptions,
): Promise<Answer> {
  const stop = new AbortController();
  const state: State = { socket: null, sent: false, ended: null, failure: null };
  const giveUp = (reason: unknown) => {
    if (state.ended !== null) return;
    state.ended = { reason };
    if (state.sent && state.socket !== null) resetConnection(state.socket, () => stop.abort());
    else stop.abort();
  };
  const limit = (ms: number, what: string) =>
    setTimeout(
      () => giveUp(new NetworkError(`${request.url.host} ${what} within ${ms} ms`, 'ETIMEDOUT', state.sent)),
      ms,
    );
  const onAbort = () => giveUp(new Aborted(state.sent));
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted) onAbort();
  const overall = limit(timeouts.overallMs, 'did not finish its answer');
  const connecting = limit(timeouts.connectMs, 'could not be connected to');
  let answering: NodeJS.Timeout | undefined;

  const transport = {
    request(settings: http.RequestOptions, onResponse: (response: http.IncomingMessage) => void) {
      const withSignal: http.RequestOptions & ConnectOptions = { ...settings, agent, connectSignal: stop.signal };
      const outgoing = http.request(withSignal, onResponse);
      outgoing.once('socket', (ready: Socket) => {
        clearTimeout(connecting);
        state.socket = ready;
        try {
          options.beforeSend?.();
        } catch (error) {
          giveUp(error);
          return;
        }
        state.sent = true;
        // Node writes after this turn's listeners, and before timers that expired meanwhile.
        if (options.afterWrite) process.nextTick(options.afterWrite);
        answering = limit(timeouts.firstByteMs, 'did not answer');
      });
      outgoing.once('response', () => clearTimeout(answering));
      outgoing.once('error', (error) => {
        state.failure = error;
      });
      return outgoing;
    },
  };

  try {
    if (state.ended !== null) throw state.ended.reason;
    const response: AxiosResponse<Readable> = await axios.request({
      ...toAxios(request),
      transport,
      signal: stop.signal,
    });
    return await readAnswer(response, request.maxBytes);
  } catch (error) {
    if (state.ended !== null) throw state.ended.reason;
    if (error instanceof MalformedResponse) throw error;
    throw networkErrorFor(state.failure ?? error, request.url.host, state.sent);
  } finally {
    for (const timer of [overall, connecting, answering]) clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
  }
}

/** Turns off everything that axios would do beyond one plain request. */
function toAxios(request: OutgoingRequest) {
  return {
    method: request.method,
    url: request.url.href,
    // `false` keeps axios from naming a type for a body that is not there.
    headers: { 'Content-Type': false, ...request.headers },
    ...(request.body === null ? {} : { data: request.body }),
    responseType: 'stream' as const,
    maxRedirects: 0,
    proxy: false as const,
    validateStatus: () => true,
    transformRequest: [],
    transformResponse: [],
    transitional: { silentJSONParsing: false, forcedJSONParsing: false },
  };
}

async function readAnswer(response: AxiosResponse<Readable>, maxBytes: number): Promise<Answer> {
  const { status, headers } = response;
  const ok = status >= 200 && status < 300;
  let text: string | null = null;
  try {
    text = await readBody(response.data, ok ? maxBytes : Math.min(maxBytes, maxErrorBytes));
  } catch (error) {
    if (ok && error instanceof BodyTooLong) throw new MalformedResponse(`the service's answer is ${error.message}`);
    if (ok) throw error;
  }
  return { status, retryAfter: header(headers['retry-after']), date: header(headers.date), text };
}

function header(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
