import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import type { RequestOptions } from './documentation-service.ts';
import { WithoutSecret } from './without-secret.ts';
import { OutgoingCall, type Timeouts } from './outgoing-call.ts';
import type { ServiceAgent } from './service-agent.ts';

/** An answer whose body is still coming. Destroy the body if it is not read to its end. */
export interface OpenAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** As sent, whatever its encoding. */
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
      call.request(settings, resolve).once('error', reject).end();
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
