import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RenderRuleLevels } from '../../../src/exports/rules/verification-rules.ts';
import { renderSite } from '../../../src/exports/verify/render-site.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { type Item, tarGz } from '../../tools/bundle/build-archive.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { chromiumProgram, processesWith } from '../../tools/servers/chromium.ts';

const program = await chromiumProgram();
const limits = { maxBytes: 100_000_000, maxFiles: 1000, maxRatio: 1000 };
// Tests may run as root in containers, where Chromium has no sandbox.
const browser = { program, sandbox: false };

async function verified(items: Item[]) {
  const folder = await tempFolder();
  const file = join(folder, 'site.tar.gz');
  await writeFile(file, tarGz(items));
  return { folder, file, report: await verifyArchive(file, { limits }) };
}

async function render(items: Item[], levels: RenderRuleLevels = {}, pages = 10) {
  const { folder, file, report } = await verified(items);
  expect(report.reasons).toEqual([]);
  const rendering = await renderSite(file, report, { pages, browser, levels, workFolder: folder });
  expect(await readdir(folder)).toEqual(['site.tar.gz']);
  return rendering;
}

const html = (body: string) => `<!doctype html><meta charset=utf-8><title>t</title><body>${body}`;
const home = (body: string): Item[] => [{ name: 'index.html', content: html(body) }];

describe.skipIf(program === null)('pages in the real Chromium', () => {
  it('of a good site break no rule: modules, styles, images, data, links in folders, late drawing', async () => {
    const { pages, reasons, warnings } = await render([
      ...home('<link rel=stylesheet href="/a/site.css"><script type=module src="./a/app.js"></script>'),
      { name: 'a/site.css', content: 'body { background: url("logo.svg") }' },
      {
        name: 'a/logo.svg',
        content: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="5" height="5"/></svg>',
      },
      {
        name: 'a/app.js',
        content: `import { text } from './text.js';
          const [data, page] = await Promise.all([fetch('/d.json').then((r) => r.json()), fetch('/guide').then((r) => r.text())]);
          if (!isSecureContext || !page.includes('Guide')) throw new Error('not as a server would');
          setTimeout(() => { document.body.append(text + data.x); }, 700);`,
      },
      { name: 'a/text.js', content: 'export const text = "drawn late ";' },
      { name: 'd.json', content: '{"x":1}' },
      { name: 'guide/index.html', content: html('<h1>Guide</h1>') },
      { name: 'ünï code/a b%.html', content: html('<p>odd name') },
    ]);
    expect({ reasons, warnings }).toEqual({ reasons: [], warnings: [] });
    expect([...pages].sort()).toEqual(['guide/index.html', 'index.html', 'ünï code/a b%.html']);
  });

  it('report script errors, thrown or rejected, but not those that are caught', async () => {
    const { warnings } = await render([
      ...home('<h1>x</h1><script>try { no() } catch {}; throw new TypeError("of a script\\nsecond line")</script>'),
      { name: 'later.html', content: html('<h1>x</h1><script>Promise.reject(new Error("rejected"))</script>') },
    ]);
    expect(warnings).toEqual([
      { rule: 'page-script-error', path: 'index.html', detail: expect.stringContaining('of a script') },
      { rule: 'page-script-error', path: 'later.html', detail: expect.stringContaining('rejected') },
    ]);
    expect(JSON.stringify(warnings)).not.toContain('second line');
  });

  it('report what is missing, even when only a script requests it', async () => {
    const { warnings } = await render([
      ...home(
        '<h1>x</h1><script src="gone.js"></script><script>fetch("/api/search", { method: "POST" }); fetch("/no.json")</script>',
      ),
    ]);
    expect(warnings.map(({ rule, detail }) => [rule, detail]).sort()).toEqual([
      ['page-request-failed', 'fetch /api/search: 405'],
      ['page-request-failed', 'fetch /no.json: 404'],
      ['page-request-failed', 'script /gone.js: 404'],
    ]);
  });

  it('get files of more than 32 MiB empty', async () => {
    const script = `fetch('/big.bin').then(async (r) => {
      throw new Error(r.status + ' ' + (await r.arrayBuffer()).byteLength);
    })`;
    const { warnings } = await render([
      ...home(`<h1>x</h1><script>${script}</script>`),
      { name: 'big.bin', content: Buffer.concat([randomBytes(1024 ** 2), Buffer.alloc(32 * 1024 ** 2)]) },
    ]);
    expect(warnings).toEqual([{ rule: 'page-script-error', path: 'index.html', detail: 'Error: 200 0' }]);
  });

  it('get large files one by one, however many they request at once', async () => {
    const script = 'for (let i = 0; i < 12; i += 1) void fetch("big.bin?" + i)';
    const items = [...home(`<h1>x</h1><script>${script}</script>`), { name: 'big.bin', content: randomBytes(3e7) }];
    const { folder, file, report } = await verified(items);
    const before = process.memoryUsage().rss;
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5);
    onTestFinished(() => clearInterval(timer));
    const rendering = await renderSite(file, report, { pages: 1, browser, levels: {}, workFolder: folder });
    expect(rendering.warnings).toEqual([]);
    // Each file takes memory as bytes, as base64 and as a message: some 120 MB.
    expect(most - before).toBeLessThan(500e6);
  });

  it('with thousands of findings list some, and count the rest', async () => {
    const script = 'for (let i = 0; i < 2000; i++) Promise.reject(new Error("no " + i))';
    const { warnings } = await render(home(`<h1>x</h1><script>${script}</script>`));
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toEqual({ rule: 'page-script-error', path: null, detail: '1990 more not listed' });
  });

  it('that show nothing are found: empty, white on white, endless loading, drawn over', async () => {
    const { warnings } = await render([
      ...home(''),
      { name: 'white.html', content: html('<p style="color:#fff">white') },
      { name: 'over.html', content: html('<p>below<div style="position:fixed;inset:0;background:#123"></div>') },
      { name: 'good.html', content: html('<p>.') },
    ]);
    expect(warnings.map(({ rule, path }) => [rule, path]).sort()).toEqual([
      ['page-does-not-render', 'index.html'],
      ['page-does-not-render', 'over.html'],
      ['page-does-not-render', 'white.html'],
    ]);
  });

  it('that never finish are abandoned, and the next one is opened', async () => {
    const { pages, warnings } = await render([
      ...home('<script>for (;;) {}</script>'),
      { name: 'next.html', content: html('<h1>next') },
    ]);
    expect(pages).toEqual(['index.html', 'next.html']);
    expect(warnings).toEqual([
      { rule: 'page-does-not-render', path: 'index.html', detail: 'it does not load in 15 s' },
    ]);
  });

  it('reach nothing outside, whatever they try, and the attempts are reported', async () => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void listener.close());
    const address = listener.address();
    const host = `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
    const { warnings } = await render([
      ...home(`<h1>x</h1><link rel=preconnect href="http://${host}"><link rel=dns-prefetch href="http://${host}">
        <link rel=prefetch href="http://${host}/prefetch"><img src="http://${host}/a.png"><iframe src="http://${host}/frame"></iframe>
        <script src="https://cdn.example/x.js"></script>
        <script>
          navigator.sendBeacon("http://${host}/beacon", "x");
          new WebSocket("ws://${host}/socket");
          fetch("http://${host}/fetch").catch(() => {});
          open("http://${host}/popup");
          new EventSource("http://${host}/events");
          const peer = new RTCPeerConnection({ iceServers: [{ urls: "turn:${host}?transport=tcp", username: "u", credential: "c" }] });
          peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
          new Worker(URL.createObjectURL(new Blob(["fetch('http://${host}/worker').catch(() => {})"])));
          navigator.serviceWorker.register("/sw.js").catch(() => {});
        </script>`),
      { name: 'sw.js', content: `fetch("http://${host}/service-worker")` },
      { name: 'leaves.html', content: html(`<script>location = "http://${host}/elsewhere"</script>`) },
      { name: 'refresh.html', content: html(`<h1>x</h1><meta http-equiv=refresh content="0;url=http://${host}/r">`) },
    ]);
    expect(connections).toBe(0);
    const told = warnings.filter(({ rule, path }) => rule === 'page-external-request' && path === 'index.html');
    expect(told.map(({ detail }) => detail)).toEqual(
      expect.arrayContaining([
        `image from ${host}`,
        `a WebSocket to ${host}`,
        `fetch from ${host}`,
        'script from cdn.example',
      ]),
    );
    expect(warnings.map(({ path }) => path)).toEqual(expect.arrayContaining(['leaves.html', 'refresh.html']));
  });

  it('break rules at the configured level', async () => {
    const items = home('<h1>x</h1><script>throw new Error("boom")</script><img src="https://cdn.example/a.png">');
    const levels = { 'page-script-error': 'refuse', 'page-external-request': 'off' } as const;
    const { reasons, warnings } = await render(items, levels);
    expect(reasons).toEqual([{ rule: 'page-script-error', path: 'index.html', detail: 'Error: boom' }]);
    expect(warnings).toEqual([]);
  });

  it('are as many as requested, and no more than time allows', async () => {
    const items = [
      ...home('<h1>x</h1>'),
      ...Array.from({ length: 6 }, (_, i) => ({ name: `p${i}.html`, content: html('p') })),
    ];
    expect((await render(items, {}, 3)).pages).toHaveLength(3);
    const { folder, file, report } = await verified(items);
    const options = { pages: 5, browser, levels: {}, workFolder: folder, timeLimitMs: 0 };
    const { pages, warnings } = await renderSite(file, report, options);
    expect([pages, warnings]).toEqual([
      [],
      [{ rule: 'page-does-not-render', path: null, detail: '5 pages were not opened for lack of time' }],
    ]);
  });

  it('leave no process and no file, even when interrupted half-way', async () => {
    const { folder, file, report } = await verified([
      ...home('<h1>x</h1>'),
      { name: 'endless.html', content: html('<script>for (;;) {}</script>') },
    ]);
    const controller = new AbortController();
    const rendering = renderSite(file, report, {
      pages: 2,
      browser,
      levels: {},
      workFolder: folder,
      signal: controller.signal,
      onPage: () => setTimeout(() => controller.abort(new Error('told to stop')), 1_000),
    });
    await expect(rendering).rejects.toThrow('told to stop');
    expect(await readdir(folder)).toEqual(['site.tar.gz']);
    await expect.poll(() => processesWith(folder)).toEqual([]);
  });

  it('are opened by a browser that does not see our variables', async () => {
    process.env.DOCFERRY_PLANTED = 'planted-secret-8c1';
    onTestFinished(() => void delete process.env.DOCFERRY_PLANTED);
    const { folder, file, report } = await verified(home('<h1>x</h1>'));
    const seen: number[] = [];
    const inside: number[] = [];
    const onPage = () => {
      inside.push(...processesWith(folder));
      seen.push(...processesWith('planted-secret-8c1'));
    };
    await renderSite(file, report, { pages: 1, browser, levels: {}, workFolder: folder, onPage });
    expect(inside.length).toBeGreaterThan(0);
    expect(seen.filter((pid) => inside.includes(pid))).toEqual([]);
  });
});

describe('a browser that cannot be used', () => {
  it('is reported with the fix, before anything else happens', async () => {
    const { folder, file, report } = await verified(home('<h1>x</h1>'));
    const render = (choice: { program: string | null; sandbox: boolean }) =>
      renderSite(file, report, { pages: 1, browser: choice, levels: {}, workFolder: folder });
    await expect(render({ program: '/nowhere/chromium', sandbox: false })).rejects.toMatchObject({
      name: 'BrowserUnusable',
      message: 'there is no browser /nowhere/chromium',
      hint: expect.stringContaining('Chromium'),
    });
    await expect(render({ program: process.execPath, sandbox: false })).rejects.toMatchObject({
      name: 'BrowserUnusable',
      message: `${process.execPath} cannot be started`,
    });
    expect(await readdir(folder)).toEqual(['site.tar.gz']);
  });
});
