import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ProxyIdentity } from '../../../src/console/identity/proxy-identity.ts';
import { ask, roles, runningConsole, send } from '../../tools/console/running-console.ts';

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
    const proxy = new ProxyIdentity({ from: ['10.1.2.0/24', '192.0.2.7', '2001:db8::/32'], ...headers }, roles());
    expect(proxy.isFrom(address)).toBe(expected);
  });

  it('is believed from the proxy alone', async () => {
    const sent = { headers: { 'x-user': 'ada@acme.example', 'x-groups': 'staff, docs-leads' } };
    const options = { roles: roles({ viewers: { logins: ['nobody'] }, operators: { groups: ['docs-leads'] } }) };
    const near = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, ...options });
    const found = await ask(near, '/', sent);
    expect(found).toMatchObject({ status: 200, text: expect.stringContaining('ada@acme.example') });
    expect(found.text).toContain('With selected');
    const far = await runningConsole({ proxy: { from: ['10.0.0.0/8'], ...headers }, ...options });
    expect(await ask(far, '/', sent)).toMatchObject({ status: 401 });
  });

  it('lets nobody in whom no role lets in, and no name that hides something', async () => {
    const options = { roles: roles({ viewers: { groups: ['docs'] } }) };
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, ...options });
    expect(await ask(console, '/', { headers: { 'x-user': 'eve' } })).toMatchObject({ status: 403 });
    expect(await ask(console, '/', { headers: { 'x-user': 'x'.repeat(101), 'x-groups': 'docs' } })).toMatchObject({
      status: 403,
    });
    expect(await ask(console, '/')).toMatchObject({ status: 401 });
  });

  it('keeps groups and logins apart: nobody gains by a login what a group may, nor the other way', async () => {
    const options = { roles: roles({ viewers: {}, operators: { groups: ['leads'], logins: ['ada'] } }) };
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, ...options });
    const statusOf = async (user: string, groups: string) =>
      (await ask(console, '/', { headers: { 'x-user': user, 'x-groups': groups } })).status;
    expect([await statusOf('leads', ''), await statusOf('eve', 'ada')]).toEqual([403, 403]);
    expect([await statusOf('ada', ''), await statusOf('eve', 'leads')]).toEqual([200, 200]);
  });

  it.each(['terminal', 'Terminal', 'ｔerminal', 'Temporal UI or other client'])(
    'lets in no %s, whose audit entries the audit could not tell from others',
    async (login) => {
      const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers } });
      const sent = Buffer.from(login).toString('latin1');
      const { status, headers: answered } = await ask(console, '/', { headers: { 'x-user': sent } });
      expect([status, answered['set-cookie']]).toEqual([403, undefined]);
    },
  );

  it('may have letters of any script, as UTF-8', async () => {
    const options = { roles: roles({ operators: { logins: ['Zoà'], groups: ['Gruppe à', '東京'] } }) };
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, ...options });
    const asBytes = (text: string) => Buffer.from(text).toString('latin1');
    const look = (user: string, groups = '') => ask(console, '/', { headers: { 'x-user': user, 'x-groups': groups } });
    // The last byte of à is a space for who reads bytes as letters.
    for (const sent of [look(asBytes('Zoà')), look('eve', asBytes('x, Gruppe à')), look('eve', asBytes('東京 '))]) {
      expect((await sent).text).toContain('With selected');
    }
    const cookie = String((await look(asBytes('Łukasz 東京'))).headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const sent = { headers: { cookie, 'x-user': asBytes('Łukasz 東京') } };
    expect((await ask(console, '/sessions', sent)).text).toContain('<bdi>Łukasz 東京</bdi>');
    expect(await look('Zoà')).toMatchObject({ status: 403 });
  });

  it('stands in the audit as it is written, and ends by name', async () => {
    const login = 'Łukasz Müller 東京';
    const options = { roles: roles({ operators: { logins: [login] } }) };
    const console = await runningConsole({ proxy: { from: ['127.0.0.1'], ...headers }, ...options });
    const sent = { 'x-user': Buffer.from(login).toString('latin1') };
    const first = await ask(console, '/', { headers: sent });
    const cookie = String(first.headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const token = /name="token" value="([^"]+)"/.exec(first.text)?.[1] ?? '';
    const fields = { token, order: randomUUID(), login, sure: 'yes' };
    const answer = await send(console, '/sessions/end', fields, { cookie, headers: sent });
    expect([answer.status, console.effects.auditEntries]).toMatchObject([303, [{ who: login, subject: login }]]);
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
