import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { OpenIdSignIn } from '../../src/console/identity/openid.ts';
import { isLoopback, proxyFor } from '../../src/rules/proxy.ts';
import { sendWebhook } from '../../src/runs/webhooks.ts';
import { roles } from '../tools/console/running-console.ts';

const https = new URL('https://api.example.com/v1');
const proxy = 'http://proxy.example:3128';

describe('proxyFor', () => {
  it('takes HTTPS_PROXY for https, HTTP_PROXY for http and ALL_PROXY for both', () => {
    expect(proxyFor(https, { HTTPS_PROXY: proxy })?.host).toBe('proxy.example:3128');
    expect(proxyFor(https, { HTTP_PROXY: proxy })).toBeNull();
    expect(proxyFor(new URL('http://api.example.com'), { HTTP_PROXY: proxy })?.host).toBe('proxy.example:3128');
    expect(proxyFor(https, { all_proxy: proxy })?.host).toBe('proxy.example:3128');
    expect(proxyFor(https, { https_proxy: 'other.example:1', HTTPS_PROXY: proxy })?.host).toBe('other.example:1');
    expect(proxyFor(https, {})).toBeNull();
  });

  it.each([
    'api.example.com',
    'example.com',
    '.example.com',
    '*.example.com',
    'EXAMPLE.com',
    'a.test, example.com:443',
    '*',
  ])('goes directly with NO_PROXY=%s', (noProxy) => {
    expect(proxyFor(https, { HTTPS_PROXY: proxy, NO_PROXY: noProxy })).toBeNull();
  });

  it.each(['ample.com', 'example.com:8443', 'other.example', ''])('uses the proxy with NO_PROXY=%j', (noProxy) => {
    expect(proxyFor(https, { HTTPS_PROXY: proxy, NO_PROXY: noProxy })).not.toBeNull();
  });

  it.each(['http://localhost:8787', 'http://127.0.0.1:1', 'http://[::1]:1'])(
    'never sends %s through a proxy',
    (url) => {
      expect(proxyFor(new URL(url), { HTTP_PROXY: proxy })).toBeNull();
    },
  );

  it('knows an IPv6 address in NO_PROXY', () => {
    expect(proxyFor(new URL('https://[2001:db8::1]'), { HTTPS_PROXY: proxy, NO_PROXY: '2001:db8::1' })).toBeNull();
  });

  it('refuses other kinds of proxies without quoting their password', () => {
    const read = () => proxyFor(https, { HTTPS_PROXY: 'socks5://user:hunter2@proxy.example' });
    expect(read).toThrow(/^HTTPS_PROXY is not an http:\/\/ or https:\/\/ address$/);
    expect(() => proxyFor(https, { all_proxy: 'socks5://proxy.example' })).toThrow(/^ALL_PROXY is not/);
  });

  it('says what is wrong with credentials that cannot be decoded, without quoting them', () => {
    expect(proxyFor(https, { HTTPS_PROXY: 'http://user:100%25@proxy.example' })?.password).toBe('100%25');
    const read = () => proxyFor(https, { HTTPS_PROXY: 'http://user:100%hunter2@proxy.example' });
    expect(read).toThrow(/^HTTPS_PROXY has a % in its user or password: write it as %25$/);
  });
});

/** A proxy in `ALL_PROXY` that opens no tunnel; what it was asked for. */
async function refusingProxy(): Promise<string[]> {
  const asked: string[] = [];
  const server = createServer().on('connect', ({ url = '' }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, undefined);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
  vi.stubEnv('all_proxy', undefined);
  vi.stubEnv('ALL_PROXY', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return asked;
}

describe('ALL_PROXY', () => {
  it('is the way of messages to webhooks', async () => {
    const asked = await refusingProxy();
    const webhook = { url: () => 'https://hooks.example.com/in', secret: () => null };
    const sent = sendWebhook(webhook, { messageId: 'msg_1', body: '{}' });
    await expect(sent).rejects.toMatchObject({ name: 'WebhookUnreachable' });
    expect(asked).toEqual(['hooks.example.com:443']);
    vi.stubEnv('ALL_PROXY', 'socks5://user:hunter2@proxy.example');
    const refused = sendWebhook(webhook, { messageId: 'msg_1', body: '{}' });
    await expect(refused).rejects.toThrow(/^ALL_PROXY is not an http:\/\/ or https:\/\/ address$/);
  });

  it('is the way to the provider that signs people in', async () => {
    const asked = await refusingProxy();
    const setting = { issuer: 'https://id.example.com', clientId: 'c', clientSecret: 's', groups: 'groups' };
    await expect(new OpenIdSignIn(setting, 'http://localhost:1', roles()).begin()).rejects.toThrow();
    expect(asked).toEqual(['id.example.com:443']);
  });
});

describe('isLoopback', () => {
  it.each([
    'localhost',
    'LOCALHOST',
    'docs.localhost',
    '127.0.0.1',
    '127.8.9.10',
    '[::1]',
    '::1',
    'localhost:7233',
    'docs.localhost:80',
    '127.0.0.1:7233',
    '[::1]:7233',
  ])('is true of %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    '',
    'localhost.example',
    'notlocalhost',
    '.localhost',
    '127.0.0.1.example',
    '128.0.0.1',
    '127.example:80',
    '::1:80',
    '[::2]',
    'localhost:port',
  ])('is false of %j', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
