import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { onTestFinished } from 'vitest';
import { createDocumentationService, type DocumentationServiceOptions } from '../../src/service/client.ts';

export interface Received {
  method: string;
  url: URL;
  headers: http.IncomingHttpHeaders;
  body: string;
}

type Respond = (response: http.ServerResponse, request: Received) => void;

/** Listens on a free port of this machine until the test is over. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    if (server instanceof http.Server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that records what it received and answers as told. */
export async function startServer(respond: Respond) {
  const received: Received[] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', headers } = request;
    const entry = { method, url: new URL(request.url ?? '', 'http://service.test'), headers, body };
    received.push(entry);
    respond(response, entry);
  });
  const port = await listen(server);
  return { server, port, received, baseUrl: `http://127.0.0.1:${port}` };
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
}

export const apiKey = 'vendor_admin_key-4f1c';

export function serviceAt(baseUrl: string, options: Partial<DocumentationServiceOptions> = {}) {
  return createDocumentationService({ baseUrl, apiKey: () => apiKey, environment: {}, ...options });
}

/** The service in front of a server that answers as told. */
export async function serviceWith(respond: Respond, options: Partial<DocumentationServiceOptions> = {}) {
  const server = await startServer(respond);
  return { ...server, service: serviceAt(server.baseUrl, options) };
}

/** What a call was rejected with. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error('the call should have failed');
    },
    (error: unknown) => error,
  );
}
