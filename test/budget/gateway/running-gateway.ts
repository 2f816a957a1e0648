import http from 'node:http';
import { onTestFinished } from 'vitest';
import { type GatewayOptions, startGateway } from '../../../src/budget/gateway/gateway.ts';
import type { GatewayClient } from '../../../src/budget/gateway/permit-queue.ts';
import { createDocumentationService } from '../../../src/service/client.ts';
import { apiKey } from '../../service/http-server.ts';
import { BudgetInMemory } from '../../tools/window/budget-in-memory.ts';

export const token = 'token-of-search-0123456789';
export const otherToken = 'token-of-reports-012345678';
export const client: GatewayClient = { name: 'search', org: 'acme', class: 'on-demand', share: null };
const otherClient: GatewayClient = { ...client, name: 'reports' };

interface RunOptions extends Partial<GatewayOptions> {
  budget?: BudgetInMemory;
  client?: GatewayClient;
  firstByteMs?: number;
}

/** A gateway in this process in front of a service, until the test is over. */
export async function runGateway(
  baseUrl: string,
  { budget = new BudgetInMemory(), firstByteMs, ...more }: RunOptions = {},
) {
  const lines: object[] = [];
  const gateway = await startGateway({
    port: 0,
    clients: [
      { client: more.client ?? client, token },
      { client: otherClient, token: otherToken },
    ],
    services: new Map([
      [
        'acme',
        createDocumentationService({
          baseUrl,
          apiKey: () => apiKey,
          environment: {},
          timeouts: firstByteMs === undefined ? {} : { firstByteMs },
        }),
      ],
    ]),
    permits: budget,
    maxWaitMs: 5_000,
    log: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
    ...more,
  });
  onTestFinished(() => gateway.stop());
  const get = (path = '/v1/analytics/prj_1/feedback', headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return { gateway, budget, lines, get };
}

/** Sends a request with a target that `fetch` would tidy up, and returns status, headers and body. */
export function rawRequest(
  url: string,
  options: http.RequestOptions,
): Promise<{ status: number; body: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = http.request({ hostname, port, agent: false, ...options }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
      response.on('error', reject);
    });
    request.on('error', reject).end();
  });
}
