import type { IncomingHttpHeaders } from 'node:http';

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
  'ratelimit',
  'ratelimit-limit',
  'ratelimit-policy',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'sunset',
  'vary',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
];

/** Headers of the request to the service. The body is asked for as it is, so that no key can hide in it. */
export function headersToService(headers: IncomingHttpHeaders): Record<string, string> {
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
