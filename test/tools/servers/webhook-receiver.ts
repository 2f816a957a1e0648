import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a receiver saw it. */
export interface ReceivedMessage {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface WebhookReceiver {
  /** With a token in the path, as receivers have it. */
  url: string;
  token: string;
  received: ReceivedMessage[];
  /** Answers of the next requests, in order; then 204. */
  answers: { status: number; headers?: Record<string, string>; body?: string }[];
  stop(): Promise<void>;
}

/** A key of the right form, made of one letter so that no reader takes it for a real one. */
export const webhookSecret = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;

/** A receiver of webhooks over HTTP on this machine. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedMessage[] = [];
  const answers: WebhookReceiver['answers'] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString() });
      const { status, headers = {}, body = '' } = answers.shift() ?? { status: 204 };
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const token = 'T0KENinTHEpath';
  return {
    url: `http://127.0.0.1:${port}/hooks/${token}`,
    token,
    received,
    answers,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The headers as the library that verifies wants them. */
export function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
