import type { ServerResponse } from 'node:http';
import type { Told } from './permit-queue.ts';

/** An answer of the gateway's own. */
export interface OwnAnswer {
  status: number;
  /** Nothing of the request, the key or the token. */
  error: string;
  headers?: Record<string, string>;
}

const reasons: Record<Told['reason'], string> = {
  'window-full': 'the requests of the organization are used up',
  throttled: 'the service refused a request of the organization (429)',
  probing: 'one request is testing whether the service has room again',
  unauthorized: "the service refuses the organization's API key (401)",
  paused: 'the budget of the organization was paused by hand',
  'kept-free': 'the free requests are kept for others',
  share: 'this client holds its share of the requests',
  'no-answer': 'the budget of the organization does not answer',
};

const unknownWaitS = 5;

export const refusals = {
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
  /** @param patienceMs 0 when too many requests wait already */
  noPermit(told: Told | null, patienceMs: number): OwnAnswer {
    const seconds = told === null ? unknownWaitS : Math.max(1, Math.ceil((told.freeAt - performance.now()) / 1000));
    const why = told === null ? 'others wait for the budget' : reasons[told.reason];
    const error =
      patienceMs === 0 ? 'too many requests of this client wait already' : `no request could be sent: ${why}`;
    return { status: 429, error, headers: { 'Retry-After': `${seconds}` } };
  },
} satisfies Record<string, OwnAnswer | ((...args: never[]) => OwnAnswer)>;

/** Answers as the service answers errors. */
export function refuse(response: ServerResponse, { status, error, headers = {} }: OwnAnswer): void {
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
