import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningConsole } from '../../../src/console/console.tsx';
import { findFreePort } from '../../../src/local/ports.ts';
import { emptyFolder } from '../../tools/cli/run-docferry.ts';
import type { Effects } from '../../tools/console/fake-setting.ts';
import { roles, runningConsole } from '../../tools/console/running-console.ts';
import { nginxProgram, startNginx } from '../../tools/servers/nginx.ts';

const nginx = nginxProgram();
const page = readFileSync(new URL('../../../docs/console.md', import.meta.url), 'utf8');
const example = /```nginx\n(.*?)```/s.exec(page)?.[1] ?? '';
const proxy = { user: 'x-forwarded-user', groups: 'x-forwarded-groups' };
const ada = `Basic ${Buffer.from('ada:a password').toString('base64')}`;

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

let port: number;
let console: RunningConsole & { effects: Effects };
const browserOrigin = () => `https://localhost:${port}`;

/** As a browser asks nginx. */
function ask(path: string, { method = 'GET', headers = {}, body = '' } = {}): Promise<Answer> {
  return answerOf(https, { port, path, method, headers: { authorization: ada, ...headers }, ca: certificate() }, body);
}

const certificate = () => readFileSync(join(folder, 'docferry.crt'));
let folder: string;

function answerOf(by: typeof http | typeof https, options: https.RequestOptions, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = by.request({ host: 'localhost', agent: false, ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject).end(body);
  });
}

const cookieOf = ({ headers }: Answer): string => (headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';

describe.skipIf(nginx === null)('the console behind the nginx of docs/console.md', () => {
  beforeEach(async () => {
    folder = await emptyFolder();
    port = await findFreePort();
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2', '-nodes'];
    const files = ['-keyout', join(folder, 'docferry.key'), '-out', join(folder, 'docferry.crt')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...files, ...subject], { stdio: 'ignore' });
    writeFileSync(join(folder, 'docferry.users'), 'ada:{PLAIN}a password\neve:{PLAIN}a password\n');
    console = await runningConsole({
      url: browserOrigin(),
      roles: roles({ viewers: { logins: ['ada'] }, operators: { logins: ['ada'] } }),
      proxy: { from: ['127.0.0.1'], ...proxy },
    });
    const served = example
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('docferry.acme.example;', 'localhost;')
      .replaceAll('/etc/nginx/', `${folder}/`)
      .replace('127.0.0.1:8088', `127.0.0.1:${console.port}`);
    expect(served).not.toBe(example);
    const stop = await startNginx(`${nginx}`, { folder, http: served, port });
    onTestFinished(stop);
  });

  it('signs in whom nginx names, with a cookie for TLS alone, and lets them act', async () => {
    const first = await ask('/');
    expect(first).toMatchObject({ status: 200, text: expect.stringContaining('<bdi>ada</bdi>') });
    expect(first.headers['set-cookie']?.[0]).toMatch(
      /^__Host-docferry_console=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const cookie = cookieOf(first);
    const { text } = await ask('/', { headers: { cookie } });
    const fields = {
      token: /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '',
      order: '11111111-1111-4111-8111-111111111111',
    };
    const body = new URLSearchParams(fields).toString();
    const headers = {
      cookie,
      origin: browserOrigin(),
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const path = '/sites/acme/docs.acme.example/hold';
    const foreign = { ...headers, origin: 'https://evil.example' };
    expect(await ask(path, { method: 'POST', headers: foreign, body })).toMatchObject({ status: 403 });
    expect(console.effects.calls).toEqual([]);
    expect(await ask(path, { method: 'POST', headers, body })).toMatchObject({ status: 303 });
    expect(console.effects.calls).toEqual(['hold']);
    expect(console.effects.auditEntries).toMatchObject([{ action: 'hold', who: 'ada' }]);
  });

  it('lets in nobody without a password, and nobody whom no role lets in', async () => {
    expect(await ask('/', { headers: { authorization: '' } })).toMatchObject({ status: 401 });
    const eve = `Basic ${Buffer.from('eve:a password').toString('base64')}`;
    expect(await ask('/', { headers: { authorization: eve } })).toMatchObject({
      status: 403,
      text: expect.stringContaining('no role that lets you look'),
    });
  });

  it('replaces names that a browser sends, and the console ignores them from elsewhere', async () => {
    const eve = `Basic ${Buffer.from('eve:a password').toString('base64')}`;
    for (const name of ['X-Forwarded-User', 'X_Forwarded_User', 'x-forwarded-groups']) {
      const lied = await ask('/', { headers: { authorization: eve, [name]: 'ada' } });
      expect([name, lied.status]).toEqual([name, 403]);
    }
    const direct = { host: '127.0.0.1', port: console.port, path: '/', headers: { 'X-Forwarded-User': 'ada' } };
    expect(await answerOf(http, { ...direct, localAddress: '127.0.0.2' })).toMatchObject({ status: 401 });
    expect(await answerOf(http, { ...direct, localAddress: '127.0.0.1' })).toMatchObject({ status: 200 });
  });

  it('passes the events of more pages on than HTTP/1.1 allows a browser', async () => {
    const session = http2.connect(browserOrigin(), { ca: certificate() });
    onTestFinished(() => session.destroy());
    const headers = { authorization: ada, cookie: cookieOf(await ask('/')), ':path': '/events?of=overview' };
    const streams = Array.from({ length: 7 }, () => session.request(headers).setEncoding('utf8'));
    const first = streams.map((stream) => new Promise((resolve) => stream.once('data', resolve)));
    expect(await Promise.all(first)).toEqual(streams.map(() => 'retry: 5000\n\n'));
  });

  it('passes events on as they come, and ends them with the session', async () => {
    const cookie = cookieOf(await ask('/'));
    const headers = { authorization: ada, cookie };
    const options = { host: 'localhost', port, path: '/events?of=overview', headers, ca: certificate(), agent: false };
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      https.get(options, resolve).on('error', reject);
    });
    response.setEncoding('utf8');
    const first = await new Promise<string>((resolve) => response.once('data', resolve));
    expect(first).toBe('retry: 5000\n\n');
    const ended = new Promise<string>((resolve) => response.once('end', () => resolve('ended')));
    const { text } = await ask('/sessions', { headers: { cookie } });
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    await ask('/sign-out', {
      method: 'POST',
      headers: {
        cookie,
        origin: browserOrigin(),
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ token, everywhere: 'yes' }).toString(),
    });
    expect(await ended).toBe('ended');
    // The proxy still names the person: the revoked cookie is not taken, and they learn of it.
    expect(await ask('/', { headers: { cookie } })).toMatchObject({
      status: 401,
      text: expect.stringContaining('Your session was ended'),
    });
    expect(await ask('/')).toMatchObject({ status: 200 });
  });
});
