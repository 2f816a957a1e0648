import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import axios, { type AxiosResponse } from 'axios';
import { ProxyFailed } from '../rules/proxy.ts';
import type { RequestOptions } from './documentation-service.ts';
import { Aborted, MalformedResponse, NetworkError } from './errors.ts';
import { type ConnectOptions, resetConnection, type ServiceAgent } from './service-connection.ts';

interface Meaning {
  message: string;
  hint?: string;
}

const untrusted: Meaning = {
  message: 'its TLS certificate is not trusted',
  hint: 'for a certificate authority of your own set NODE_EXTRA_CA_CERTS to its PEM file',
};

const meanings: Record<string, Meaning> = {
  ECONNREFUSED: { message: 'it refused the connection', hint: 'check the address and that the service is running' },
  ENOTFOUND: { message: 'its name is not known', hint: 'check the address' },
  EAI_AGAIN: { message: 'its name could not be looked up for now' },
  ECONNRESET: { message: 'the connection was cut' },
  EPIPE: { message: 'the connection was cut' },
  ETIMEDOUT: { message: 'the connection timed out' },
  EHOSTUNREACH: { message: 'there is no way to its host' },
  ENETUNREACH: { message: 'there is no way to its network' },
  EPROTO: { message: 'it does not speak TLS as expected' },
  ERR_TLS_CERT_ALTNAME_INVALID: { message: 'its TLS certificate is for another name', hint: 'check the address' },
  CERT_HAS_EXPIRED: { message: 'its TLS certificate has expired' },
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
};

/** The error for a request that got no whole answer. Keeps only the code of the thrown error. */
function networkErrorFor(error: unknown, host: string, mayHaveArrived: boolean): NetworkError {
  if (error instanceof ProxyFailed) {
    const message = `cannot talk to ${host}: ${error.message}`;
    return new NetworkError(message, 'EPROXY', mayHaveArrived, 'check HTTPS_PROXY and NO_PROXY');
  }
  const code = codeOf(error);
  const meaning = meanings[code] ?? { message: `the exchange failed (${code})` };
  return new NetworkError(`cannot talk to ${host}: ${meaning.message}`, code, mayHaveArrived, meaning.hint ?? null);
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'UNKNOWN';
}

/** Time limits in milliseconds. */
export interface Timeouts {
  /** Until the connection is ready: DNS, TCP, proxy, TLS. */
  connectMs: number;
  /** From sending the request to the answer's headers. */
  firstByteMs: number;
  overallMs: number;
}

/**
 * One request on its way: its time limits, the caller's signal, and the moment at which it leaves.
 *
 * `beforeSend` runs when the connection is ready (see `ServiceAgent`), in the same turn of the event loop in which the
 * request is handed to the operating system. If it is not answered within `firstByteMs`, the connection is reset and
 * unsent bytes are thrown away: this bounds its arrival (B1).
 */
class OutgoingCall {
  readonly #host: string;
  readonly #agent: ServiceAgent;
  readonly #timeouts: Timeouts;
  readonly #options: RequestOptions;
  readonly #stop = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  #socket: Socket | null = null;
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

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Throws if the call has ended on this side. */
  requireOpen(): void {
    if (this.#ended !== null) throw this.#ended.reason;
  }

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

/** Masks a secret by asterisks, so that the length stays. Holds back no more than the secret is long. */
export class WithoutSecret extends Transform {
  readonly #secret: Buffer;
  /** The end of what came, as far as it may be the beginning of the secret. */
  #held = Buffer.alloc(0);

  /** @param secret not empty */
  constructor(secret: string) {
    super();
    this.#secret = Buffer.from(secret);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const masked = this.#mask(bytes);
    const sendable = masked.length - this.#beginningAtEndOf(masked);
    // A copy: the chunk's own memory may be large.
    this.#held = Buffer.from(masked.subarray(sendable));
    done(null, masked.subarray(0, sendable));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#held);
  }

  #mask(bytes: Buffer): Buffer {
    let at = bytes.indexOf(this.#secret);
    if (at < 0) return bytes;
    const masked = Buffer.from(bytes);
    for (; at >= 0; at = masked.indexOf(this.#secret, at)) masked.fill('*', at, at + this.#secret.length);
    return masked;
  }

  /** How many bytes at the end may begin the secret. */
  #beginningAtEndOf(bytes: Buffer): number {
    for (let length = Math.min(this.#secret.length - 1, bytes.length); length > 0; length -= 1) {
      const end = bytes.subarray(bytes.length - length);
      if (end.equals(this.#secret.subarray(0, length))) return length;
    }
    return 0;
  }
}

/** An answer whose body is still coming. Destroy the body if it is not read to its end. */
export interface OpenAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Bytes as sent, in any encoding. */
  body: Readable;
}

/**
 * Sends a GET request and returns as soon as the answer's headers are there; no redirect, no retry. After that no time
 * limit holds. `secret` is masked in the body and left out with its header. Throws as `exchange` does.
 */
export async function openAnswer(
  url: URL,
  headers: Record<string, string>,
  secret: string,
  agent: ServiceAgent,
  timeouts: Timeouts,
  options: RequestOptions,
): Promise<OpenAnswer> {
  const call = new OutgoingCall(url.host, agent, timeouts, options);
  try {
    call.requireOpen();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const settings = { ...urlToHttpOptions(url), method: 'GET', headers, signal: call.signal };
      const request = call.request(settings, resolve).once('error', reject);
      // A switch of protocols, which nobody asked for, ends it without another word.
      request.once('close', () => reject(new Error('closed without an answer'))).end();
    });
    // What fails from here on shows in the body.
    const body = pipeline(response, new WithoutSecret(secret), () => {});
    return { status: response.statusCode ?? 0, headers: withoutSecret(response.headers, secret), body };
  } catch (error) {
    throw call.explained(error);
  } finally {
    call.end();
  }
}

function withoutSecret(headers: IncomingHttpHeaders, secret: string): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => !String(value).includes(secret)));
}

class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong';
}

/** Counts bytes after decompression, whatever `Content-Length` says; throws `BodyTooLong`, the stream's error. */
async function readBody(stream: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BodyTooLong(`longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

export interface OutgoingRequest {
  method: 'GET' | 'POST';
  url: URL;
  headers: Record<string, string>;
  body: string | null;
  maxBytes: number;
}

export interface Answer {
  status: number;
  retryAfter: string | undefined;
  date: string | undefined;
  /** Null only for an answer that is not 2xx, when its body was cut short or too long. */
  text: string | null;
}

const maxErrorBytes = 64 * 1024;

/** One request, one answer. Throws `NetworkError`, `MalformedResponse`, `Aborted`, what `beforeSend` threw. */
export async function exchange(
  request: OutgoingRequest,
  agent: ServiceAgent,
  timeouts: Timeouts,
  options: RequestOptions,
): Promise<Answer> {
  const call = new OutgoingCall(request.url.host, agent, timeouts, options);
  try {
    call.requireOpen();
    const response: AxiosResponse<Readable> = await axios.request({
      ...toAxios(request),
      transport: call,
      signal: call.signal,
    });
    return await readAnswer(response, request.maxBytes);
  } catch (error) {
    throw call.explained(error);
  } finally {
    call.end();
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
