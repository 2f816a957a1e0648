import { createHash, timingSafeEqual } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepConnections, listen, type RunningServer, requestLimits, stopListening } from '../../http-server.ts';
import { readRetryAfter } from '../../rules/retry-after.ts';
import type { DocumentationService } from '../../service/client.ts';
import { NetworkError } from '../../service/errors.ts';
import type { OpenAnswer } from '../../service/outgoing-call.ts';
import { traced } from '../../temporal/traces.ts';
import { LeaseOver, type PermitSource, type Refusal, type SentRequest } from '../lease.ts';
import { type GatewayClient, type HeldPermit, type LastWait, PermitQueue } from './permit-queue.ts';

interface AnalyticsTarget {
  path: string;
  query: string;
}

const area = '/v1/analytics/';
/** A segment in plain letters and percent-encoded UTF-8. No `;`: some servers cut a segment there and see `..`. */
const segment = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+$/;
const query = /^(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?[\]|^`{}-]|%[0-9A-Fa-f]{2})*)?$/;
/** What no server may take for a separator, the end of a path, or another encoding. */
const unsafe = /[\p{Cc}/\\%;?#]/u;

/**
 * Reads the target of a request (`GET <target> HTTP/1.1`). Null unless it is a path below the analytics area that every
 * server reads alike: absolute addresses, dots as segments, empty segments and encoded separators are refused.
 */
export function readAnalyticsTarget(target: string): AnalyticsTarget | null {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const rest = mark < 0 ? '' : target.slice(mark);
  if (!path.startsWith(area) || !query.test(rest)) return null;
  return path.slice(area.length).split('/').every(isPlain) ? { path, query: rest } : null;
}

function isPlain(text: string): boolean {
  if (!segment.test(text)) return false;
  try {
    const decoded = decodeURIComponent(text);
    return !unsafe.test(decoded) && !/^\.+$/.test(decoded);
  } catch {
    return false;
  }
}

/** What a client may say to the service; its token stays here. */
const asked = ['accept', 'accept-language', 'if-modified-since', 'if-none-match', 'user-agent'];
/** What the service may say to a client: nothing of the connection, no cookies, nothing of its inside. */
const answered = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'deprecation',
  'etag',
  'expires',
  'last-modified',
  'link',
  'retry-after',
  'sunset',
  'vary',
  'x-request-id',
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

/** Headers of the request to the service. The body is asked for as it is, so that no key can hide in it. */
function headersToService(headers: IncomingHttpHeaders): Record<string, string> {
  return { 'user-agent': 'docferry', ...only(headers, asked), 'accept-encoding': 'identity' };
}

/** Headers of the answer to the client. */
export function headersToClient(headers: IncomingHttpHeaders): Record<string, string> {
  return only(headers, answered);
}

function only(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
}

interface OwnAnswer {
  status: number;
  /** Nothing of the request, the key or the token. */
  error: string;
  headers?: Record<string, string>;
}

const reasons: Record<LastWait['reason'], string> = {
  'window-full': 'the requests of the organization are used up',
  throttled: 'the service refused a request of the organization (429)',
  probing: 'one request is testing whether the service has room again',
  unauthorized: "the service refuses the organization's API key (401)",
  paused: 'the budget of the organization was paused by hand',
  share: 'this client holds its share of the requests',
  'no-answer': 'the budget of the organization does not answer',
};

const unknownWaitS = 5;

/** A refusal, and when the client may try again. */
function again(told: LastWait | null, error: string): OwnAnswer {
  const seconds = told === null ? unknownWaitS : Math.max(1, Math.ceil((told.freeAt - performance.now()) / 1000));
  return { status: 429, error, headers: { 'Retry-After': `${seconds}` } };
}

const refusals = {
  notHere: { status: 404, error: 'only addresses below /v1/analytics/ are served here' },
  onlyGet: { status: 405, error: 'only GET is forwarded', headers: { Allow: 'GET' } },
  tooLong: { status: 414, error: 'the address is too long' },
  noBody: { status: 400, error: 'a request with a body is not forwarded', headers: { Connection: 'close' } },
  unknownToken: { status: 401, error: 'the token of a client is required', headers: { 'WWW-Authenticate': 'Bearer' } },
  closing: { status: 503, error: 'the gateway is being stopped', headers: { 'Retry-After': '5', Connection: 'close' } },
  refusedPath: { status: 502, error: 'the service answered 401 to this path' },
  unreachable: { status: 502, error: 'the service cannot be reached' },
  late: { status: 504, error: 'the service did not answer in time' },
  failed: { status: 502, error: 'the request could not be forwarded' },
  crowded: (told: LastWait | null) => again(told, 'too many requests of this client wait already'),
  noPermit: (told: LastWait | null) =>
    again(told, `no request could be sent: ${told === null ? 'others wait for the budget' : reasons[told.reason]}`),
} satisfies Record<string, OwnAnswer | ((...args: never[]) => OwnAnswer)>;

/** Answers as the service answers errors. */
function refuse(response: ServerResponse, { status, error, headers = {} }: OwnAnswer): void {
  if (response.destroyed) return;
  const body = `${JSON.stringify({ error })}\n`;
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      ...headers,
    })
    .end(body);
}

/** Finds clients by their tokens; keeps only the tokens' digests. */
export class ClientTokens {
  readonly #known: readonly { digest: Buffer; client: GatewayClient }[];

  constructor(clients: Iterable<{ token: string; client: GatewayClient }>) {
    this.#known = [...clients].map(({ token, client }) => ({ digest: digestOf(token), client }));
  }

  /** The client of an `Authorization` header; null for none. Takes the same time for every token. */
  clientOf(authorization: string | undefined): GatewayClient | null {
    const [, token = ''] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
    const digest = digestOf(token);
    let found: GatewayClient | null = null;
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.client;
    return found;
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

type Service = Pick<DocumentationService, 'getAnalytics'>;

interface OrganizationAccess {
  queue: PermitQueue;
  service: Service;
}

interface HandlerOptions extends Required<Pick<GatewayOptions, 'maxWaitMs' | 'mostWaiting'>> {
  tokens: ClientTokens;
  organizations: ReadonlyMap<string, OrganizationAccess>;
  /** Aborted when no more requests are taken: those that still wait for a permit are refused. */
  closing: AbortSignal;
  /** Called for every request. `client` is null for an unknown client, `status` if the client left without an answer. */
  log(line: { client: string | null; status: number | null; ms: number; error?: string }): void;
}

const longestTarget = 8 * 1024;

class RequestHandler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const since = performance.now();
    const { tokens, log } = this.#options;
    const client = tokens.clientOf(request.headers.authorization);
    let failure: unknown;
    try {
      const target = this.#accept(request, response, client);
      if (target !== null && client !== null) await this.#forward(request, response, client, target);
    } catch (error) {
      failure = error;
      if (response.headersSent) response.destroy();
      else refuse(response, answerFor(error));
    }
    log({
      client: client?.name ?? null,
      status: response.headersSent ? response.statusCode : null,
      ms: Math.round(performance.now() - since),
      ...(failure === undefined ? {} : { error: failure instanceof Error ? failure.name : 'unknown' }),
    });
  }

  /** What the request asks for; null if it is no analytics request or has no client: then this has refused it. */
  #accept(request: IncomingMessage, response: ServerResponse, client: GatewayClient | null): AnalyticsTarget | null {
    const { method, url = '', headers } = request;
    const target = readAnalyticsTarget(url);
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
    if (url.length > longestTarget) refuse(response, refusals.tooLong);
    else if (target === null) refuse(response, refusals.notHere);
    else if (method !== 'GET') refuse(response, refusals.onlyGet);
    else if (client === null) refuse(response, refusals.unknownToken);
    else if (hasBody) refuse(response, refusals.noBody);
    else if (this.#options.closing.aborted) refuse(response, refusals.closing);
    else return target;
    return null;
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    client: GatewayClient,
    target: AnalyticsTarget,
  ): Promise<void> {
    const { organizations, maxWaitMs, mostWaiting, closing } = this.#options;
    const organization = organizations.get(client.org);
    if (organization === undefined) throw new Error(`no organization ${client.org}`);
    const { queue } = organization;
    if (queue.waitingOf(client) >= mostWaiting) return refuse(response, refusals.crowded(queue.told(client)));
    const left = new AbortController();
    response.once('close', () => left.abort());
    const waiting = new AbortController();
    const giveUp = () => waiting.abort();
    const timer = setTimeout(giveUp, maxWaitMs);
    for (const signal of [left.signal, closing]) signal.addEventListener('abort', giveUp, { once: true });
    try {
      for (;;) {
        const permit = await queue.permit(client, waiting.signal);
        if (permit === null) break;
        const answer = await this.#send(permit, organization.service, request, target, left.signal);
        if (answer === 'unsent') continue;
        clearTimeout(timer);
        return await this.#passOn(answer, response);
      }
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', giveUp);
    }
    if (left.signal.aborted) return;
    refuse(response, closing.aborted ? refusals.closing : refusals.noPermit(queue.told(client)));
  }

  /** Sends the request under the permit. `unsent`: the permit returns to the budget, and the request may try another. */
  async #send(
    permit: HeldPermit,
    service: Service,
    request: IncomingMessage,
    target: AnalyticsTarget,
    left: AbortSignal,
  ): Promise<OpenAnswer | 'unsent'> {
    // If the client leaves, an unsent request returns its permit; a sent one is followed to its answer.
    const unsent = new AbortController();
    let sent: SentRequest | undefined;
    let refusal: Refusal | undefined;
    const withdraw = () => {
      if (!sent) unsent.abort();
    };
    left.addEventListener('abort', withdraw, { once: true });
    try {
      const waitMs = permit.lease.untilPermit(permit.place);
      if (!Number.isFinite(waitMs) || left.aborted) return 'unsent';
      await sleep(Math.ceil(waitMs), undefined, { signal: unsent.signal });
      const answer = await service.getAnalytics(target, headersToService(request.headers), {
        signal: unsent.signal,
        beforeSend: () => {
          sent = permit.lease.take();
        },
        afterWrite: () => sent?.written(),
      });
      refusal = refusalIn(answer);
      sent?.answered(refusal ? 'refused' : 'accepted');
      return answer;
    } catch (error) {
      if (error instanceof LeaseOver || unsent.signal.aborted) return 'unsent';
      throw error;
    } finally {
      left.removeEventListener('abort', withdraw);
      permit.close(refusal);
    }
  }

  async #passOn({ status, headers, body }: OpenAnswer, response: ServerResponse): Promise<void> {
    if (response.destroyed || status === 401) {
      body.destroy();
      // Passed on, it would tell the client that its own token is wrong.
      if (!response.destroyed) refuse(response, refusals.refusedPath);
      return;
    }
    response.writeHead(status, headersToClient(headers));
    response.setTimeout(idleMs, () => response.destroy());
    await pipeline(body, response);
  }
}

function answerFor(error: unknown): OwnAnswer {
  if (!(error instanceof NetworkError)) return refusals.failed;
  return error.code === 'ETIMEDOUT' ? refusals.late : refusals.unreachable;
}

function refusalIn({ status, headers }: OpenAnswer): Refusal | undefined {
  if (status === 401) return { doubted: true };
  if (status !== 429) return undefined;
  const retryAfterMs = readRetryAfter(headers['retry-after'], headers.date, Date.now());
  return { throttled: { retryAfterMs } };
}

export interface GatewayOptions {
  host?: string;
  port: number;
  clients: readonly { client: GatewayClient; token: string }[];
  /** The service with the key of each organization that has clients. */
  services: ReadonlyMap<string, Service>;
  permits: PermitSource;
  /** Longest wait of a request for a permit, in milliseconds. */
  maxWaitMs: number;
  log: GatewayLog;
  /** Most requests of a client that wait; 256 by default. */
  mostWaiting?: number;
}

const mostConnections = 1_024;
/** A connection on which nothing moves for this long during an answer is cut. */
const idleMs = 60_000;

interface GatewayLog {
  info(line: object, message: string): void;
  warn(line: object, message: string): void;
}

/** Serves the analytics area to other programs: each request waits for a permit (B6). Throws `PortTaken`. */
export async function startGateway(options: GatewayOptions): Promise<RunningServer> {
  const { host = '127.0.0.1', mostWaiting = 256, log } = options;
  const closing = new AbortController();
  // Every request that waits listens.
  setMaxListeners(0, closing.signal);
  const organizations = new Map(
    [...options.services].map(([org, service]) => {
      const warn = (error: unknown) => log.warn({ org, err: error }, 'the budget could not be reached');
      return [org, { service, queue: new PermitQueue(options.permits, org, warn) }];
    }),
  );
  const handler = new RequestHandler({
    tokens: new ClientTokens(options.clients),
    organizations,
    maxWaitMs: options.maxWaitMs,
    mostWaiting,
    closing: closing.signal,
    log: (line) => log.info(line, 'request'),
  });
  const server = createServer(requestLimits, (request, response) => {
    if (closing.signal.aborted) response.shouldKeepAlive = false;
    void traced('gateway', { parent: null }, () => handler.answer(request, response));
  });
  keepConnections(server, mostConnections);
  const { port, url } = await listen(server, { host, port: options.port });
  return {
    url,
    port,
    /** Refuses those that wait for a permit, and lets answers end that are coming. */
    async stop() {
      const stopped = stopListening(server);
      closing.abort();
      await stopped;
      await Promise.all([...organizations.values()].map(({ queue }) => queue.idle()));
    },
  };
}
