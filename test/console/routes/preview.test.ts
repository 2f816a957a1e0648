import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ConsoleOptions } from '../../../src/console/app-context.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { tar } from '../../tools/bundle/build-archive.ts';
import { publishSite } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const domain = 'docs.acme.example';
const site = (title: string) => [
  { name: 'index.html', content: `<h1>${title}</h1>` },
  { name: 'guide/index.html', content: '<h1>Guide</h1>' },
  { name: 'guide/start.html', content: '<h1>Start</h1>' },
  { name: 'assets/site.css', content: 'h1{}' },
  { name: '404.html', content: '<h1>Nowhere</h1>' },
];

/** A console over a store where `v1` is in service and `v2` is kept. */
async function previewing(options: Partial<ConsoleOptions> = {}, more = 0) {
  const root = await tempFolder();
  const { store } = await publishSite({ root, domain, version: 'v1', bundle: tar(site('Old')) });
  await store.moveCurrent(domain, 'v1', 0, new Date());
  await publishSite({ root, domain, version: 'v2', bundle: tar(site('New')) });
  const versions = Array.from({ length: more }, (_, nth) => `v${nth + 3}`);
  for (const version of versions) await publishSite({ root, domain, version, bundle: tar(site(version)) });
  const setting = { ...fakeSetting({ calls: [], auditEntries: [] }), openBundles: async () => store };
  /** Has archives wait until they are released. */
  const holding = () => {
    let [asked, release] = [0, () => {}];
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { withArchive } = store;
    store.withArchive = async (...given) => {
      asked += 1;
      await released;
      return withArchive.apply(store, given) as never;
    };
    return { asked: () => asked, release };
  };
  const console = await runningConsole({ setting, ...options });
  const cookie = await signIn(console);
  const open = (version: string, query = '') =>
    ask(console, `/sites/acme/${domain}/preview/${version}${query}`, { headers: { cookie } });
  const hostsIn = (text: string) => [...text.matchAll(/src="https?:\/\/([^"/]+)\//g)].map(([, host = '']) => host);
  const [inService = '', shown = ''] = hostsIn((await open('v2')).text);
  return {
    console,
    cookie,
    open,
    hostsIn,
    inService,
    shown,
    versions,
    holding,
    folder: join(root, domain, 'versions'),
  };
}

const at = (console: { port: number }, host: string, path: string, more: Record<string, string> = {}, method = 'GET') =>
  ask(console, path, { method, headers: { host, ...more } });

describe('a preview', () => {
  it('shows the files of a version on an origin of its own, and what is in service beside it', async () => {
    const { console, inService, shown } = await previewing();
    expect(shown).toMatch(new RegExp(`^[0-9a-f]{32}\\.localhost:${console.port}$`));
    expect(shown).not.toBe(inService);
    expect(await at(console, shown, '/')).toMatchObject({ status: 200, text: '<h1>New</h1>' });
    expect(await at(console, inService, '/')).toMatchObject({ status: 200, text: '<h1>Old</h1>' });
    const style = await at(console, shown, '/assets/site.css');
    expect(style).toMatchObject({ status: 200, headers: { 'content-type': 'text/css; charset=utf-8' } });
    expect(await at(console, shown, '/guide?q=1')).toMatchObject({ status: 302, headers: { location: '/guide/?q=1' } });
    expect(await at(console, shown, '/guide/start')).toMatchObject({ status: 200, text: '<h1>Start</h1>' });
    expect(await at(console, shown, '/nothing')).toMatchObject({ status: 404, text: '<h1>Nowhere</h1>' });
  });

  it('opens at the page that was asked for, of names from the configuration too', async () => {
    const { console, open, hostsIn } = await previewing({ previewUrl: 'https://*.preview.example' });
    const { text, headers } = await open('v2', '?page=guide/start.html');
    const [, shown = ''] = hostsIn(text);
    expect(text).toContain(`src="https://${shown}/guide/start.html"`);
    expect(shown).toMatch(/^[0-9a-f]{32}\.preview\.example$/);
    expect(headers['content-security-policy']).toContain(`https://${shown}`);
    const page = await at(console, shown, '/guide/start.html');
    expect(page.headers['content-security-policy']).toContain(`default-src https://${shown} `);
    expect((await open('v2', '?page=..%2f..%2f%2fevil.example%2f')).text).toContain(`https://${shown}/../..//evil`);
  });

  it('has no cookies, no service workers, and nothing but reading', async () => {
    const { console, cookie, shown } = await previewing();
    const page = await at(console, shown, '/', { cookie });
    expect(page.headers['set-cookie']).toBeUndefined();
    expect(page.headers['content-security-policy']).toMatch(/^sandbox allow-scripts; /);
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    expect(await at(console, shown, '/sw.js', { 'service-worker': 'script' })).toMatchObject({ status: 403 });
    expect(await at(console, shown, '/', {}, 'POST')).toMatchObject({ status: 405 });
    for (const path of ['/budget', `/sites/acme/${domain}`, '/sign-in?token=x', '/icon.svg']) {
      expect(await at(console, shown, path, { cookie })).toMatchObject({ status: 404, text: '<h1>Nowhere</h1>' });
    }
  });

  it('names only files of the version', async () => {
    const { console, shown } = await previewing();
    for (const path of ['/..%2f..%2fetc%2fpasswd', '/%2e%2e/%2e%2e/etc/passwd', '/%00', '/%ff', '//evil.example/']) {
      expect(await at(console, shown, path)).toMatchObject({ status: 404, text: '<h1>Nowhere</h1>' });
    }
    expect(await at(console, shown, '/..\\manifest.json')).toMatchObject({ status: 400 });
  });

  it('ends with the session, and knows no other names', async () => {
    const { console, cookie, shown } = await previewing();
    const other = `${'0'.repeat(32)}.localhost:${console.port}`;
    for (const host of [other, `.localhost:${console.port}`, `x.${shown}`]) {
      expect(await at(console, host, '/')).toMatchObject({ status: 410 });
    }
    expect(await at(console, shown.toUpperCase(), '/')).toMatchObject({ status: 200 });
    await send(console, '/sign-out', { token: await formToken(console, cookie) }, { cookie });
    expect(await at(console, shown, '/')).toMatchObject({ status: 410 });
  });

  it('says that retention has removed the version, open or not', async () => {
    const { console, open, shown, folder } = await previewing();
    expect(await at(console, shown, '/')).toMatchObject({ status: 200 });
    await rm(join(folder, 'v2'), { recursive: true });
    const gone = await at(console, shown, '/');
    expect(gone).toMatchObject({ status: 410, text: expect.stringContaining('retention has removed it') });
    expect(await open('v2')).toMatchObject({ status: 410, text: expect.stringContaining('That version is gone') });
  });

  it('shows nothing of an archive that is not what was verified', async () => {
    const { console, shown, folder } = await previewing();
    await writeFile(join(folder, 'v2', 'bundle.tar'), tar(site('Bad')));
    const damaged = await at(console, shown, '/');
    expect(damaged).toMatchObject({ status: 500, text: expect.stringContaining('damaged') });
  });

  it('has one address for one version at a time where there are no names', async () => {
    const port = await findFreePort();
    const { open, hostsIn } = await previewing({ previewUrl: `http://127.0.0.1:${port}` });
    const { text } = await open('v2');
    expect(hostsIn(text)).toEqual([`127.0.0.1:${port}`]);
    const shown = { port };
    expect(await ask(shown, '/')).toMatchObject({ status: 200, text: '<h1>New</h1>' });
    await open('v1');
    expect(await ask(shown, '/')).toMatchObject({ status: 200, text: '<h1>Old</h1>' });
    expect(await at(shown, 'evil.example', '/')).toMatchObject({ status: 421 });
  });

  it('leaves the console its own names', async () => {
    const { console, shown } = await previewing({ url: 'https://a.example', previewUrl: 'https://*.example' });
    expect(shown).toMatch(/^[0-9a-f]{32}\.example$/);
    expect(await at(console, 'a.example', '/icon.svg')).toMatchObject({ status: 200 });
    expect(await at(console, 'b.example', '/icon.svg')).toMatchObject({ status: 410 });
  });

  it('shows many versions at once, and keeps what is open', async () => {
    const root = await tempFolder();
    vi.stubEnv('TMPDIR', root);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { console, open, hostsIn, versions } = await previewing({}, 14);
    const hosts: string[] = [];
    for (const version of versions) hosts.push(hostsIn((await open(version)).text).at(-1) ?? '');
    const statuses = async (asked: string[]) =>
      (await Promise.all(asked.map((host) => at(console, host, '/')))).map(({ status }) => status);
    const twelve = hosts.slice(0, 12);
    expect(await statuses(twelve)).toEqual(twelve.map(() => 200));
    const folders = async () =>
      (await readdir(root, { recursive: true })).filter((name) => /version-\w+$/.test(name)).length;
    expect(await folders()).toBe(12);
    expect(await statuses(hosts.slice(12))).toEqual([200, 200]);
    await expect.poll(folders).toBe(12);
  });

  it('counts requests by preview, because all of them come from one proxy', async () => {
    const { console, cookie, inService, shown, holding } = await previewing();
    const waiting = holding();
    const page = Array.from({ length: 130 }, () => at(console, shown, '/'));
    await expect.poll(() => waiting.asked()).toBeGreaterThan(0);
    expect(await at(console, shown, '/')).toMatchObject({ status: 429 });
    const others = at(console, inService, '/assets/site.css');
    expect(await ask(console, '/icon.svg', { headers: { cookie } })).toMatchObject({ status: 200 });
    waiting.release();
    const statuses = (await Promise.all(page)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(128);
    expect(await others).toMatchObject({ status: 200 });
  });

  it('needs an address where the console has another than this machine', async () => {
    const console = await runningConsole({ url: 'https://console.example' });
    const host = 'console.example';
    const { pathname, search } = new URL(console.signInUrl);
    const { headers } = await ask(console, pathname + search, { headers: { host } });
    const cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const answer = await ask(console, `/sites/acme/${domain}/preview/v2`, { headers: { host, cookie } });
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('console.previewUrl') });
  });
});
