import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startConsole } from '../../../src/console/console.tsx';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { roles } from '../../tools/console/running-console.ts';

const client = { clientId: 'docferry', clientSecret: 'the secret of the console' };

/** Follows a sign-in as a browser does, with its cookies. */
class Traveller {
  readonly #cookies = new Map<string, string>();

  async go(address: string, form?: Record<string, string>): Promise<{ url: string; status: number; text: string }> {
    let [url, body] = [address, form === undefined ? undefined : new URLSearchParams(form)];
    for (let left = 12; left > 0; left -= 1) {
      const { origin } = new URL(url);
      const mine = [...this.#cookies].filter(([key]) => key.startsWith(origin)).map(([, pair]) => pair);
      const answer = await fetch(url, {
        redirect: 'manual',
        headers: { cookie: mine.join('; ') },
        ...(body && { method: 'POST', body }),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [pair = ''] = cookie.split(';');
        this.#cookies.set(`${origin} ${pair.split('=')[0]}`, pair);
      }
      const to = answer.headers.get('location');
      if (to === null) return { url, status: answer.status, text: await answer.text() };
      [url, body] = [new URL(to, url).href, undefined];
    }
    throw new Error('too many redirects');
  }
}

describe('signing in at a real OpenID provider', () => {
  let server: Server;
  let issuer: string;

  beforeAll(async () => {
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  /** A console that knows the provider by this secret, and a browser that has come to the provider's page. */
  async function atTheProvider(secret: string): Promise<{ url: string; browser: Traveller; login: { url: string } }> {
    const { default: Provider } = await import('oidc-provider');
    const console = await startConsole({
      setting: fakeSetting({ calls: [], auditEntries: [] }),
      host: '127.0.0.1',
      port: 0,
      url: null,
      previewUrl: null,
      write: true,
      idleMs: 60_000,
      lifetimeMs: 600_000,
      roles: roles({ operators: { groups: ['docs-leads'] } }),
      proxy: null,
      openId: { issuer, clientId: client.clientId, clientSecret: secret, groups: 'groups' },
      link: true,
      onNewLink: () => {},
    });
    onTestFinished(() => console.stop());
    const redirects = [`${console.url}/oidc/callback`];
    const provider = new Provider(issuer, {
      clients: [{ client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: redirects }],
      claims: { email: ['email', 'email_verified'], profile: ['groups'] },
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: true, groups: ['docs-leads'] }),
      }),
    });
    server.removeAllListeners('request').on('request', provider.callback());
    const browser = new Traveller();
    const login = await browser.go(`${console.url}/oidc/start`);
    expect(login.url).toContain('/interaction/');
    return { url: console.url, browser, login };
  }

  async function consents(browser: Traveller, login: { url: string }) {
    const consent = await browser.go(login.url, { prompt: 'login', login: 'ada', password: 'any' });
    return browser.go(consent.url, { prompt: 'consent' });
  }

  it('goes there and comes back as who signed in there', async () => {
    const { url, browser, login } = await atTheProvider(client.clientSecret);
    const back = await consents(browser, login);
    expect(back).toMatchObject({ status: 200, text: expect.stringContaining('Signed in') });
    const overview = await browser.go(`${url}/`);
    expect(overview.text).toContain('ada@acme.example');
    expect(overview.text).toContain('With selected');

    const replayed = await browser.go(back.url);
    expect(replayed).toMatchObject({ status: 401 });
  });

  it('comes back with a page that says what happened when a person changes their mind', async () => {
    const { url, browser, login } = await atTheProvider(client.clientSecret);
    const back = await browser.go(`${login.url}/abort`);
    expect(back).toMatchObject({ status: 401, text: expect.stringContaining('did not sign you in: access_denied') });
    expect(await browser.go(`${url}/`)).toMatchObject({ status: 401 });
  });

  it('says that the provider does not take the secret of the configuration', async () => {
    const { url, browser, login } = await atTheProvider('another secret');
    const back = await consents(browser, login);
    expect(back).toMatchObject({ status: 401, text: expect.stringContaining('did not sign you in: invalid_client') });
    expect(await browser.go(`${url}/`)).toMatchObject({ status: 401 });
  });
});
