import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { explainFailure } from '../../../src/cli/explain-failure.ts';
import type { ConsoleOptions } from '../../../src/console/app-context.ts';
import { NoSuchVersion } from '../../../src/exports/store/bundle-store.ts';
import { fakeSetting, hostile } from '../../tools/console/fake-setting.ts';
import { ask, formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const order = () => randomUUID();
const site = '/sites/acme/docs.acme.example';

/** Every address that takes a form, with the fields that would make it act. */
const acts: [string, Record<string, string>][] = [
  [`${site}/start`, {}],
  [`${site}/poll-now`, {}],
  [`${site}/approve`, { version: 'v' }],
  [`${site}/reject`, { version: 'v', sure: 'yes' }],
  [`${site}/rollback`, { version: 'v-old', sure: 'yes' }],
  [`${site}/hold`, {}],
  [`${site}/release`, {}],
  [`${site}/cancel`, { run: 'r', sure: 'yes' }],
  ['/projects/acme/prj_1/sync', {}],
  ['/projects/acme/prj_1/cancel', { pass: 'sweep', run: 'r', sure: 'yes' }],
  ['/budget/acme/pause', { for: '1h', sure: 'yes' }],
  ['/budget/acme/resume', {}],
  ['/budget/acme/set', { requests: '10' }],
  ['/budget/acme/reset', {}],
  ['/schedules/pause', { schedule: 'sync:acme:prj_1:incremental' }],
  ['/schedules/resume', { schedule: 'sync:acme:prj_1:incremental' }],
  ['/schedules/trigger', { schedule: 'sync:acme:prj_1:incremental' }],
  ['/bulk', { verb: 'start', site: 'acme/docs.acme.example' }],
  ['/bulk/start', { site: 'acme/docs.acme.example', sure: 'yes' }],
  ['/bulk/approve', { site: 'acme/docs.acme.example/v', sure: 'yes' }],
  ['/bulk/hold', { site: 'acme/docs.acme.example', sure: 'yes' }],
  ['/bulk/release', { site: 'acme/docs.acme.example', sure: 'yes' }],
  ['/bulk/pause', { site: 'acme/docs.acme.example', sure: 'yes' }],
];

/** How a browser says what asks for a page: from where, how and for what. */
const fetched = (site: string, mode: string, dest: string) => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': dest,
});

describe('signing in', () => {
  it('takes the printed link once, and prints another', async () => {
    const console = await runningConsole();
    expect(await ask(console, '/')).toMatchObject({ status: 401 });
    const { pathname, search } = new URL(console.signInUrl);
    const first = await ask(console, pathname + search);
    expect(first.headers['set-cookie']?.[0]).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(await ask(console, pathname + search)).toMatchObject({
      status: 401,
      headers: { 'cache-control': 'no-store' },
    });
    expect(console.links).toHaveLength(1);
    const cookie = await signIn(console, console.links[0]);
    expect(await ask(console, '/', { headers: { cookie } })).toMatchObject({ status: 200 });
  });

  it.each<[string, Partial<ConsoleOptions>, string]>([
    ['a proxy', { proxy: { from: ['10.0.0.1'], user: 'x-user', groups: 'x-groups' } }, 'address of the proxy'],
    [
      'a provider',
      { openId: { issuer: 'http://127.0.0.1:9', clientId: 'c', clientSecret: 's', groups: 'g' } },
      'your account',
    ],
    ['--no-link', { link: false }, 'Nobody can sign in'],
  ])('has no link with %s, nor a token that works', async (_what, options, how) => {
    const console = await runningConsole(options);
    expect([console.signInUrl, console.links]).toEqual(['', []]);
    for (const path of ['/', '/sign-in?token=', '/sign-in?token=null', '/sign-in']) {
      expect(await ask(console, path)).toMatchObject({ status: 401, text: expect.stringContaining(how) });
    }
  });

  it('does not use the link up for what only looks ahead', async () => {
    const console = await runningConsole();
    const { pathname, search } = new URL(console.signInUrl);
    await ask(console, pathname + search, { method: 'HEAD' });
    await ask(console, pathname + search, { headers: { 'sec-purpose': 'prefetch' } });
    expect(await signIn(console)).toMatch(/^docferry_console_\d+=.{40,}/);
  });

  it('makes a new session whatever cookie was there before, and ends that one', async () => {
    const console = await runningConsole();
    const planted = `docferry_console_${console.port}=planted-by-somebody`;
    const { pathname, search } = new URL(console.signInUrl);
    const { headers } = await ask(console, pathname + search, { headers: { cookie: planted } });
    expect(String(headers['set-cookie'])).not.toContain('planted');
    expect(await ask(console, '/', { headers: { cookie: planted } })).toMatchObject({ status: 401 });
    const old = await signIn(console, console.links.at(-1));
    const again = new URL(console.links.at(-1) ?? '');
    await ask(console, again.pathname + again.search, { headers: { cookie: old } });
    expect(await ask(console, '/', { headers: { cookie: old } })).toMatchObject({ status: 401 });
  });

  it('ends with the idle time, and when signed out', async () => {
    const idle = await runningConsole({ idleMs: 0 });
    const cookie = await signIn(idle);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await ask(idle, '/', { headers: { cookie } })).toMatchObject({ status: 401 });

    const console = await runningConsole();
    const mine = await signIn(console);
    const refused = await send(console, '/sign-out', { token: 'not mine' }, { cookie: mine });
    expect(refused).toMatchObject({
      status: 403,
      text: expect.stringContaining('You are still signed in as terminal'),
    });
    expect(await ask(console, '/', { headers: { cookie: mine } })).toMatchObject({ status: 200 });
    await send(console, '/sign-out', { token: await formToken(console, mine) }, { cookie: mine });
    expect(await ask(console, '/', { headers: { cookie: mine } })).toMatchObject({ status: 401 });
  });

  it('marks cookies as secure behind TLS', async () => {
    const console = await runningConsole({ url: 'https://console.example' });
    const { pathname, search } = new URL(console.signInUrl);
    expect(console.signInUrl).toMatch(/^https:\/\/console\.example\/sign-in/);
    const { headers } = await ask(console, pathname + search, { headers: { host: 'console.example' } });
    expect(headers['set-cookie']?.[0]).toMatch(
      /^__Host-docferry_console=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
  });
});

describe('a link in another site', () => {
  const page = `${site}?a=1&b=%22`;
  const visit = (from: string) => ({ headers: fetched(from, 'navigate', 'document') });
  const proxied = { proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' } };

  it.each(['cross-site', 'same-site'])(
    'leads on from here, once, because the cookie stays behind: %s',
    async (from) => {
      const console = await runningConsole();
      const cookie = await signIn(console);
      const first = await ask(console, page, visit(from));
      expect(first).toMatchObject({ status: 200, headers: { 'content-security-policy': expect.any(String) } });
      expect(first.text).toContain(`content="0;url=${site}?a=1&amp;b=%22"`);
      const again = visit('same-origin').headers;
      expect(await ask(console, page, { headers: { ...again, cookie } })).toMatchObject({ status: 200 });
      const { status, text } = await ask(console, page, { headers: again });
      expect(status).toBe(401);
      expect(text).not.toContain('http-equiv="refresh"');
      expect(text).toContain(`href="${site}?a=1&amp;b=%22"`);
    },
  );

  it('does not replace the session of a person whom the proxy names', async () => {
    const console = await runningConsole(proxied);
    const named = { 'x-user': 'ada' };
    const { headers } = await ask(console, page, { headers: { ...named, ...visit('cross-site').headers } });
    expect(headers['set-cookie']).toBeUndefined();
    const begun = await ask(console, page, { headers: { ...named, ...visit('same-origin').headers } });
    expect(begun.headers['set-cookie']?.[0]).toMatch(/^docferry_console_/);
  });

  /** Browsers take a backslash for a slash, and leave out tabs. */
  const hostile = [
    '//evil.example/x',
    '///evil.example/x',
    '/%5Cevil.example/x',
    '/%5c%5Cevil.example/x',
    '/%09/evil.example/x',
    '/%0A/evil.example/x',
    '/%2F%2Fevil.example/x',
    '/./%5cevil.example/x',
    '/..//evil.example/x',
    '/%2e%2e//evil.example/x',
    '/sites/..//evil.example/x',
  ];

  it.each(hostile)('leads to no other site: %s', async (path) => {
    const console = await runningConsole();
    const answers = [
      await ask(console, path, visit('cross-site')),
      await ask(console, path, visit('none')),
      await send(console, path, { reason: 'r' }, { cookie: '' }),
    ];
    for (const [index, { text }] of answers.entries()) {
      const led = [...text.matchAll(/(?:0;url=|href="|action=")([^"]*)"/g)].map(([, to = '']) => to);
      expect([index, led]).toEqual([index, expect.arrayContaining([expect.stringContaining('evil.example/x')])]);
      expect(led.filter((to) => new URL(to, console.url).origin !== console.url)).toEqual([]);
    }
  });

  it.each(['/\\evil.example/x', '/%2e%2e/\\evil.example/x'])('takes no path with a backslash: %s', async (path) => {
    expect(await ask(await runningConsole(), path, visit('cross-site'))).toMatchObject({ status: 400, text: '' });
  });

  it('leads to the very page, whatever its address holds', async () => {
    const console = await runningConsole();
    const { text } = await ask(console, '/sites/acme/%C3%A4%20%23%3F?q=%C3%A4', visit('cross-site'));
    expect(text).toContain('content="0;url=/sites/acme/%C3%A4%20%23%3F?q=%C3%A4"');
  });
});

describe('requests of other pages', () => {
  it('are refused by any name but its own, whatever they ask for', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    for (const host of ['evil.example', `evil.example:${console.port}`, `localhost.evil.example:${console.port}`]) {
      expect(await ask(console, '/', { headers: { cookie, host } })).toMatchObject({ status: 421 });
    }
    const host = `localhost:${console.port}`;
    expect(await ask(console, '/', { headers: { cookie, host } })).toMatchObject({ status: 200 });
  });

  it.each([
    ['a cross-site form', { 'sec-fetch-site': 'cross-site' }],
    ['a form of a sister site', { 'sec-fetch-site': 'same-site' }],
    ['a form of another origin', { origin: 'https://evil.example' }],
    ['a form of another port', { origin: 'http://127.0.0.1:1' }],
    ['a sandboxed form', { origin: 'null' }],
    ['JSON', { 'content-type': 'application/json' }],
    ['text', { 'content-type': 'text/plain' }],
    ['a form of parts', { 'content-type': 'multipart/form-data; boundary=x' }],
  ])('%s has no effect, even with the session and its token', async (_what, headers) => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    for (const [path, fields] of acts) {
      const answer = await send(console, path, { ...fields, token, order: order() }, { cookie, headers });
      expect([403, 415]).toContain(answer.status);
    }
    expect(console.effects.calls).toEqual([]);
  });

  it.each<[string, Record<string, string>, number]>([
    ['a visit from another site', fetched('cross-site', 'navigate', 'document'), 200],
    ['an address that is typed', fetched('none', 'navigate', 'document'), 200],
    ['a frame of another site', fetched('cross-site', 'navigate', 'iframe'), 403],
    ['a frame of a sister site', fetched('same-site', 'navigate', 'iframe'), 403],
    ['an image of another site', fetched('cross-site', 'no-cors', 'image'), 403],
    ['a script of a sister site', fetched('same-site', 'no-cors', 'script'), 403],
    ['a script that reads', fetched('same-site', 'cors', 'empty'), 403],
    ['a sandboxed page that reads', { origin: 'null' }, 403],
    ['a page of another port that reads', { origin: 'http://127.0.0.1:1' }, 403],
  ])('lead a person here at most: %s', async (_what, headers, status) => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    for (const path of ['/', site, '/events', '/audit', '/feedback', '/history']) {
      if (status === 200 && path !== '/') continue;
      expect([path, await ask(console, path, { headers: { cookie, ...headers } })]).toMatchObject([path, { status }]);
    }
  });

  it('have no effect without any sign of where they come from', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const body = new URLSearchParams({ token: await formToken(console, cookie), order: order() }).toString();
    const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
    expect(await ask(console, `${site}/hold`, { method: 'POST', headers, body })).toMatchObject({ status: 403 });
    expect(console.effects.calls).toEqual([]);
  });

  it('do nothing by GET, as an image would, nor by other methods', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    for (const [path, fields] of acts) {
      const query = new URLSearchParams({ ...fields, token, order: order() });
      expect(await ask(console, `${path}?${query}`, { headers: { cookie } })).toMatchObject({ status: 404 });
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      expect(await ask(console, `${site}/hold`, { method, headers: { cookie } })).toMatchObject({ status: 405 });
    }
    expect(console.effects.calls).toEqual([]);
  });

  it('find headers on every answer that keep them out', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    for (const path of ['/', '/nothing-here', '/sign-in?token=x', site, '/icon.svg']) {
      const { headers } = await ask(console, path, { headers: { cookie } });
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
      });
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
    }
  });
});

describe('people who may only look', () => {
  it.each([
    ['everybody, while the console is read-only', { write: false }],
    ['viewers', { proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' } }],
  ])('%s: no form has any effect, and none is offered', async (_who, options) => {
    const console = await runningConsole(options);
    const headers = { 'x-user': 'vera@acme.example' };
    const cookie = 'proxy' in options ? cookieOf(await ask(console, '/', { headers })) : await signIn(console);
    const { text } = await ask(console, site, { headers: { cookie, ...headers } });
    expect(text.match(/<form [^>]*action="([^"]+)"/g)).toEqual([expect.stringContaining('/sign-out')]);
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    for (const [path, fields] of acts) {
      const answer = await send(console, path, { ...fields, token, order: order() }, { cookie, headers });
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('Nothing was done') });
    }
    expect(console.effects.calls).toEqual([]);
  });

  it('do nothing without a session, nor with the token of another', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const other = await signIn(console, console.links.at(-1));
    const token = await formToken(console, other);
    for (const [path, fields] of acts) {
      const without = await send(console, path, { ...fields, token, order: order() }, { cookie: '' });
      expect(without).toMatchObject({ status: 401, text: expect.stringContaining('Nothing was done') });
      const foreign = await send(console, path, { ...fields, token, order: order() }, { cookie });
      expect(foreign).toMatchObject({ status: 403, text: expect.stringContaining('Nothing was done') });
    }
    expect(console.effects.calls).toEqual([]);
  });
});

describe('hostile text', () => {
  it('is text on every page, and turns nothing around', async () => {
    const effects = { calls: [], auditEntries: [] };
    const console = await runningConsole({
      setting: fakeSetting(effects, { reason: hostile, domains: ['x"><b>.example'] }),
    });
    const cookie = await signIn(console);
    const name = encodeURIComponent('x"><b>.example');
    const pages = [
      '/',
      `/?q=${encodeURIComponent(hostile)}`,
      `/sites/acme/${name}`,
      '/schedules',
      '/budget',
      `/${name}`,
    ];
    for (const path of pages) {
      const { text } = await ask(console, path, { headers: { cookie } });
      expect(text).not.toContain('<img');
      expect(text).not.toContain('<script>alert');
      expect(text).not.toContain('"><b>');
      expect(text.includes('\u202e') && !path.includes('q=')).toBe(false);
    }
  });

  it('in a form is kept as text on the question about it', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    const fields = { token, order: order(), version: hostile, reason: hostile };
    const { status, text } = await send(console, `${site}/reject`, fields, { cookie });
    expect(status).toBe(200);
    expect(text).not.toContain('<img');
    expect(console.effects.calls).toEqual([]);
  });

  it('of half a megabyte is refused unread', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    // The console answers and hangs up before it has read everything, which a actor may notice first.
    const sent = send(console, `${site}/hold`, { reason: 'x'.repeat(600_000) }, { cookie });
    expect([413, 'hung up']).toContain(await sent.then(({ status }) => status).catch(() => 'hung up'));
    const token = await formToken(console, cookie);
    const long = await send(console, `${site}/hold`, { token, order: order(), reason: 'x'.repeat(501) }, { cookie });
    expect(long).toMatchObject({ status: 409, text: expect.stringContaining('longer than 500') });
    expect(console.effects.calls).toEqual([]);
  });

  it('refuses a form of more fields than any page sends, instead of writing each of them again', async () => {
    const console = await runningConsole();
    const fields = (count: number) =>
      new URLSearchParams(Array.from({ length: count }, (_, n): [string, string] => ['a', `${n}`]));
    expect(await send(console, '/x', fields(1_010), { cookie: '' })).toMatchObject({ status: 401 });
    const { status, text } = await send(console, '/x', fields(50_000), { cookie: '' });
    expect([status, text.includes('<input')]).toEqual([413, false]);
  });
});

describe('what has changed since the page was loaded', () => {
  it('a version that retention removed: nothing starts, and the page says so', async () => {
    const effects = { calls: [], auditEntries: [] };
    const setting = fakeSetting(effects);
    const openBundles = async () => ({
      ...(await setting.openBundles()),
      manifest: async (domain: string, version: string) => {
        throw new NoSuchVersion(`${domain} has no version ${version}`);
      },
    });
    const console = await runningConsole({ setting: { ...setting, explain: explainFailure, openBundles } });
    const cookie = await signIn(console);
    const fields = { token: await formToken(console, cookie), order: order(), version: 'v-old', sure: 'yes' };
    const answer = await send(console, `${site}/rollback`, fields, { cookie });
    expect(answer).toMatchObject({ status: 410, text: expect.stringContaining('That version is gone') });
    expect(answer.text).toContain('v-old');
    expect(answer.text).toContain(`href="${site}"`);
    expect([effects.calls, effects.auditEntries]).toEqual([[], []]);
  });
});

describe('what is not in the configuration', () => {
  it('is not acted upon, whatever a form names', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    const foreign: [string, Record<string, string>][] = [
      ['/sites/acme/other.example/start', {}],
      ['/projects/acme/prj_9/sync', {}],
      ['/budget/other/resume', {}],
      ['/schedules/pause', { schedule: 'sync:acme:prj_9:sweep' }],
      ['/schedules/trigger', { schedule: 'export:other:docs.acme.example' }],
    ];
    for (const [path, fields] of foreign) {
      const answer = await send(console, path, { ...fields, token, order: order() }, { cookie });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    expect(console.effects.calls).toEqual([]);
  });
});

describe('an order', () => {
  it('is done once, however often its form is sent', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const fields = { token: await formToken(console, cookie), order: order(), reason: 'a release is coming' };
    const answers = await Promise.all([1, 2, 3].map(() => send(console, `${site}/hold`, fields, { cookie })));
    answers.push(await send(console, `${site}/hold`, fields, { cookie }));
    const location = `${site}?done=${fields.order}`;
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(Array(4).fill([303, location]));
    expect(console.effects.calls).toEqual(['hold']);
    const { text } = await ask(console, location, { headers: { cookie } });
    expect(text).toContain('is held at');
  });

  it('that cannot be undone is asked about once first', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const fields = { token: await formToken(console, cookie), order: order(), version: 'v-old', reason: 'because' };
    const asked = await send(console, `${site}/rollback`, fields, { cookie });
    expect(asked).toMatchObject({ status: 200, text: expect.stringContaining('name="reason" value="because"') });
    expect(console.effects.calls).toEqual([]);
    expect(await send(console, `${site}/rollback`, { ...fields, sure: 'yes' }, { cookie })).toMatchObject({
      status: 303,
    });
    expect(console.effects.calls).toEqual(['start']);
  });
});

const cookieOf = ({ headers }: { headers: Record<string, unknown> }): string =>
  String((headers['set-cookie'] as string[] | undefined)?.[0]).split(';')[0] ?? '';
