import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Answer, ask, formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const site = '/sites/acme/docs.acme.example';
const proxy = { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' };
const roles = { viewers: null, operators: ['ada', 'bert'], contacts: [] };
type Console = Awaited<ReturnType<typeof runningConsole>>;

const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie']?.[0]).split(';')[0] ?? '';

/** Somebody whom the proxy names. */
async function comes(console: Console, login: string): Promise<string> {
  return cookieOf(await ask(console, '/', { headers: { 'x-user': login } }));
}

/** The fields of the last form of a page that leads there, as a browser would send them. */
function formOn({ text }: Answer, action: string): Record<string, string> {
  const form = text.split('<form ').find((part) => part.includes(`action="${action}"`)) ?? '';
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name, value]));
}

/** Opens a stream of events, and tells when it ends. */
async function stream(console: Console, cookie: string): Promise<{ ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    get({ port: console.port, path: '/events?of=overview', headers: { cookie }, agent: false }, (response) => {
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
    expect(console.effects.deeds).toMatchObject([{ action: 'hold', who: 'terminal', reason: fields.reason }]);
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
    await stream(console, cookie);
  });
});

describe('ending sessions', () => {
  it('of oneself everywhere ends each, with its open events', async () => {
    const console = await runningConsole();
    const [here, there] = [await signIn(console), await signIn(console, console.links.at(-1))];
    const { ended } = await stream(console, there);
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
    const console = await runningConsole({ proxy, roles });
    const [ada, bert, vera] = [await comes(console, 'ada'), await comes(console, 'bert'), await comes(console, 'vera')];
    const { ended } = await stream(console, vera);
    const page = await ask(console, '/sessions', { headers: { cookie: ada } });
    for (const login of ['ada', 'bert', 'vera']) expect(page.text).toContain(`<bdi>${login}</bdi>`);
    const fields = { token: await formToken(console, ada), order: randomUUID(), login: 'vera' };
    const asked = await send(console, '/sessions/end', fields, { cookie: ada });
    expect(asked).toMatchObject({ status: 200, text: expect.stringContaining('has to sign in again') });
    expect((await ask(console, '/', { headers: { cookie: vera } })).status).toBe(200);
    const sure = { ...fields, sure: 'yes' };
    for (let times = 0; times < 2; times += 1) await send(console, '/sessions/end', sure, { cookie: ada });
    await ended;
    expect(console.effects.deeds).toMatchObject([
      { action: 'end-sessions', org: null, subject: 'vera', who: 'ada', detail: '{"sessions":1}' },
    ]);
    // Not even the proxy's word brings that cookie back; it signs in anew, as a person can see.
    const headers = { cookie: vera, 'x-user': 'vera' };
    expect(await ask(console, '/', { headers })).toMatchObject({ status: 401 });
    expect(await ask(console, '/', { headers: { cookie: vera } })).toMatchObject({ status: 401 });
    expect(await comes(console, 'vera')).not.toBe(vera);
    for (const cookie of [ada, bert]) {
      expect(await ask(console, '/', { headers: { cookie } })).toMatchObject({ status: 200 });
    }
    const nobody = await send(
      console,
      '/sessions/end',
      { ...sure, order: randomUUID(), login: 'eve' },
      { cookie: ada },
    );
    expect(nobody).toMatchObject({ status: 409, text: expect.stringContaining('Nobody is signed in as eve') });
  });

  it('is not for viewers, who see their own sessions alone', async () => {
    const console = await runningConsole({ proxy, roles });
    const [ada, vera] = [await comes(console, 'ada'), await comes(console, 'vera')];
    const { text } = await ask(console, '/sessions', { headers: { cookie: vera } });
    expect([text.includes('<bdi>vera</bdi>'), text.includes('<bdi>ada</bdi>')]).toEqual([true, false]);
    const fields = { token: await formToken(console, vera), order: randomUUID(), login: 'ada', sure: 'yes' };
    expect(await send(console, '/sessions/end', fields, { cookie: vera })).toMatchObject({ status: 403 });
    expect(await ask(console, '/', { headers: { cookie: ada } })).toMatchObject({ status: 200 });
  });

  it('happens to all when the console stops', async () => {
    const first = await runningConsole();
    const cookie = await signIn(first);
    const { ended } = await stream(first, cookie);
    await first.stop();
    await ended;
    const second = await runningConsole({ port: first.port });
    expect(await ask(second, '/', { headers: { cookie } })).toMatchObject({ status: 401 });
  });
});
