import { describe, expect, it } from 'vitest';
import { ProxyIdentity } from '../../../src/console/identity/proxy-identity.ts';
import { ask, runningConsole } from '../../tools/console/running-console.ts';

const headers = { user: 'x-user', groups: 'x-groups' };

describe('the identity in the headers of a proxy', () => {
  it.each([
    ['10.1.2.3', true],
    ['::ffff:10.1.2.3', true],
    ['10.1.3.1', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['2001:db8::1', true],
    ['2001:db9::1', false],
    ['', false],
    [undefined, false],
  ])('comes from %s: %s', (address, expected) => {
    const proxy = new ProxyIdentity(
      { from: ['10.1.2.0/24', '192.0.2.7', '2001:db8::/32'], ...headers },
      { viewers: null, operators: [], contacts: [] },
    );
    expect(proxy.isFrom(address)).toBe(expected);
  });

  it('is believed from the proxy alone', async () => {
    const sent = { headers: { 'x-user': 'ada@acme.example', 'x-groups': 'staff, docs-leads' } };
    const roles = { viewers: ['nobody'], operators: ['docs-leads'], contacts: [] };
    const near = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, roles });
    const found = await ask(near, '/', sent);
    expect(found).toMatchObject({ status: 200, text: expect.stringContaining('ada@acme.example') });
    expect(found.text).toContain('With the ticked lines');
    const far = await runningConsole({ proxy: { from: ['10.0.0.0/8'], ...headers }, roles });
    expect(await ask(far, '/', sent)).toMatchObject({ status: 401 });
  });

  it('lets nobody in whom no role lets in, and no name that hides something', async () => {
    const roles = { viewers: ['docs'], operators: [], contacts: [] };
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, roles });
    expect(await ask(console, '/', { headers: { 'x-user': 'eve' } })).toMatchObject({ status: 403 });
    expect(await ask(console, '/', { headers: { 'x-user': 'x'.repeat(101), 'x-groups': 'docs' } })).toMatchObject({
      status: 403,
    });
    expect(await ask(console, '/')).toMatchObject({ status: 401 });
  });

  it('makes a new session when another person comes through with the same cookie', async () => {
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers } });
    const first = await ask(console, '/', { headers: { 'x-user': 'ada' } });
    const cookie = String(first.headers['set-cookie']?.[0]).split(';')[0] ?? '';
    expect((await ask(console, '/', { headers: { cookie, 'x-user': 'ada' } })).headers['set-cookie']).toBeUndefined();
    const second = await ask(console, '/', { headers: { cookie, 'x-user': 'eve' } });
    expect(second.text).toContain('<bdi>eve</bdi>');
    expect(second.headers['set-cookie']?.[0]).not.toContain(cookie);
  });
});
