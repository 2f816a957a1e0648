import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { noticeTypes } from '../../src/runs/rules/notices.ts';
import { usualEventTypes } from '../../src/runs/rules/webhook-event.ts';
import { failureOf, load, organizationWith, problemsOf } from './config-folder.ts';

const secret = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;
const url = 'https://hooks.example/in/T0KENinTHEpath1234567';
const withWebhooks = (...webhooks: string[]) => organizationWith(`webhooks: [${webhooks.join(', ')}]`);
const webhook = (more: Record<string, string> = {}) =>
  `{ ${Object.entries({ url: `"${url}"`, secret: `"${secret}"`, ...more })
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`;
const fromEnvironment = { url: `"\${HOOK_URL}"`, secret: `"\${HOOK_SECRET}"` };
const env = { ACME_API_KEY: 'k', HOOK_URL: url, HOOK_SECRET: secret };

describe('webhooks', () => {
  it('come from the file or the environment, are told of everything by default, and are never shown', () => {
    for (const yaml of [withWebhooks(webhook()), withWebhooks(webhook(fromEnvironment))]) {
      const config = load(yaml, { env });
      const [found] = config.organizations[0]?.webhooks ?? [];
      expect([found?.name, found?.events]).toEqual(['default', usualEventTypes]);
      expect([found?.url.read(), found?.secret?.read()]).toEqual([url, secret]);
      const printed = `${JSON.stringify(config)}${inspect(config, { depth: 10, showHidden: true })}${found?.url}${found?.secret}`;
      expect(printed).not.toContain('T0KEN');
      expect(printed).not.toContain(secret.slice(10, 30));
    }
  });

  it('may be told of some events only, each webhook by its name', () => {
    const yaml = withWebhooks(webhook(), webhook({ name: 'ops', events: '[export.finished]' }));
    expect(load(yaml).organizations[0]?.webhooks.map(({ name, events }) => [name, events.length])).toEqual([
      ['default', usualEventTypes.length],
      ['ops', 1],
    ]);
    expect(problemsOf(withWebhooks(webhook(), webhook()))).toEqual([
      'organizations[0].webhooks[1]: another webhook is also called default: give each a different name',
    ]);
  });

  it('may be chats, which take no signature and are told of what people act on', () => {
    const chat = (format: string) => `{ name: ${format}, url: "${url}", format: ${format} }`;
    const [organization] = load(withWebhooks(chat('slack'), chat('teams'))).organizations;
    expect(organization?.webhooks.map(({ format, secret, events }) => [format, secret, events])).toEqual([
      ['slack', null, noticeTypes],
      ['teams', null, noticeTypes],
    ]);
    expect(problemsOf(withWebhooks(webhook({ format: 'slack' })))).toEqual([
      'organizations[0].webhooks[0].secret: goes with "format: standard" only: slack takes no signature',
    ]);
    expect(problemsOf(withWebhooks(`{ url: "${url}" }`))).toEqual([
      expect.stringMatching(/secret: is missing: expected the key of the signature, whsec_/),
    ]);
  });

  it.each([
    ['format', { format: 'irc' }, /expected standard, slack, teams/],
    ['url', { url: '"http://hooks.example/in"' }, /expected an https:\/\/ address .*allowInsecure/],
    ['url', { url: 'hooks.example' }, /expected an https:\/\/ address/],
    ['url', { url: '"https://user:T0KEN@hooks.example"' }, /without user name and password/],
    ['secret', { secret: '"whsec_c2hvcnQ="' }, /at least 24 random bytes in base64/],
    ['secret', { secret: secret.slice(6) }, /expected whsec_/],
    ['secret', { secret: `"${secret}!"` }, /expected whsec_/],
    ['events[0]', { events: '[pass]' }, /expected feedback\.pass\.finished or feedback\.refreshed or export\.finished/],
    ['events', { events: '[]' }, /at least one event/],
    ['name', { name: '"a b"' }, /expected a name/],
    ['key', { key: 'k' }, /unknown key/],
  ])('are refused for %s in %j, without showing it', (field, more, message) => {
    const problems = problemsOf(withWebhooks(webhook(more)));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(`organizations[0].webhooks[0].${field}: `)).toBe(true);
    expect(problems[0]).toMatch(message);
    expect(problems[0]).not.toMatch(/T0KEN|hooks\.example|a2tra2tr/);
  });

  it('need their variables where they are used, and are looked at only then', () => {
    const yaml = withWebhooks(webhook(fromEnvironment));
    const missing = failureOf(() => load(yaml, { env: { ACME_API_KEY: 'k' } }));
    expect(missing.problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'organizations[0].webhooks[0].url: the environment variable HOOK_URL is not set',
      'organizations[0].webhooks[0].secret: the environment variable HOOK_SECRET is not set',
    ]);
    const deferred = load(yaml, { env: {}, secrets: 'deferred' });
    expect(deferred.organizations[0]?.webhooks[0]?.url.describe()).toBe('the environment variable HOOK_URL');
    expect(() => load(withWebhooks(webhook({ url: 'x' })), { env: {}, secrets: 'deferred' })).toThrow(/https:/);
  });

  it('may use http:// for this machine, and elsewhere with allowInsecure', () => {
    const local = load(withWebhooks(webhook({ url: '"http://localhost:9000/in"' })));
    expect(local.organizations[0]?.webhooks[0]?.url.read()).toBe('http://localhost:9000/in');
    const plain = withWebhooks(webhook({ url: '"http://hooks.internal/in"' }));
    const insecure = load(plain.replace('docs-service.example', 'docs-service.example, allowInsecure: true'));
    expect(insecure.organizations[0]?.webhooks[0]?.url.read()).toBe('http://hooks.internal/in');
  });
});
