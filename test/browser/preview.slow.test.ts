import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../src/local/ports.ts';
import { tarGz } from '../tools/bundle/build-archive.ts';
import { publishSite } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { fakeSetting } from '../tools/console/fake-setting.ts';
import { runningConsole } from '../tools/console/running-console.ts';
import { executablePath, hasBrowser } from './console-stage.ts';

const domain = 'docs.acme.example';
const hold = `/sites/acme/${domain}/hold`;

/** A page that tries everything, and writes what came of it into `#said` as JSON. */
const attack = (console: string, elsewhere: string) => `<!doctype html><title>attack</title>
<link rel="stylesheet" href="/site.css"><img id="own" src="/own.svg"><p id="said"></p>
<script type="module" src="/module.js"></script>
<script>
const tried = {};
const attempt = async (name, what) => { try { tried[name] = String(await what()); } catch (error) { tried[name] = 'refused'; } };
const loads = (tag, src) => new Promise((resolve, reject) => {
  const element = document.createElement(tag);
  element.onload = () => resolve('loaded'); element.onerror = reject; element.src = src; document.body.append(element);
});
(async () => {
  await attempt('readsItsCookies', () => document.cookie);
  for (const name of ['docferry_console_' + new URL('${console}').port, 'other'])
    for (const of of ['', '; domain=localhost', '; domain=127.0.0.1'])
      await attempt('sets ' + name + of, () => { document.cookie = name + '=planted; path=/' + of; return document.cookie; });
  await attempt('storage', () => localStorage.setItem('a', 'b'));
  await attempt('serviceWorker', () => navigator.serviceWorker.register('/sw.js'));
  await attempt('reads', () => fetch('${console}/', { credentials: 'include' }).then((answer) => answer.text()));
  await attempt('readsBlindly', () => fetch('${console}/', { mode: 'no-cors', credentials: 'include' }));
  await attempt('posts', () => fetch('${console}${hold}', { method: 'POST', mode: 'no-cors', credentials: 'include',
    body: new URLSearchParams({ order: 'x' }) }));
  await attempt('image', () => loads('img', '${console}/icon.svg'));
  await attempt('script', () => loads('script', '${console}/'));
  await attempt('elsewhere', () => loads('img', '${elsewhere}/pixel'));
  await attempt('opens', () => { if (window.open('${console}/') === null) throw new Error(); return 'opened'; });
  await attempt('opener', () => { if (window.opener === null) throw new Error(); return window.opener.document.title; });
  await attempt('parent', () => parent.document.title);
  await attempt('form', () => { const form = document.createElement('form'); form.method = 'post';
    form.action = '${console}${hold}'; document.body.append(form); form.submit(); throw new Error(); });
  const frame = document.createElement('iframe');
  frame.src = '${console}/'; document.body.append(frame);
  await new Promise((resolve) => { frame.onload = resolve; setTimeout(resolve, 2000); });
  await attempt('frame', () => frame.contentDocument.title);
  await attempt('leaves', () => { if (parent === window) throw new Error(); top.location = '${elsewhere}/'; return 'asked'; });
  if (document.readyState !== 'complete') await new Promise((resolve) => addEventListener('load', resolve));
  tried.own = document.querySelector('#own').naturalWidth > 0 && getComputedStyle(document.body).color;
  tried.module = String(window.moduleRan);
  document.querySelector('#said').textContent = JSON.stringify(tried);
})();
</script><a href="/guide/">from the root</a>`;

const refusals = [
  'readsItsCookies',
  'storage',
  'serviceWorker',
  'reads',
  'readsBlindly',
  'posts',
  'image',
  'script',
  'elsewhere',
  'opens',
  'opener',
  'form',
  'frame',
];

describe.skipIf(!hasBrowser)('a preview in Chromium', () => {
  /** A person who is signed in to a console where a hostile version is kept. */
  async function stage(previewUrl: string | null) {
    const asked: string[] = [];
    const other = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('x');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const port = await findFreePort();
    const root = await tempFolder();
    const items = [
      { name: 'index.html', content: attack(`http://127.0.0.1:${port}`, elsewhere) },
      { name: 'guide/index.html', content: '<h1>Guide</h1>' },
      { name: 'site.css', content: 'body{color:rgb(1, 2, 3)}' },
      { name: 'module.js', content: 'window.moduleRan = true' },
      { name: 'sw.js', content: 'self.addEventListener("fetch", () => {})' },
      {
        name: 'own.svg',
        content: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
      },
    ];
    const { store } = await publishSite({ root, domain, version: 'v1', bundle: tarGz(items) });
    await store.moveCurrent(domain, 'v1', 0, new Date());
    await publishSite({ root, domain, version: 'v2', bundle: tarGz(items) });
    const effects = { calls: [], auditEntries: [] };
    const setting = { ...fakeSetting(effects), openBundles: async () => store };
    const console = await runningConsole({ setting, port, previewUrl });
    const browser = await chromium.launch({ executablePath });
    onTestFinished(() => browser.close());
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(console.signInUrl);
    await page.waitForURL(`${console.url}/`);
    const cookies = await context.cookies();
    await page.goto(`${console.url}/sites/acme/${domain}/preview/v2`);
    return { console, page, context, effects, asked, cookies };
  }

  type Stage = Awaited<ReturnType<typeof stage>>;

  async function refused({ console, page, context, effects, asked, cookies }: Stage, tab: Page): Promise<void> {
    const said = tab.locator('#said');
    await expect.poll(() => said.textContent()).not.toBe('');
    const tried = JSON.parse((await said.textContent()) ?? '{}') as Record<string, string>;
    const done = Object.entries(tried).filter(([, result]) => result !== 'refused');
    expect(done).toEqual([
      ...(tab === page ? [] : [['parent', 'attack']]),
      ['own', 'rgb(1, 2, 3)'],
      ['module', 'true'],
    ]);
    expect(Object.keys(tried)).toEqual(expect.arrayContaining(refusals));
    expect(await context.cookies()).toEqual(cookies);
    expect([effects.calls, asked]).toEqual([[], []]);
    await page.goto(console.url);
    expect(await page.locator('.who').textContent()).toContain('terminal');
  }

  it('reads nothing of the console in a frame beside what is in service, and changes nothing', async () => {
    const all = await stage(null);
    const { page } = all;
    const frame = page.frameLocator('#preview-frame');
    await expect.poll(() => frame.locator('#said').textContent()).not.toBe('');
    const tried = JSON.parse((await frame.locator('#said').textContent()) ?? '{}') as Record<string, string>;
    expect(Object.entries(tried).filter(([, result]) => result !== 'refused')).toEqual([
      ['own', 'rgb(1, 2, 3)'],
      ['module', 'true'],
    ]);
    expect(await page.locator('h1').textContent()).toBe('Preview of v2');
    expect([all.effects.calls, all.asked]).toEqual([[], []]);
    await frame.getByRole('link', { name: 'from the root' }).click();
    await frame.getByRole('heading', { name: 'Guide' }).waitFor();
  });

  it('reads nothing of the console in a tab of its own, and leads on from the root', async () => {
    const all = await stage(null);
    const [tab] = await Promise.all([all.context.waitForEvent('page'), all.page.locator('#preview-alone').click()]);
    await refused(all, tab);
    await tab.getByRole('link', { name: 'from the root' }).click();
    await tab.getByRole('heading', { name: 'Guide' }).waitFor();
  });

  it('is kept out of a console that differs by its port alone', async () => {
    const all = await stage(`http://127.0.0.1:${await findFreePort()}`);
    const [tab] = await Promise.all([all.context.waitForEvent('page'), all.page.locator('#preview-alone').click()]);
    await refused(all, tab);
  });
});
