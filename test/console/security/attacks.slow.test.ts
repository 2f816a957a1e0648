import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { guardUi } from '../../../src/cli/embedded.ts';
import {
  budgetActions,
  bulkVerbs,
  projectActions,
  scheduleActions,
  siteActions,
} from '../../../src/console/actions.ts';
import type { ConsoleOptions } from '../../../src/console/app-context.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, formToken, roles, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const site = '/sites/acme/docs.acme.example';

/** Every verb of every kind; a route with a verb that is not here is still asked, by the last of them. */
const verbs = [
  ...new Set([siteActions, projectActions, budgetActions, scheduleActions].flatMap((actions) => Object.keys(actions))),
  ...bulkVerbs,
  'end',
  'a-verb-of-tomorrow',
];

/** All addresses that a pattern of the router stands for. */
function addressesOf(pattern: string): string[] {
  const filled = pattern
    .replace(':org', 'acme')
    .replace(':domain', 'docs.acme.example')
    .replace(':project', 'prj_1')
    .replace(/:(?!verb)\w+(\{[^}]*\})?/g, 'x');
  return filled.includes(':verb') ? verbs.map((verb) => filled.replace(':verb', verb)) : [filled];
}

/** What would make any of them act. */
const fields = {
  version: 'v-old',
  run: 'r',
  sure: 'yes',
  reason: 'because',
  pass: 'sweep',
  for: '1h',
  requests: '10',
  schedule: 'sync:acme:prj_1:incremental',
  verb: 'start',
  site: 'acme/docs.acme.example/v',
  project: 'acme/prj_1',
  login: 'terminal',
};
const filled = (token: string) => ({ ...fields, token, order: randomUUID() });

/** Everything that takes a form but signing out, which is everybody's. */
const guarded = ({ takesForms }: { takesForms: readonly string[] }): string[] =>
  takesForms.filter((path) => path !== '/sign-out').flatMap(addressesOf);

describe('every address that takes a form', () => {
  it('is known: sites, projects, budgets, schedules, sessions, many at once', async () => {
    const { takesForms } = await runningConsole();
    expect(takesForms).toEqual(
      expect.arrayContaining(['/sites/:org/:domain/:verb', '/bulk/:verb', '/sessions/:verb', '/sign-out']),
    );
  });

  it.each<[string, Partial<ConsoleOptions>]>([
    ['a read-only console', { write: false }],
    ['a viewer', { proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' } }],
  ])('has no effect for %s, with a session and its token', async (_who, options) => {
    const console = await runningConsole(options);
    const headers = { 'x-user': 'vera@acme.example' };
    const first = 'proxy' in options ? await ask(console, '/', { headers }) : null;
    const cookie =
      first === null ? await signIn(console) : (String(first.headers['set-cookie']?.[0]).split(';')[0] ?? '');
    const { text } = await ask(console, '/', { headers: { cookie, ...headers } });
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    expect(token).not.toBe('');
    for (const path of guarded(console)) {
      const answer = await send(console, path, filled(token), { cookie, headers });
      expect([path, answer.status, answer.text.includes('Nothing was done')]).toEqual([path, 403, true]);
    }
    expect([console.effects.calls, console.effects.auditEntries]).toEqual([[], []]);
    expect(await ask(console, '/', { headers: { cookie, ...headers } })).toMatchObject({ status: 200 });
  });

  it('has no effect from another page, without a session, or with a foreign token', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const token = await formToken(console, cookie);
    const own = { origin: `http://127.0.0.1:${console.port}`, 'sec-fetch-site': 'same-origin' };
    const form = 'application/x-www-form-urlencoded';
    const attacks: [string, { cookie: string; headers?: Record<string, string> }, string, number[]][] = [
      ['a cross-site form', { cookie, headers: { 'sec-fetch-site': 'cross-site' } }, token, [403]],
      ['cross-site JSON', { cookie, headers: { 'content-type': 'application/json' } }, token, [415]],
      ['a rebound name', { cookie, headers: { host: `evil.example:${console.port}` } }, token, [421]],
      ['no session', { cookie: 'a=b' }, token, [401]],
      ['a guessed token', { cookie, headers: { ...own, 'content-type': form } }, 'a'.repeat(43), [403]],
    ];
    for (const [what, actor, mine, statuses] of attacks) {
      for (const path of guarded(console)) {
        const { status } = await send(console, path, filled(mine), actor);
        expect([what, path, statuses.includes(status)]).toEqual([what, path, true]);
      }
    }
    expect([console.effects.calls, console.effects.auditEntries]).toEqual([[], []]);
    // The same forms of the operator do act: the attacks were worth refusing.
    for (const verb of ['hold', 'rollback', 'release']) {
      expect(await send(console, `${site}/${verb}`, filled(token), { cookie })).toMatchObject({ status: 303 });
    }
    expect(console.effects.calls).toEqual(['hold', 'start', 'release']);
  });
});

describe('floods', () => {
  it('of slow forms end unanswered or with 408, and nobody else waits', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const head = [
      `POST ${site}/hold HTTP/1.1`,
      `Host: 127.0.0.1:${console.port}`,
      `Cookie: ${cookie}`,
      `Origin: http://127.0.0.1:${console.port}`,
      'Sec-Fetch-Site: same-origin',
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Length: 1000',
    ].join('\r\n');
    const slow = await Promise.all(Array.from({ length: 50 }, () => opened(console.port)));
    const ends = slow.map((socket, nth) => {
      // Half of them do not even finish their headers.
      socket.write(nth % 2 === 0 ? `${head}\r\n\r\n` : head);
      const dripping = setInterval(() => socket.write('a'), 1_000);
      return endOf(socket).finally(() => clearInterval(dripping));
    });
    expect(await ask(console, '/', { headers: { cookie } })).toMatchObject({ status: 200 });
    for (const said of await Promise.all(ends)) expect(said).toMatch(/^$|^HTTP\/1.1 (408|400)/);
    expect(console.effects.calls).toEqual([]);
    expect(await ask(console, '/', { headers: { cookie } })).toMatchObject({ status: 200 });
  });

  it('of connections are bounded, and displace nobody', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    const idle = await Promise.all(
      Array.from({ length: 1_600 }, () =>
        opened(console.port)
          .then((socket) => socket.resume())
          .catch(() => null),
      ),
    );
    // One beyond the limit is closed before it asks anything.
    const open = async () =>
      idle.filter((socket) => socket !== null && !socket.destroyed && !socket.readableEnded).length;
    await expect.poll(open).toBeLessThanOrEqual(1_536);
    const home = () =>
      ask(console, '/', { headers: { cookie } }).then(
        ({ status }) => status,
        () => 0,
      );
    // The others are open still.
    expect([await home(), await home()]).toEqual([200, 200]);
  });

  it('of headers byte by byte end the oldest of their own, and nobody waits', async () => {
    const console = await runningConsole();
    const cookie = await signIn(console);
    // A person's connection, which waits for the next request all the while.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const statuses = new Set<number>();
    const drips: NodeJS.Timeout[] = [];
    onTestFinished(() => drips.forEach(clearInterval));
    for (let nth = 0; nth < 2_000; nth += 1) {
      const socket = await opened(console.port, nth % 2 === 0 ? '127.0.0.2' : '127.0.0.3');
      socket.write('GET / HT');
      drips.push(setInterval(() => socket.writable && socket.write('T'), 500));
      if (nth % 100 === 0) statuses.add((await ask(console, '/', { headers: { cookie }, agent })).status);
    }
    // And who comes anew.
    statuses.add((await ask(console, '/', { headers: { cookie } })).status);
    expect(statuses).toEqual(new Set([200]));
  });

  const proxied = { proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' } };

  it('of event streams by one login leave those of others alone', async () => {
    const console = await runningConsole(proxied);
    const cookies = new Map<string, string>();
    for (const user of ['eve', 'ada']) {
      const { headers } = await ask(console, '/', { headers: { 'x-user': user } });
      cookies.set(user, String(headers['set-cookie']?.[0]).split(';')[0] ?? '');
    }
    const streamOf = async (user: string): Promise<{ socket: Socket; status: string }> => {
      const socket = await opened(console.port);
      const cookie = cookies.get(user) ?? '';
      const lines = ['GET /events?of=overview HTTP/1.1', `Host: 127.0.0.1:${console.port}`];
      lines.push(`x-user: ${user}`, `Cookie: ${cookie}`);
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      const said = await new Promise<string>((resolve) => {
        socket.once('data', (data) => resolve(data.toString()));
        socket.once('close', () => resolve(''));
      });
      return { socket, status: said.slice(9, 12) };
    };
    const streams: Awaited<ReturnType<typeof streamOf>>[] = [];
    for (let nth = 0; nth < 2_000; nth += 50) {
      streams.push(...(await Promise.all(Array.from({ length: 50 }, () => streamOf('eve')))));
    }
    const open = streams.filter(({ status }) => status === '200');
    expect(open.length).toBe(32);
    expect(streams.filter(({ status }) => !['200', '204', '429'].includes(status))).toEqual([]);
    expect((await streamOf('ada')).status).toBe('200');
    expect(await ask(console, '/', { headers: { 'x-user': 'ada' } })).toMatchObject({ status: 200 });
    // The place of one that ends is free.
    open[0]?.socket.destroy();
    await expect.poll(async () => (await streamOf('eve')).status).toBe('200');
  });

  it('of forms that never end keep nobody else from theirs', async () => {
    const console = await runningConsole({ ...proxied, roles: roles({ operators: { logins: ['ada'] } }) });
    const slow = await Promise.all(Array.from({ length: 200 }, () => opened(console.port)));
    let refused = 0;
    for (const socket of slow) {
      const head = [
        `POST ${site}/hold HTTP/1.1`,
        `Host: 127.0.0.1:${console.port}`,
        'x-user: eve',
        `Origin: http://127.0.0.1:${console.port}`,
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: 1000',
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\na`);
      socket.once('data', (said) => {
        if (said.toString().startsWith('HTTP/1.1 429')) refused += 1;
      });
    }
    // All but 64 are refused at once.
    await expect.poll(() => refused).toBe(136);
    const first = await ask(console, '/', { headers: { 'x-user': 'ada' } });
    const cookie = String(first.headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const token = /name="token" value="([^"]+)"/.exec(first.text)?.[1] ?? '';
    const sent = await send(console, `${site}/hold`, filled(token), { cookie, headers: { 'x-user': 'ada' } });
    expect([sent.status, console.effects.calls]).toEqual([303, ['hold']]);
  });
});

function opened(port: number, localAddress?: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ port, host: '127.0.0.1', ...from }, () => resolve(socket));
    socket.on('error', reject);
    onTestFinished(() => {
      socket.destroy();
    });
  });
}

/** What came until the other side has closed. */
function endOf(socket: Socket): Promise<string> {
  let said = '';
  socket.on('data', (data) => {
    said += data.toString();
  });
  return new Promise((resolve) => socket.once('close', () => resolve(said)));
}

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

/** Text that runs as a script somewhere if it is not written as text. */
const corpus = [
  '<img src=x onerror="window.pwned=1">',
  '"><svg onload=window.pwned=1>',
  '\'"--></style></script><script>window.pwned=1</script>',
  '</textarea></title><iframe srcdoc="<script>parent.pwned=1</script>">',
  'javascript:window.pwned=1//',
  '<a href="javascript:window.pwned=1">x</a><base href="//evil.example/">',
  '<meta http-equiv=refresh content="0;url=//evil.example/">',
  '{{constructor.constructor("window.pwned=1")()}}',
  '<form action=//evil.example><input name=token autofocus onfocus=window.pwned=1>',
  '\u202e\u2066\u0000\u001b[31m<b>\uD800',
];

describe.skipIf(!existsSync(executablePath))('attacks in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    // A name of the attacker's that leads to this machine.
    browser = await chromium.launch({ executablePath, args: ['--host-resolver-rules=MAP evil.example 127.0.0.1'] });
  });
  afterAll(() => browser?.close());

  async function newPage(): Promise<Page> {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    return context.newPage();
  }

  /** A page of the attacker's. */
  async function evilSite(html: (path: string) => string): Promise<string> {
    const server = createServer((request, response) => {
      response.setHeader('content-type', 'text/html').end(html(request.url ?? ''));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return `http://evil.example:${(server.address() as AddressInfo).port}`;
  }

  it('by a page of another site, which knows the token: forms, JSON, beacons, images and frames do nothing', async () => {
    const console = await runningConsole();
    const page = await newPage();
    await page.goto(console.signInUrl);
    await page.waitForURL(`${console.url}/`);
    const token = await page.locator('input[name=token]').first().inputValue();
    const target = `${console.url}${site}/release`;
    const body = new URLSearchParams(filled(token)).toString();
    const inputs = Object.entries(filled(token)).map(([name, value]) => `<input name="${name}" value="${value}">`);
    const evil = await evilSite((path) => {
      const type = decodeURIComponent(path.slice(1));
      const form = `<form method="post" enctype="${type}" action="${target}">${inputs.join('')}</form>`;
      const submit = `${form}<script>document.forms[0].submit()</script>`;
      const quiet = `<img src="${target}?${body}"><iframe src="${console.url}/"></iframe><script>
const send = (type, body) => fetch('${target}', { method: 'POST', credentials: 'include', mode: 'no-cors', body: new Blob([body], { type }) });
Promise.allSettled([
  send('application/x-www-form-urlencoded', '${body}'), send('text/plain', '{"sure":"yes"}'), send('application/json', '{}'),
  fetch('${target}', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{}' }),
  fetch('${target}', { method: 'DELETE', credentials: 'include' }),
  fetch('${console.url}/', { credentials: 'include' }).then((answer) => answer.text()),
]).then((all) => {
  navigator.sendBeacon('${target}', new URLSearchParams('${body}'));
  document.title = all.map(({ status }) => status).join();
});</script>`;
      return path === '/quiet' ? quiet : submit;
    });
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
      await page.goto(`${evil}/${encodeURIComponent(type)}`);
      await page.getByText('Not from the console').waitFor();
    }
    await page.goto(`${evil}/quiet`);
    // Neither what asks first nor what would read an answer is let through.
    await expect.poll(() => page.title()).toMatch(/^\w+,\w+,rejected,rejected,rejected,rejected$/);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
    expect(console.effects.calls).toEqual([]);
    await page.goto(`${console.url}${site}`);
    await page.getByRole('button', { name: 'End the hold', exact: true }).click();
    await page.getByText('is no longer held').waitFor();
    expect(console.effects.calls).toEqual(['release']);
  });

  it('are none where another site links here: a person who is signed in comes to the page', async () => {
    const console = await runningConsole();
    const page = await newPage();
    await page.goto(console.signInUrl);
    await page.waitForURL(`${console.url}/`);
    const linked = `${console.url}${site}?a=1`;
    await page.goto(await evilSite(() => `<a href="${linked}">open</a>`));
    await page.getByText('open').click();
    await page.getByRole('heading', { name: 'docs.acme.example' }).waitFor();
    expect(page.url()).toBe(linked);
  });

  it('by a name that leads here finds nothing behind it', async () => {
    const console = await runningConsole();
    const page = await newPage();
    const answer = await page.goto(`http://evil.example:${console.port}/`);
    expect(answer?.status()).toBe(421);
    const { pathname, search } = new URL(console.signInUrl);
    expect((await page.goto(`http://evil.example:${console.port}${pathname}${search}`))?.status()).toBe(421);
    expect(console.links).toEqual([]);
  });

  it("by a name that leads here, or a page of another site, does not reach Temporal's UI", async () => {
    const asked: string[] = [];
    const ui = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.setHeader('content-type', 'text/html').end('<title>Temporal UI</title>');
    });
    await new Promise<void>((resolve) => ui.listen(0, '127.0.0.1', resolve));
    const guard = await guardUi(new URL(`http://127.0.0.1:${(ui.address() as AddressInfo).port}`), 0);
    onTestFinished(async () => {
      await guard.stop();
      ui.close();
      ui.closeAllConnections();
    });
    const page = await newPage();
    expect((await page.goto(`http://evil.example:${guard.port}/`))?.status()).toBe(421);
    const send = (origin: string) => `Promise.allSettled(['POST', 'DELETE'].map((method) =>
  fetch('${origin}/api/v1/terminate', { method, mode: method === 'POST' ? 'no-cors' : 'cors', body: '{}' })))`;
    await page.evaluate(send(`http://evil.example:${guard.port}`));
    await page.goto(await evilSite(() => '<title>evil</title>'));
    await page.evaluate(send(guard.url));
    expect(asked).toEqual([]);
    await page.goto(`${guard.url}/`);
    expect(await page.title()).toBe('Temporal UI');
    await page.evaluate(send(guard.url));
    expect(asked).toEqual(expect.arrayContaining(['GET /', 'POST /api/v1/terminate', 'DELETE /api/v1/terminate']));
  });

  it('by a cookie planted from another port of the machine signs nobody into the session of another', async () => {
    const console = await runningConsole();
    const page = await newPage();
    const name = `docferry_console_${console.port}`;
    const attacker = await signIn(console);
    await page.context().addCookies([
      { name, value: attacker.split('=')[1] ?? '', domain: '127.0.0.1', path: '/' },
      { name, value: 'planted', domain: '127.0.0.1', path: '/sites' },
    ]);
    await page.goto(console.links.at(-1) ?? '');
    await page.waitForURL(`${console.url}/`);
    const [mine] = (await page.context().cookies(console.url)).filter((cookie) => cookie.name === name);
    expect(mine?.value).not.toBe(attacker.split('=')[1]);
    // The session that was planted ended with it: who knows its cookie is signed in no more.
    expect(await ask(console, '/', { headers: { cookie: attacker } })).toMatchObject({ status: 401 });
  });

  it.each(corpus)('by text that would be a script: %j', async (text) => {
    const effects = { calls: [], auditEntries: [] };
    const domain = 'docs.acme.example';
    const console = await runningConsole({ setting: fakeSetting(effects, { reason: text, domains: [domain, text] }) });
    const page = await newPage();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('request', (request) => asked.push(new URL(request.url()).host));
    await page.goto(console.signInUrl);
    await page.waitForURL(`${console.url}/`);
    const query = encodeURIComponent(text.toWellFormed());
    for (const path of [
      '/',
      `/?q=${query}`,
      site,
      `/sites/acme/${query}`,
      `/${query}`,
      '/schedules',
      '/history',
      `/history?q=${query}&since=${query}&org=${query}&kind=${query}&outcome=${query}`,
      '/audit',
      `/audit?who=${query}&name=${query}`,
      `/audit?since=${query}`,
      '/sessions',
    ]) {
      await page.goto(`${console.url}${path}`);
      expect([path, await page.evaluate('window.pwned')]).toEqual([path, undefined]);
    }
    const own = new URL(console.url).host;
    expect(new Set(asked)).toEqual(new Set([own]));
    expect(effects.calls).toEqual([]);
  });
});
