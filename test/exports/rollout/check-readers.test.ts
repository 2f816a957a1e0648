import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { TextSecret } from '../../../src/config/secrets.ts';
import { ReadersCheck } from '../../../src/exports/rollout/check-readers.ts';
import type { RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import type { Manifest } from '../../../src/exports/store/bundle-store.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { tarGz } from '../../tools/bundle/build-archive.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { publishSite } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { nginxProgram, startNginx } from '../../tools/servers/nginx.ts';

const domain = 'docs.acme.example';
const versionAt = (n: number) => `20261121T00000${n}Z-3f9a2c1b8e7d`;

/** Files of a site, of which eight pages change from version to version. */
const siteAt = (n: number): Record<string, string> => ({
  'index.html': `<html><body><h1>Version ${n}</h1><a href="guide/p1.html">x</a></body></html>`,
  ...Object.fromEntries(
    Array.from({ length: 8 }, (_, page) => [
      `guide/p${page}.html`,
      `<html><body><p>Page ${page} of ${n}</p></body></html>`,
    ]),
  ),
  'guide/index.html': '<html><body><p>The guide</p></body></html>',
});

async function write(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** Version 2 after version 1, and a folder that a server serves. */
async function scene(filesOf = siteAt) {
  const folder = await tempFolder();
  const root = join(folder, 'root');
  await write(root, filesOf(2));
  const publish = async (n: number) => {
    const bundle = tarGz(Object.entries(filesOf(n)).map(([name, content]) => ({ name, content })));
    return publishSite({ root: join(folder, `b${n}`), domain, version: versionAt(n), bundle });
  };
  const [{ manifest: previous }, { store, manifest }] = [await publish(1), await publish(2)];
  const request: RolloutRequest = {
    domain,
    manifest,
    withArchive: (use) => store.withArchive(domain, manifest.version, use),
    url: 'http://bundles.example/x',
    ...unguarded,
    previous,
  };
  return { folder, root, request, previous: previous as Manifest };
}

const program = nginxProgram();

async function nginx(folder: string, http: (port: number) => string): Promise<string> {
  const port = await findFreePort();
  const home = join(folder, `nginx-${port}`);
  onTestFinished(await startNginx(program ?? '', { folder: home, http: http(port), port }));
  return `http://127.0.0.1:${port}`;
}

const serving =
  (root: string, more = '') =>
  (port: number) =>
    `types { text/html html; }
server { listen 127.0.0.1:${port}; root ${root}; ${more} }`;

/** A server for answers that no web server should give. */
async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** With a certificate of another host, by nobody. */
async function listeningTls(answer: RequestListener): Promise<string> {
  const folder = await tempFolder();
  const of = '-x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=other.example -keyout key.pem -out cert.pem';
  execFileSync('openssl', ['req', ...of.split(' ')], { cwd: folder, stdio: 'ignore' });
  const [key, cert] = [await readFile(join(folder, 'key.pem')), await readFile(join(folder, 'cert.pem'))];
  const server = createTlsServer({ key, cert }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const check = (url: string, more: Partial<ConstructorParameters<typeof ReadersCheck>[0]> = {}) =>
  new ReadersCheck({ url, withinMs: 2_000, headers: {}, expect: 'content', ...more });

const refused = (message: RegExp) => ({ name: 'VersionRefused', message: expect.stringMatching(message) });

describe.skipIf(program === null)('readers behind nginx', () => {
  it('get the version: the index page and four that differ', async () => {
    const { folder, root, request } = await scene();
    const url = await nginx(folder, serving(root));
    expect(await check(url).take(request)).toBe(`5 pages at ${url}`);
    expect(await check(`${url}/`).take({ ...request, previous: null })).toBe(`5 pages at ${url}/`);
  });

  it('get it by addresses without .html, as the rules in the docs have them, and below a folder', async () => {
    const { folder, root, request } = await scene();
    const page = await readFile(new URL('../../../docs/deployments.md', import.meta.url), 'utf8');
    const [, rules = ''] = /```nginx\n([\s\S]*?)```/.exec(page) ?? [];
    expect(rules).toContain('.html');
    const own = rules.replace(/root [^;]*;/, `root ${root};`);
    const url = await nginx(
      folder,
      (port) => `types { text/html html; }\nserver { listen 127.0.0.1:${port};\n${own}\n}`,
    );
    expect(await check(url).take(request)).toContain('5 pages');
    // What readers type, and old addresses with .html.
    for (const [path, status] of [
      ['/guide/p1', 200],
      ['/guide/', 200],
      ['/guide/p1.html', 301],
      ['/nowhere', 404],
    ] as const) {
      expect((await fetch(`${url}${path}`, { redirect: 'manual' })).status, path).toBe(status);
    }
    await cp(root, join(folder, 'below/docs'), { recursive: true });
    expect(await check(`${await nginx(folder, serving(join(folder, 'below')))}/docs`).take(request)).toContain(
      '5 pages',
    );
  });

  it('get it through a proxy that rewrites markup but not the text', async () => {
    const { root, request } = await scene();
    const behind = await listening(async (incoming, answer) => {
      const path = incoming.url?.endsWith('/') ? `${incoming.url}index.html` : incoming.url;
      const html = await readFile(join(root, path ?? ''), 'utf8').catch(() => null);
      if (html === null) return void answer.writeHead(404).end();
      answer.end(html.replace('<body>', '<body class="x"><script>track()</script>').replaceAll('><', '>\n<'));
    });
    expect(await check(behind).take(request)).toContain('5 pages');
  });

  it('get the old version from a cache', async () => {
    const { folder, root, request } = await scene();
    await write(root, siteAt(1));
    const origin = await nginx(folder, serving(root));
    const cached = await nginx(
      folder,
      (port) => `proxy_cache_path ${folder}/cache keys_zone=c:1m;
server { listen 127.0.0.1:${port}; location / { proxy_pass ${origin}; proxy_cache c; proxy_cache_valid 200 1d; } }`,
    );
    for (const path of ['/', '/index.html']) expect((await fetch(`${cached}${path}`)).status).toBe(200);
    await write(root, siteAt(2));
    expect(await check(origin).take(request)).toContain('5 pages');
    await expect(check(cached).take(request)).rejects.toMatchObject(
      refused(new RegExp(`index.html: the old version ${versionAt(1)}$`)),
    );
  });

  it('get a folder that was copied half-way', async () => {
    const { folder, root, request } = await scene();
    for (const page of [4, 5, 6, 7]) await rm(join(root, `guide/p${page}.html`));
    const url = await nginx(folder, serving(root));
    await expect(check(url).take(request)).rejects.toMatchObject(refused(/guide\/p\d.html: a missing file \(404\)$/));
  });

  it('get a sign-in page, unless the check has the header for it', async () => {
    const { folder, root, request } = await scene();
    await write(root, { 'login.html': '<form><input name=u><input type="password"></form>' });
    const guard = `if ($http_authorization != "Bearer planted-token") { rewrite ^ /login.html break; }`;
    const url = await nginx(folder, serving(root, guard));
    await expect(check(url).take(request)).rejects.toMatchObject(refused(/index.html: a sign-in page$/));
    const headers = {
      authorization: new TextSecret('header', 'Bearer planted-token', {}),
    };
    expect(await check(url, { headers }).take(request)).toContain('5 pages');
    expect(await check(url, { expect: 'status' }).take(request)).toContain('5 pages');
  });

  it('get pages of several megabytes, compared or not', async () => {
    const words = Array.from({ length: 1_000 }, () => `<p>${randomBytes(1024).toString('hex')}</p>`).join('');
    const page = (n: number) => `<p>Version ${n}</p>${words}`;
    const { folder, root, request } = await scene((n) => ({ 'index.html': page(n) }));
    const url = await nginx(folder, serving(root));
    expect(await check(url).take(request)).toContain('the index page');
    expect(await check(url, { expect: 'status' }).take(request)).toContain('the index page');
  });

  it('get a page that is too long to be compared', async () => {
    const { folder, root, request } = await scene();
    const url = await nginx(folder, serving(root));
    const withArchive = () => Promise.reject(new Error('read'));
    const files = [{ path: 'index.html', bytes: 33 * 1024 ** 2, sha256: '0'.repeat(64) }];
    const manifest = { ...request.manifest, files };
    expect(await check(url).take({ ...request, manifest, previous: null, withArchive })).toContain('the index page');
  });

  it('get a site without an index page, where the rules let it pass', async () => {
    const { folder, root, request } = await scene((n) => ({ 'guide/start.html': `<p>Version ${n}</p>` }));
    const url = await nginx(folder, serving(root));
    expect(await check(url).take(request)).toContain('guide/start.html');
    await write(root, { 'guide/start.html': '<p>Version 1</p>' });
    await expect(check(url).take(request)).rejects.toMatchObject(refused(/guide\/start.html: the old version/));
  });

  it('get it late, but within the time', async () => {
    const { folder, root, request } = await scene();
    await write(root, siteAt(1));
    const url = await nginx(folder, serving(root));
    let rounds = 0;
    const guard = async () => {
      rounds += 1;
      if (rounds === 2) await write(root, siteAt(2));
    };
    expect(await check(url, { withinMs: 600_000 }).take({ ...request, guard })).toContain('5 pages');
    expect(rounds).toBeGreaterThanOrEqual(4);
  });
});

describe('readers who are led to https', () => {
  const headers = { authorization: new TextSecret('header', 'planted', {}) };
  /** What a program that trusts every certificate sees. */
  const trusting = () => vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  afterEach(() => void vi.unstubAllEnvs());

  it('get the version there, with the headers of the check', async () => {
    trusting();
    const { root, request } = await scene();
    const seen = new Set<string | undefined>();
    const secure = await listeningTls(async (incoming, answer) => {
      seen.add(incoming.headers.authorization);
      const path = incoming.url?.endsWith('/') ? `${incoming.url}index.html` : (incoming.url ?? '');
      answer.end(await readFile(join(root, path)));
    });
    const url = await listening((incoming, answer) =>
      answer.writeHead(301, { location: `${secure}${incoming.url}` }).end(),
    );
    expect(await check(url, { headers }).take(request)).toBe(`5 pages at ${url}`);
    expect([...seen]).toEqual(['planted']);
  });

  it.each<[what: string, elsewhere: (answer: RequestListener) => Promise<string>]>([
    ['and back', listening],
    ['and to another port', listeningTls],
    ['of another host', async (answer) => (await listeningTls(answer)).replace('127.0.0.1', 'localhost')],
  ])('%s do not take the headers along', async (what, elsewhere) => {
    trusting();
    const { request } = await scene();
    const seen: (string | undefined)[] = [];
    const last = await elsewhere((incoming, answer) => {
      seen.push(incoming.headers.authorization);
      answer.end();
    });
    const leading: RequestListener = (_, answer) => answer.writeHead(302, { location: `${last}/x` }).end();
    const secure = await listeningTls(leading);
    const first = what === 'of another host' ? last : secure;
    const url = await listening((_, answer) => answer.writeHead(302, { location: first }).end());
    const taken = check(url, { withinMs: 200, headers }).take(request);
    await expect(taken).rejects.toMatchObject(refused(new RegExp(`a redirect to ${last}, as to a sign-in page$`)));
    expect(seen).toEqual([]);
  });
});

describe('readers who get no page', () => {
  it.each<[what: string, message: RegExp, answer: RequestListener]>([
    [
      'another host',
      /a redirect to https:\/\/login\.example, as to a sign-in page$/,
      (_, answer) => answer.writeHead(302, { location: 'https://login.example/' }).end(),
    ],
    [
      'redirects without end',
      /more than 5 redirects$/,
      ({ url }, answer) => answer.writeHead(302, { location: `${url}x` }).end(),
    ],
    ['an error', /no page, but status 502$/, (_, answer) => answer.writeHead(502).end()],
    ['another site', /another content$/, (_, answer) => answer.end('<p>Welcome to nginx!</p>')],
    ['a page without text', /another content$/, (_, answer) => answer.end('<html></html>')],
    ['401', /a sign-in page \(401\)$/, (_, answer) => answer.writeHead(401).end()],
    [
      'an endless answer',
      /an answer that does not end$/,
      (_, answer) => {
        const more = () => {
          while (!answer.destroyed && answer.write(Buffer.alloc(64 * 1024)));
        };
        answer.on('drain', more);
        more();
      },
    ],
    ['a cut connection', /no answer \(the connection was cut\)$/, (_, answer) => answer.destroy()],
  ])('%s', async (_what, message, answer) => {
    const { request } = await scene();
    const url = await listening(answer);
    await expect(check(url, { withinMs: 200 }).take(request)).rejects.toMatchObject(refused(message));
  });

  it('nobody listens', async () => {
    const { request } = await scene();
    const url = `http://127.0.0.1:${await findFreePort()}`;
    await expect(check(url, { withinMs: 200 }).take(request)).rejects.toMatchObject(
      refused(/no answer \(ECONNREFUSED\)$/),
    );
  });

  it('a certificate of another host', async () => {
    const { request } = await scene();
    const url = await listeningTls((_, answer) => answer.end('x'));
    await expect(check(url, { withinMs: 200 }).take(request)).rejects.toMatchObject(
      refused(/no answer \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/),
    );
  });

  it('a token does not follow a redirect to another host', async () => {
    const { request } = await scene();
    const seen: (string | undefined)[] = [];
    const elsewhere = await listening(({ headers }, answer) => {
      seen.push(headers.authorization);
      answer.end();
    });
    const url = await listening((_, answer) => answer.writeHead(302, { location: elsewhere }).end());
    const headers = { authorization: new TextSecret('header', 'planted', {}) };
    await expect(check(url, { withinMs: 200, headers }).take(request)).rejects.toMatchObject(refused(/a redirect to/));
    expect(seen).toEqual([]);
  });

  it('a later attempt has the time that is left', async () => {
    const { request } = await scene();
    const url = `http://127.0.0.1:${await findFreePort()}`;
    const late = check(url, { withinMs: 3_600_000 }).take({ ...request, elapsedMs: 3_600_000 });
    await expect(late).rejects.toMatchObject(refused(/within 1 h/));
  });
});
