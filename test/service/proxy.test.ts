import { describe, expect, it } from 'vitest';
import { proxyFor } from '../../src/service/service-connection.ts';

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
  });
});
