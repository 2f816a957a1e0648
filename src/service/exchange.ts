import type { Readable } from 'node:stream';
import axios, { type AxiosResponse } from 'axios';
import type { RequestOptions } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';
import { OutgoingCall, type Timeouts } from './outgoing-call.ts';
import { BodyTooLong, readBody } from './read-body.ts';
import type { ServiceAgent } from './service-agent.ts';

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

const maxErrorBytes = 64 * 1024;

/**
 * Sends one request and reads one answer, whatever its status; no redirect, no retry. Throws `NetworkError`,
 * `MalformedResponse` (too long), `Aborted`, or what `beforeSend` threw.
 */
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
