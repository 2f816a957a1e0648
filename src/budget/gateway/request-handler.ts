import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRetryAfter } from '../rules/retry-after.ts';
import { LeaseOver } from '../lease.ts';
import type { AnalyticsAccess } from '../../service/analytics-access.ts';
import { NetworkError } from '../../service/errors.ts';
import type { OpenAnswer } from '../../service/open-answer.ts';
import { type AnalyticsTarget, readAnalyticsTarget } from './analytics-path.ts';
import type { ClientTokens } from './client-tokens.ts';
import type { GatewayClient } from './gateway-client.ts';
import { headersToClient, headersToService } from './passed-headers.ts';
import type { PermitQueue } from './permit-queue.ts';
import { type OwnAnswer, refusals, refuse } from './refusals.ts';
import type { HeldPermit, Outcome } from './shared-lease.ts';

/** What the requests of one organization go through. */
export interface OrganizationAccess {
  queue: PermitQueue;
  analytics: AnalyticsAccess;
}

export interface HandlerOptions {
  tokens: ClientTokens;
  organizations: ReadonlyMap<string, OrganizationAccess>;
  /** Longest wait of a request for a permit. */
  patienceMs: number;
  /** Most requests of a client that wait. */
  mostWaiting: number;
  /** A connection on which nothing moves for this long during an answer is cut. */
  idleMs: number;
  /** Aborted when no more requests are taken: those that still wait for a permit are refused. */
  closing: AbortSignal;
  /**
   * Called for every request. `client` is null for an unknown client, `status` if the client left without an answer.
   */
  log(line: { client: string | null; status: number | null; ms: number; error?: string }): void;
}

const longestTarget = 8 * 1024;

/** Answers the requests that come to the gateway. */
export class RequestHandler {
  readonly #options: HandlerOptions;

  constructor(options: HandlerOptions) {
    this.#options = options;
  }

  /** Never rejects. */
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

  /** Null when the request was refused, whatever the budget says. */
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
    const { organizations, patienceMs, mostWaiting, closing } = this.#options;
    const organization = organizations.get(client.org);
    if (organization === undefined) throw new Error(`no organization ${client.org}`);
    const { queue } = organization;
    if (queue.waitingOf(client) >= mostWaiting) return refuse(response, refusals.noPermit(queue.told(client), 0));
    const left = new AbortController();
    response.once('close', () => left.abort());
    const waiting = new AbortController();
    const giveUp = () => waiting.abort();
    const timer = setTimeout(giveUp, patienceMs);
    for (const signal of [left.signal, closing]) signal.addEventListener('abort', giveUp, { once: true });
    try {
      for (;;) {
        const permit = await queue.permit(client, waiting.signal);
        if (permit === null) break;
        const answer = await this.#send(permit, organization.analytics, request, target, left.signal);
        if (answer === 'unsent') continue;
        clearTimeout(timer);
        return await this.#passOn(answer, response);
      }
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', giveUp);
    }
    if (left.signal.aborted) return;
    refuse(response, closing.aborted ? refusals.closing : refusals.noPermit(queue.told(client), patienceMs));
  }

  /** Sends the request under the permit. `unsent`: the permit returns to the budget, and the request may try another. */
  async #send(
    permit: HeldPermit,
    analytics: AnalyticsAccess,
    request: IncomingMessage,
    target: AnalyticsTarget,
    left: AbortSignal,
  ): Promise<OpenAnswer | 'unsent'> {
    // A client that leaves takes back what has not been sent; what has been is followed to its answer.
    const unsent = new AbortController();
    const withdraw = () => permit.isTaken || unsent.abort();
    left.addEventListener('abort', withdraw, { once: true });
    try {
      const waitMs = permit.untilUse();
      if (!Number.isFinite(waitMs) || left.aborted) return 'unsent';
      await sleep(Math.ceil(waitMs), undefined, { signal: unsent.signal });
      const answer = await analytics.get(target, headersToService(request.headers), {
        signal: unsent.signal,
        beforeSend: () => permit.take(),
        afterWrite: () => permit.written(),
      });
      permit.answered(outcomeOf(answer));
      return answer;
    } catch (error) {
      if (error instanceof LeaseOver || unsent.signal.aborted) return 'unsent';
      throw error;
    } finally {
      left.removeEventListener('abort', withdraw);
      permit.close();
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
    response.setTimeout(this.#options.idleMs, () => response.destroy());
    await pipeline(body, response);
  }
}

function answerFor(error: unknown): OwnAnswer {
  if (!(error instanceof NetworkError)) return refusals.failed;
  return error.code === 'ETIMEDOUT' ? refusals.late : refusals.unreachable;
}

function outcomeOf({ status, headers }: OpenAnswer): Outcome {
  if (status === 401) return { doubted: true };
  if (status !== 429) return 'accepted';
  const retryAfterMs = readRetryAfter(headers['retry-after'], headers.date, Date.now());
  return { throttled: { retryAfterMs } };
}
