import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startConsolePart } from '../../src/cli/processes/console-part.ts';
import { approveExport } from '../../src/client/decide-approval.ts';
import { exportState, startExport } from '../../src/client/exports.ts';
import { applySchedules } from '../../src/client/schedules/schedules.ts';
import type { Config } from '../../src/config/config.ts';
import type { RunningConsole } from '../../src/console/console.tsx';
import { type Scene, setScene } from '../tools/scene.ts';

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(!existsSync(executablePath))('the console in Chromium', () => {
  let browser: Browser;
  let scene: Scene;
  let running: RunningConsole;
  let stop: () => Promise<void>;
  const links: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath });
  }, 60_000);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    scene = await setScene({ approvalTimeout: '1h', schedule: '{ every: 7d }' });
    await scene.startWorker();
    await applySchedules(scene.client, scene.taskQueue, scene.config.organizations, 'quick');
    await beginConsole({});
  });
  afterEach(async () => {
    await stop?.();
    await applySchedules(scene.client, scene.taskQueue, [], 'quick');
    await scene.end();
  });

  async function beginConsole(changes: Partial<Config['console']>): Promise<void> {
    const config = { ...scene.config, console: { ...scene.config.console, write: true, ...changes } };
    const place = { host: '127.0.0.1', port: 0, temporalUi: null, onNewLink: (link: string) => links.push(link) };
    const { console, part } = await startConsolePart(config, place);
    running = console;
    stop = part.stop;
    links.splice(0, links.length, console.signInUrl);
  }

  /** A page of somebody who has signed in by the link. */
  async function signedIn(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1366, height: 900 }, ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.fail(error.message));
    await page.goto(links.at(-1) ?? '');
    await page.waitForURL(`${running.url}/`);
    return page;
  }

  const sitePath = () => `/sites/${scene.org}/${scene.domain}`;

  async function versionWaits(): Promise<string> {
    const { client, taskQueue, org, domain } = scene;
    await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
    const waiting = async () => (await exportState(client, org, domain)).approval?.version ?? '';
    await expect.poll(waiting, { timeout: 50_000, interval: 300 }).not.toBe('');
    return waiting();
  }

  it('starts and approves by keyboard alone, and shows each step as it comes', async () => {
    const { domain } = scene;
    const page = await signedIn();
    await focusOn(page, domain);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${running.url}${sitePath()}`);
    await focusOn(page, 'Start an export');
    await page.keyboard.press('Enter');
    await page.getByText('has started').waitFor();
    await page.getByRole('heading', { name: 'Waits for approval' }).waitFor({ timeout: 50_000 });
    await focusOn(page, 'Approve');
    await page.keyboard.press('Enter');
    await page.getByText(/Approved: .* goes into service/).waitFor();
    await page.getByRole('cell', { name: 'in service' }).waitFor({ timeout: 30_000 });
    await page.getByRole('rowheader', { name: 'published' }).waitFor();
  });

  it('does everything without JavaScript: rejects with a reason after one question', async () => {
    const version = await versionWaits();
    const page = await signedIn({ javaScriptEnabled: false });
    await page.goto(`${running.url}${sitePath()}`);
    await page.getByLabel('Why it is rejected').fill('<b>not yet</b> & never');
    await page.getByRole('button', { name: 'Reject …' }).click();
    expect(await page.getByText(`${version} of ${scene.domain} will be removed for good.`).count()).toBe(1);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByText(`Rejected: ${version} is removed.`).waitFor();
    const history = async () => {
      await page.reload();
      return page.getByText('<b>not yet</b> & never').count();
    };
    await expect.poll(history, { timeout: 20_000, interval: 500 }).toBe(1);
  });

  it('says that somebody else has approved meanwhile, and does nothing twice', async () => {
    const { client, org, domain } = scene;
    const version = await versionWaits();
    const page = await signedIn({ javaScriptEnabled: false });
    await page.goto(`${running.url}${sitePath()}`);
    await approveExport(client, { org, domain, version });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('link', { name: 'Back' }).waitFor();
    await expect.poll(async () => (await exportRuns(scene)).length, { timeout: 20_000 }).toBe(0);
    expect(await page.locator('h1').textContent()).not.toBe(domain);
  });

  it.each(['light', 'dark'] as const)('breaks no rule of axe on any page in the %s theme', async (colorScheme) => {
    await versionWaits();
    const page = await signedIn({ colorScheme, timezoneId: 'Asia/Tokyo' });
    const paths = [
      '/',
      '/?is=failed&q=nothing',
      sitePath(),
      `/projects/${scene.org}/${scene.project}`,
      '/budget',
      '/schedules',
      '/nothing',
    ];
    for (const path of paths) {
      await page.goto(`${running.url}${path}`);
      expect([path, await violations(page)]).toEqual([path, []]);
    }
    await page.goto(`${running.url}${sitePath()}`);
    await page.getByRole('button', { name: 'Reject …' }).click();
    await page.getByRole('link', { name: 'Back' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(running.url);
    await page.getByLabel(`Select ${scene.domain}`).check();
    await page.getByRole('button', { name: 'Approve …' }).click();
    await page.getByRole('link', { name: 'Back' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().clearCookies();
    await page.goto(running.url);
    expect(await violations(page)).toEqual([]);
  });

  it('never scrolls sideways from 320 to 1,920 px', async () => {
    await versionWaits();
    const page = await signedIn();
    for (const path of ['/', sitePath(), `/projects/${scene.org}/${scene.project}`, '/budget', '/schedules']) {
      await page.goto(`${running.url}${path}`);
      for (const width of [320, 390, 768, 1024, 1366, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        expect([path, width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
          path,
          width,
          width,
        ]);
      }
    }
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

/** Presses Tab until what has this name has the focus. */
async function focusOn(page: Page, name: string): Promise<void> {
  for (let left = 60; left > 0; left -= 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement.textContent.trim()')) === name) return;
  }
  expect.fail(`${name} cannot be reached by keyboard`);
}

async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe);
  return page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))',
  );
}

/** Exports that have failed, of which there must be none. */
async function exportRuns({ client, org }: Scene): Promise<string[]> {
  const failed: string[] = [];
  const query = `WorkflowType = 'exportSite' AND DocferryOrg = '${org}' AND ExecutionStatus = 'Failed'`;
  for await (const { workflowId } of client.workflow.list({ query })) failed.push(workflowId);
  return failed;
}
