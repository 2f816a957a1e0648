import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { load, minimal, problemsOf } from './config-folder.ts';

const token = 'T0KENofTheSearchIndex';
const env = { ACME_API_KEY: 'k', SEARCH_TOKEN: token };
const withClients = (...clients: string[]) => `${minimal}gateway: { clients: [${clients.join(', ')}] }\n`;
const client = (more: Record<string, string> = {}) =>
  `{ ${Object.entries({ name: 'search', token: `"\${SEARCH_TOKEN}"`, org: 'acme', ...more })
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`;

describe('clients of the gateway', () => {
  it('have a class and no bound by default, and never show their token', () => {
    const config = load(withClients(client(), client({ name: 'other', class: 'refresh', share: '30' })), { env });
    expect(config.gateway.clients).toMatchObject([
      { name: 'search', org: 'acme', class: 'on-demand', share: null },
      { name: 'other', class: 'refresh', share: 30 },
    ]);
    expect(config.gateway.clients[0]?.token.read()).toBe(token);
    expect(`${JSON.stringify(config)}${inspect(config, { depth: 10, showHidden: true })}`).not.toContain('T0KEN');
    expect(load(minimal).gateway.clients).toEqual([]);
  });

  it.each([
    ['clients[0].name', { name: '"a b"' }, /expected a name/],
    ['clients[0].org', { org: 'nobody' }, /expected the id of an organization/],
    ['clients[0].class', { class: 'verify' }, /expected on-demand or refresh/],
    ['clients[0].share', { share: '0' }, /from 1 to 100/],
    ['clients[0].share', { share: '101' }, /from 1 to 100/],
    ['clients[0].token', { token: 'T0KEN-too-short' }, /at least 16/],
    ['clients[0].token', { token: '"T0KEN with spaces inside"' }, /at least 16/],
    ['clients[0].key', { key: 'k' }, /unknown key/],
  ])('are refused for %s in %j', (field, more, message) => {
    const problems = problemsOf(withClients(client(more)), { env });
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).toContain(`gateway.${field}`);
    expect(problems[0]).not.toContain('T0KEN');
  });

  it('have names of their own', () => {
    expect(problemsOf(withClients(client(), client()), { env })).toEqual([
      'gateway.clients[1].name: this client is listed twice',
    ]);
  });

  it('need their tokens, and the keys of their organizations, where the gateway runs and nowhere else', () => {
    const yaml = withClients(client());
    expect(load(yaml).gateway.clients).toHaveLength(1);
    expect(problemsOf(yaml, { env: {}, secrets: 'gateway' })).toEqual([
      'organizations[0].apiKey: the environment variable ACME_API_KEY is not set',
      'gateway.clients[0].token: the environment variable SEARCH_TOKEN is not set',
    ]);
    expect(load(minimal, { env: {}, secrets: 'gateway' }).gateway.clients).toEqual([]);
  });
});
