import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  ask,
  formToken,
  roles,
  runningConsole,
  send,
  signIn,
} from '../../tools/console/running-console.ts';

const site = '/sites/acme/docs.acme.example';
const proxy = { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' };
const operators = { logins: ['ada', 'bert'] };
type Console = Awaited<ReturnType<typeof runningConsole>>;

const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie']?.[0]).split(';')[0] ?? '';

/** Somebody whom the proxy names. */
async function comes(console: Console, login: string): Promise<string> {
  return cookieOf(await ask(console, '/', { headers: { 'x-user': login } }));
}

/** What the proxy sends of somebody's request. */
const from = (login: string, cookie: string) => ({ cookie, headers: { cookie, 'x-user': login } });

/** The fields of the last form of a page that leads there, as a browser would send them. */
function formOn({ text }: Answer, action: string): Record<string, string> {
  const form = text.split('<form ').find((part) => part.includes(`action="${action}"`)) ?? '';
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name, value]));
}

/** Opens a stream of events, and tells when it ends. */
async function stream(console: Console, headers: Record<string, string>): Promise<{ ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    get({ port: console.port, path: '/events?of=overview', headers, agent: false }, (response) => {
      const ended = new Promise<void>((done) => response.once('close', done));
      response.once('data', () => resolve({ ended })).resume();
    }).on('error', reject);
  });
}

describe('a session that ended in the middle of a form', () => {
  it('loses nothing that was typed: after signing in the form is sent again, and done once', async () => {
    const console = await runningConsole();
    const old = await signIn(console);
    const fields = { token: await formToken(console, old), order: randomUUID(), reason: 'a <b>long</b> reason' };
    await send(console, '/sign-out', { token: fields.token }, { cookie: old });

    const refused = await send(console, `${site}/hold`, fields, { cookie: old });
    expect(refused.status).toBe(401);
    expect(refused.text).toContain('Your session has ended. Nothing was done');
    expect(refused.text).toContain('a &lt;b&gt;long&lt;/b&gt; reason');
    expect(refused.text).toContain('target="_blank"');
    expect(console.effects.calls).toEqual([]);

    // Sent again too early it is kept once more.
    const again = formOn(refused, `${site}/hold`);
    expect(again).toEqual({ order: fields.order, reason: 'a &lt;b&gt;long&lt;/b&gt; reason' });
    const early = await send(console, `${site}/hold`, { ...fields, token: '' }, { cookie: old });
    expect(early.status).toBe(401);

    const cookie = await signIn(console, console.links.at(-1));
    const asked = await send(console, `${site}/hold`, { order: fields.order, reason: fields.reason }, { cookie });
    expect(asked).toMatchObject({ status: 403, text: expect.stringContaining('Nothing was done') });
    expect(console.effects.calls).toEqual([]);
    const sure = { ...formOn(asked, `${site}/hold`), reason: fields.reason };
    for (let times = 0; times < 2; times += 1) {
      expect(await send(console, `${site}/hold`, sure, { cookie })).toMatchObject({ status: 303 });
    }
    expect(console.effects.calls).toEqual(['hold']);
    expect(console.effects.auditEntries).toMatchObject([{ action: 'hold', who: 'terminal', reason: fields.reason }]);
  });

  it('keeps no answer to a question: what cannot be undone is asked about again', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const fields = { token: 'of an ended session', order: randomUUID(), version: 'v-old', sure: 'yes' };
    const kept = formOn(await send(console, `${site}/rollback`, fields, { cookie }), `${site}/rollback`);
    expect(kept).toEqual({ token: await formToken(console, cookie), order: fields.order, version: 'v-old' });
    const asked = await send(console, `${site}/rollback`, kept, { cookie });
    expect(asked).toMatchObject({ status: 200, text: expect.stringContaining('goes into service') });
    expect(console.effects.calls).toEqual([]);
  });

  it('leads to this console, whatever the address looks like', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    for (const [sent, status] of [
      [{ cookie }, 403],
      [{ cookie: '' }, 401],
    ] as const) {
      const { text, ...answer } = await send(console, '//elsewhere.example/x', { token: 'old', reason: 'x' }, sent);
      expect(answer.status).toBe(status);
      expect(text).toContain('action="/elsewhere.example/x"');
      expect(text).not.toContain('//elsewhere.example');
    }
  });

  it('offers nothing to who may only look', async () => {
    const console = await runningConsole({ write: false });
    const cookie = await signIn(console);
    const answer = await send(console, `${site}/hold`, { token: 'old', order: randomUUID(), reason: 'x' }, { cookie });
    expect(answer).toMatchObject({ status: 403, text: expect.not.stringContaining(`action="${site}/hold"`) });
  });
});

describe('a stream of events', () => {
  it('is not opened by a look at its headers, which would use up what a session may have', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    for (let times = 0; times < 20; times += 1) {
      const head = { method: 'HEAD', headers: { cookie } };
      expect(await ask(console, '/events?of=overview', head)).toMatchObject({ status: 200 });
    }
    await stream(console, { cookie });
  });
});

describe('ending sessions', () => {
  it('of oneself everywhere ends each, with its open events', async () => {
    const console = await runningConsole();
    const [here, there] = [await signIn(console), await signIn(console, console.links.at(-1))];
    const { ended } = await stream(console, { cookie: there });
    const fields = { token: await formToken(console, here), everywhere: 'yes' };
    expect(await send(console, '/sign-out', fields, { cookie: here })).toMatchObject({ status: 200 });
    await ended;
    for (const cookie of [here, there]) {
      const answer = await ask(console, '/', { headers: { cookie } });
      expect(answer).toMatchObject({ status: 401, text: expect.stringContaining('Your session was ended') });
      expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=0');
      expect(await ask(console, '/events?of=overview', { headers: { cookie } })).toMatchObject({ status: 401 });
    }
    const again = await signIn(console, console.links.at(-1));
    expect(await ask(console, '/', { headers: { cookie: again } })).toMatchObject({ status: 200 });
  });

  it('of another by an operator ends those alone, and stands in the audit', async () => {
    const console = await runningConsole({ proxy, roles: roles({ operators }) });
    const [ada, bert, vera] = [await comes(console, 'ada'), await comes(console, 'bert'), await comes(console, 'vera')];
    const { ended } = await stream(console, from('vera', vera).headers);
    const page = await ask(console, '/sessions', from('ada', ada));
    for (const login of ['ada', 'bert', 'vera']) expect(page.text).toContain(`<bdi>${login}</bdi>`);
    const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const fields = { token, order: randomUUID(), login: 'vera' };
    const asked = await send(console, '/sessions/end', fields, from('ada', ada));
    expect(asked).toMatchObject({ status: 200, text: expect.stringContaining('has to sign in again') });
    expect((await ask(console, '/', from('vera', vera))).status).toBe(200);
    const sure = { ...fields, sure: 'yes' };
    for (let times = 0; times < 2; times += 1) await send(console, '/sessions/end', sure, from('ada', ada));
    await ended;
    expect(console.effects.auditEntries).toMatchObject([
      { action: 'end-sessions', org: null, subject: 'vera', who: 'ada', detail: '{"sessions":1}' },
    ]);
    // Not even the proxy's word brings that cookie back; it signs in anew, as a person can see.
    expect(await ask(console, '/', from('vera', vera))).toMatchObject({ status: 401 });
    expect(await ask(console, '/', { headers: { cookie: vera } })).toMatchObject({ status: 401 });
    expect(await comes(console, 'vera')).not.toBe(vera);
    for (const [login, cookie] of [
      ['ada', ada],
      ['bert', bert],
    ] as const) {
      const { status, headers } = await ask(console, '/', from(login, cookie));
      expect([status, headers['set-cookie']]).toEqual([200, undefined]);
    }
    const nobody = await send(
      console,
      '/sessions/end',
      { ...sure, order: randomUUID(), login: 'eve' },
      from('ada', ada),
    );
    expect(nobody).toMatchObject({ status: 409, text: expect.stringContaining('Nobody is signed in as eve') });
  });

  it('is not for viewers, who see their own sessions alone', async () => {
    const console = await runningConsole({ proxy, roles: roles({ operators }) });
    const [ada, vera] = [await comes(console, 'ada'), await comes(console, 'vera')];
    const { text } = await ask(console, '/sessions', from('vera', vera));
    expect([text.includes('<bdi>vera</bdi>'), text.includes('<bdi>ada</bdi>')]).toEqual([true, false]);
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const fields = { token, order: randomUUID(), login: 'ada', sure: 'yes' };
    expect(await send(console, '/sessions/end', fields, from('vera', vera))).toMatchObject({ status: 403 });
    expect((await ask(console, '/', from('ada', ada))).headers['set-cookie']).toBeUndefined();
  });

  it.each([
    ['is gone', {}, 401],
    ['differs', { 'x-user': 'vera' }, 200],
    ['is one whom no role lets in', { 'x-user': 'eve' }, 403],
  ])('happens when the login of the proxy %s, with the open events', async (_what, headers, status) => {
    const console = await runningConsole({
      proxy,
      roles: roles({ viewers: { logins: ['vera'] }, operators }),
    });
    const ada = await comes(console, 'ada');
    const { ended } = await stream(console, from('ada', ada).headers);
    expect(await ask(console, '/', { headers: { cookie: ada, ...headers } })).toMatchObject({ status });
    await ended;
    // The cookie is worth nothing now, with the word of the proxy or without: another session begins.
    expect(await ask(console, '/', { headers: { cookie: ada } })).toMatchObject({ status: 401 });
    expect(cookieOf(await ask(console, '/', from('ada', ada)))).toMatch(/^docferry_console/);
  });

  it('happens to all when the console stops', async () => {
    const first = await runningConsole();
    const cookie = await signIn(first);
    const { ended } = await stream(first, { cookie });
    await first.stop();
    await ended;
    const second = await runningConsole({ port: first.port });
    expect(await ask(second, '/', { headers: { cookie } })).toMatchObject({ status: 401 });
  });
});
