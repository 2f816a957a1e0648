import { createHash, createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConsoleOptions } from '../../../src/console/app-context.ts';
import { type Answer, ask, roles, runningConsole, send } from '../../tools/console/running-console.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Lies {
  claims?: Record<string, unknown>;
  header?: { alg: string };
  signature?: string;
  /** Claims put in after signing. */
  changed?: Record<string, unknown>;
  key?: typeof privateKey;
}

/** A provider that answers every code with a token of these claims, which may be lies. */
async function provider(lies: () => Lies): Promise<{ issuer: string; nonce: (nonce: string) => void }> {
  let nonce = '';
  const challenges = new Set<string>();
  const server = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const json = (value: object): void => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    };
    if (request.url === '/.well-known/openid-configuration') {
      return json({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      });
    }
    if (request.url === '/jwks') {
      return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }] });
    }
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      challenges.add(
        createHash('sha256')
          .update(new URLSearchParams(body).get('code_verifier') ?? '')
          .digest('base64url'),
      );
      const now = Math.floor(Date.now() / 1000);
      const { claims = {}, key = privateKey, header = { alg: 'RS256' }, signature, changed } = lies();
      const told = { iss: issuer, sub: 'u1', aud: 'docferry', nonce, iat: now, exp: now + 60, ...claims };
      const head = base64({ ...header, kid: 'k' });
      const signed = `${head}.${base64(told)}`;
      const made =
        header.alg === 'HS256'
          ? createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' }))
              .update(signed)
              .digest('base64url')
          : createSign('sha256').update(signed).sign(key).toString('base64url');
      const token = `${head}.${base64({ ...told, ...changed })}.${signature ?? made}`;
      json({ access_token: 'a', token_type: 'bearer', id_token: token });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    nonce: (asked) => {
      nonce = asked;
    },
  };
}

/** Goes the way of a browser: to the provider, and back with a code; the query may be changed on the way. */
async function signIn(
  lies: () => Lies,
  {
    options = {},
    change = (query) => query,
  }: { options?: Partial<ConsoleOptions>; change?: (query: URLSearchParams) => URLSearchParams } = {},
): Promise<{ answer: Answer; cookie: string; port: number }> {
  const { issuer, nonce } = await provider(lies);
  const openId = { issuer, clientId: 'docferry', clientSecret: 'a secret', groups: 'groups' };
  const console = await runningConsole({ openId, ...options });
  const begun = await ask(console, '/oidc/start');
  expect(begun.status).toBe(302);
  const { searchParams } = new URL(String(begun.headers.location));
  nonce(searchParams.get('nonce') ?? '');
  const flow = String(begun.headers['set-cookie']);
  expect(flow).toMatch(/^docferry_sign_in_\d+=.*; Path=\/; HttpOnly; SameSite=Lax$/);
  const query = change(new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '' }));
  const answer = await ask(console, `/oidc/callback?${query}`, { headers: { cookie: flow.split(';')[0] ?? '' } });
  const cookie = [answer.headers['set-cookie'] ?? []].flat().find((one) => one.startsWith('docferry_console')) ?? '';
  return { answer, cookie: cookie.split(';')[0] ?? '', port: console.port };
}

const now = () => Math.floor(Date.now() / 1000);

describe('signing in at an OpenID provider', () => {
  it('begins a session under the verified address', async () => {
    const claims = { email: 'ada@acme.example', email_verified: true, groups: ['docs-leads'] };
    const options = { roles: roles({ viewers: { groups: ['docs'] }, operators: { groups: ['docs-leads'] } }) };
    const { answer, cookie, port } = await signIn(() => ({ claims }), { options });
    expect(answer.status).toBe(200);
    const { text } = await ask({ port }, '/', { headers: { cookie } });
    expect(text).toContain('ada@acme.example');
    expect(text).toContain('With selected');
  });

  it('takes the id of the provider when it has not verified the address', async () => {
    const claims = { email: 'ada@acme.example' };
    const { cookie, port } = await signIn(() => ({ claims }), {
      options: { roles: roles({ operators: { logins: ['ada@acme.example'] } }) },
    });
    const { text } = await ask({ port }, '/', { headers: { cookie } });
    expect(text).toContain('<bdi>u1</bdi>');
    expect(text).not.toContain('With selected');
  });

  it('begins nothing new for a cookie that was ended everywhere: the provider is asked again', async () => {
    const { cookie, port } = await signIn(() => ({}));
    const { text } = await ask({ port }, '/', { headers: { cookie } });
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    await send({ port }, '/sign-out', { token, everywhere: 'yes' }, { cookie });
    const answer = await ask({ port }, '/', { headers: { cookie } });
    expect(answer).toMatchObject({ status: 401, text: expect.stringContaining('Your session was ended') });
    expect(answer.text).toContain('href="/oidc/start"');
  });

  it.each(['Łukasz 東京', 'ada\ud800', 'terminal'])('takes the id %j if the audit can name it', async (sub) => {
    const { answer, cookie, port } = await signIn(() => ({ claims: { sub } }));
    const isTaken = sub.startsWith('Ł');
    expect([answer.status, cookie !== '']).toEqual([isTaken ? 200 : 403, isTaken]);
    const { text } = await ask({ port }, '/', { headers: { cookie } });
    expect(text.includes(`<bdi>${sub}</bdi>`)).toBe(isTaken);
  });

  it('lets nobody in whom no role lets in', async () => {
    const { answer, cookie } = await signIn(() => ({}), {
      options: { roles: roles({ viewers: { groups: ['docs'] } }) },
    });
    expect([answer.status, cookie]).toEqual([403, '']);
  });

  it.each<[string, () => Lies, string]>([
    ['another audience', () => ({ claims: { aud: 'another-client' } }), 'another program'],
    ['one audience too many', () => ({ claims: { aud: ['docferry', 'another-client'] } }), 'another program'],
    ['another authorized party', () => ({ claims: { azp: 'another-client' } }), 'another program'],
    ['another nonce', () => ({ claims: { nonce: 'of another sign-in' } }), 'another sign-in'],
    ['no nonce', () => ({ claims: { nonce: undefined } }), '(nonce)'],
    ['another issuer', () => ({ claims: { iss: 'https://evil.example' } }), 'another issuer'],
    ['an expired token', () => ({ claims: { iat: now() - 7_200, exp: now() - 3_600 } }), 'clocks'],
    ['a token without an end', () => ({ claims: { exp: undefined } }), '(exp)'],
    ['a token not yet valid', () => ({ claims: { nbf: now() + 86_400 } }), 'clocks'],
    ['a token issued tomorrow', () => ({ claims: { iat: now() + 86_400, exp: now() + 90_000 } }), 'clocks'],
    ['a token issued yesterday', () => ({ claims: { iat: now() - 86_400, exp: now() + 90_000 } }), 'clocks'],
    ['a token that says not when', () => ({ claims: { iat: undefined } }), '(iat)'],
    ['nobody', () => ({ claims: { sub: undefined } }), '(sub)'],
    ['a key that it does not publish', () => ({ key: other.privateKey }), 'signature'],
    ['a token without a signature', () => ({ header: { alg: 'none' }, signature: '' }), 'signature'],
    ['a token signed with what everybody knows', () => ({ header: { alg: 'HS256' } }), 'signature'],
    ['a token changed after it was signed', () => ({ changed: { sub: 'admin' } }), 'signature'],
  ])('does not believe %s, and says why', async (_what, lies, why) => {
    const { answer, cookie, port } = await signIn(lies);
    expect([answer.status, cookie]).toEqual([401, '']);
    expect(answer.text).toContain('could not be trusted, so nobody was signed in');
    expect(answer.text).toContain(why);
    expect(answer.text).toContain('href="/oidc/start"');
    expect(await ask({ port }, '/')).toMatchObject({ status: 401 });
  });

  it.each([
    ['refuses', new URLSearchParams({ error: 'access_denied', error_description: '<b>no</b>' }), 'access_denied'],
    ['says something odd', new URLSearchParams({ error: '<script>alert(1)</script>' }), 'an error'],
  ])('signs nobody in when the provider %s', async (_what, told, shown) => {
    const { answer, cookie } = await signIn(() => ({}), {
      change: (query) => new URLSearchParams({ ...Object.fromEntries(told), state: query.get('state') ?? '' }),
    });
    expect([answer.status, cookie]).toEqual([401, '']);
    expect(answer.text).toContain(`did not sign you in: ${shown}`);
    expect(answer.text).not.toContain('<b>no');
    expect(answer.text).not.toContain('<script>alert');
  });

  it('keeps what belongs to a sign-in where no sister site can put it, and takes it back', async () => {
    const { issuer } = await provider(() => ({}));
    const openId = { issuer, clientId: 'docferry', clientSecret: 's', groups: 'groups' };
    const console = await runningConsole({ url: 'https://docferry.acme.example', openId });
    const headers = { host: 'docferry.acme.example' };
    const begun = await ask(console, '/oidc/start', { headers });
    expect(begun.headers['set-cookie']?.[0]).toMatch(
      /^__Host-docferry_sign_in=.*; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const ended = await ask(console, '/oidc/callback?code=c&state=s', { headers });
    expect(ended.headers['set-cookie']?.[0]).toMatch(/^__Host-docferry_sign_in=; Max-Age=0; Path=\/; Secure/);
  });

  it('takes no answer to a question that was not asked, nor one twice', async () => {
    const stranger = await signIn(() => ({}), {
      change: (query) => new URLSearchParams({ ...Object.fromEntries(query), state: 'x' }),
    });
    expect([stranger.answer.status, stranger.cookie]).toEqual([401, '']);
    const console = await runningConsole({
      openId: { issuer: 'http://127.0.0.1:9', clientId: 'docferry', clientSecret: 's', groups: 'groups' },
    });
    expect(await ask(console, '/oidc/callback?code=c&state=s')).toMatchObject({ status: 401 });
    expect(await ask(console, '/oidc/start')).toMatchObject({ status: 503 });
  });
});
