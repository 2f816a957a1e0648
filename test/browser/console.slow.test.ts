import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningConsole } from '../../src/console/console.tsx';
import { approveExport, exportState, startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import type { Scene } from '../tools/scene.ts';
import { type ConsoleStage, hasBrowser, setConsoleStage, violations } from './console-stage.ts';

describe.skipIf(!hasBrowser)('the console in Chromium', () => {
  let stage: ConsoleStage;
  let scene: Scene;
  let running: RunningConsole;
  const signedIn = (options?: BrowserContextOptions) => stage.signedIn(options);

  beforeEach(async () => {
    stage = await setConsoleStage({ approvalTimeout: '1h', schedule: '{ every: 7d }' });
    ({ scene, running } = stage);
  });
  afterEach(() => stage.end());

  const sitePath = () => `/sites/${scene.org}/${scene.domain}`;

  async function versionWaits(): Promise<string> {
    const { client, taskQueue, org, domain } = scene;
    await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const waiting = async () => (await exportState(client, org, domain)).approval?.version ?? '';
    await expect.poll(waiting, { interval: 300 }).not.toBe('');
    return waiting();
  }

  it('says that somebody else has approved meanwhile, and does nothing twice', async () => {
    const { client, org, domain } = scene;
    const version = await versionWaits();
    const page = await signedIn();
    await page.goto(`${running.url}${sitePath()}`);
    await approveExport(client, { org, domain, version });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('link', { name: 'Back', exact: true }).waitFor();
    await expect.poll(async () => (await exportRuns(scene)).length).toBe(0);
    expect(await page.locator('h1').textContent()).not.toBe(domain);
  });

  it('is walked by keys, and a version is copied by a click', async () => {
    const version = await versionWaits();
    const page = await signedIn({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(running.url);
    const focused = () => page.evaluate('document.activeElement.textContent.trim()');
    await page.keyboard.press('j');
    expect(await focused()).toBe(scene.domain);
    await page.keyboard.press('j');
    expect(await focused()).not.toBe(scene.domain);
    await page.keyboard.press('k');
    await page.keyboard.press('x');
    const row = page.getByRole('row').filter({ hasText: scene.domain });
    expect(await row.getByRole('checkbox').isChecked()).toBe(true);
    await page.keyboard.press('/');
    await page.keyboard.type('jx?');
    expect(await page.locator('main input[type=search]').inputValue()).toBe('jx?');
    await page.locator('h1').click();
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${running.url}${sitePath()}`);
    await page.locator(`[data-copy="${version}"] [aria-hidden]`).first().click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(version);
  });

  /** Stored feedback, and the version that waits. */
  async function everythingToShow(): Promise<string> {
    const { client, taskQueue, org, project } = scene;
    const sweep = { org, project, pass: 'sweep', class: 'on-demand', failover: 'fast' } as const;
    await (await startSync(client, taskQueue, sweep)).result();
    return versionWaits();
  }

  /** An address for each of the console's pages; a page that names something new in its address needs a sample here. */
  async function everyPage(page: Page, version: string): Promise<string[]> {
    const { org, domain, project } = scene;
    const found = await (await page.request.get(`${running.url}/feedback`)).text();
    const id = found.match(/href="\/feedback\/[^"/]+\/([^"/?]+)"/)?.[1] ?? expect.fail('no entry was found');
    const samples: Record<string, string> = { org, domain, project, version, id };
    return running.pages.map((pattern) =>
      pattern.replaceAll(/:(\w+)/g, (_, name: string) => samples[name] ?? expect.fail(`no sample for ${pattern}`)),
    );
  }

  /** Loads it; false for what is no page, such as an icon. */
  async function isPage(page: Page, path: string): Promise<boolean> {
    if (path === '/events') return false;
    const answer = await page.request.get(`${running.url}${path}`, { maxRedirects: 0 });
    if (!(answer.headers()['content-type'] ?? '').startsWith('text/html')) return false;
    await page.goto(`${running.url}${path}`);
    return true;
  }

  it.each(['light', 'dark'] as const)('breaks no rule of axe on any page in the %s theme', async (colorScheme) => {
    const version = await everythingToShow();
    const page = await signedIn({ colorScheme, timezoneId: 'Asia/Tokyo' });
    const looked: string[] = [];
    for (const path of [...(await everyPage(page, version)), '/?is=failed&q=nothing', '/nothing']) {
      if (!(await isPage(page, path))) continue;
      expect([path, await violations(page)]).toEqual([path, []]);
      looked.push(path);
    }
    expect(looked).toEqual(
      expect.arrayContaining(['/', '/audit', '/budget', '/feedback', '/history', '/schedules', sitePath()]),
    );
    await page.goto(`${running.url}${sitePath()}`);
    await page.getByLabel('Why it is rejected').fill('not yet');
    await page.getByRole('button', { name: 'Reject …' }).click();
    await page.getByRole('link', { name: 'Back', exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(running.url);
    await page.getByLabel(`Select ${scene.domain}`).check();
    await page.getByRole('button', { name: 'Approve …' }).click();
    await page.getByRole('link', { name: 'Back', exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().clearCookies();
    await page.goto(running.url);
    expect(await violations(page)).toEqual([]);
  });

  it('never scrolls sideways from 320 to 1,920 px', async () => {
    const version = await everythingToShow();
    const page = await signedIn({ timezoneId: 'America/Argentina/Buenos_Aires' });
    for (const path of await everyPage(page, version)) {
      if (!(await isPage(page, path))) continue;
      for (const width of [320, 390, 768, 1024, 1366, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate('document.documentElement.scrollWidth');
        expect([path, width, wide]).toEqual([path, width, width]);
        const inner =
          "[...document.querySelectorAll('.scroll:has(> .cards)')].filter((part) => part.scrollWidth > part.clientWidth + 1).length";
        if (width >= 768) expect([path, width, await page.evaluate(inner)]).toEqual([path, width, 0]);
        const menu = page.locator('main details.menu');
        if ((await menu.count()) === 0) continue;
        await menu.locator('summary').click();
        const panel = await menu.locator('> div').boundingBox();
        const open = await page.evaluate('document.documentElement.scrollWidth');
        expect([width, open, panel !== null && panel.x >= 0 && panel.x + panel.width <= width]).toEqual([
          width,
          width,
          true,
        ]);
        await menu.locator('summary').click();
      }
    }
  });

  it('has a header of one line on a phone, where a tick shows the pages', async () => {
    await everythingToShow();
    const page = await signedIn();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(running.url);
    const header = await page.locator('header.top').boundingBox();
    const line = await page.locator('header .who summary').boundingBox();
    expect(header?.height).toBeLessThan(2 * (line?.height ?? 0));
    const pages = page.getByRole('navigation', { name: 'Console' });
    expect(await pages.isVisible()).toBe(false);
    await page.getByLabel('Pages: Overview').press('Space');
    expect(await violations(page)).toEqual([]);
    await pages.getByRole('link', { name: 'Budget' }).click();
    await page.getByRole('heading', { name: 'Budget' }).waitFor();
  });

  it('gives other sites no effect and no frame', async () => {
    await versionWaits();
    const page = await signedIn();
    await page.goto(`${running.url}${sitePath()}`);
    const token = await page.locator('input[name=token]').first().inputValue();
    const target = `${running.url}${sitePath()}`;
    const field = (name: string, value: string) => `<input name="${name}" value="${value}">`;
    const evil = createServer((request, response) => {
      const form = `<form method="post" action="${target}/cancel">${field('token', token)}${field('sure', 'yes')}</form>`;
      const framed = `<iframe src="${running.url}"></iframe><img src="${target}/cancel">`;
      const json = `<script>fetch('${target}/cancel',{method:'POST',credentials:'include',mode:'no-cors',body:'{}'}).catch(() => {})</script>`;
      response.setHeader('content-type', 'text/html');
      response.end(request.url === '/form' ? `${form}<script>document.forms[0].submit()</script>` : framed + json);
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      evil.close();
      evil.closeAllConnections();
    });
    const { port } = evil.address() as AddressInfo;
    await page.goto(`http://localhost:${port}/framed`);
    await page.waitForTimeout(500);
    const [frame] = page.frames().slice(1);
    // Chromium shows its own page instead.
    expect(frame?.url()).toMatch(/^chrome-error:/);
    await page.goto(`http://localhost:${port}/form`);
    await page.getByText('Not from the console').waitFor();
    const { phase } = await exportState(scene.client, scene.org, scene.domain);
    expect(phase).toBe('awaiting-approval');
  });
});

/** Exports that have failed, of which there must be none. */
async function exportRuns({ client, org }: Scene): Promise<string[]> {
  const failed: string[] = [];
  const query = `WorkflowType = 'exportSite' AND DocferryOrg = '${org}' AND ExecutionStatus = 'Failed'`;
  for await (const { workflowId } of client.workflow.list({ query })) failed.push(workflowId);
  return failed;
}
