import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startConsolePart } from '../../src/cli/commands/console.ts';
import type { RunningConsole } from '../../src/console/console.tsx';
import { openFeedbackStore } from '../../src/feedback/store/open-feedback-store.ts';
import { hostileEntries } from '../tools/console/hostile-entries.ts';
import { entry, wholePass } from '../tools/feedback/temporary-store.ts';
import { type Scene, setScene } from '../tools/scene.ts';

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const widths = [320, 390, 768, 1024, 1366, 1920];

describe.skipIf(!existsSync(executablePath))('the pages of feedback in Chromium', () => {
  let browser: Browser;
  let scene: Scene;
  let running: RunningConsole;
  let stop: () => Promise<void>;
  const links: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath });
    scene = await setScene({ projects: ['prj_hostile'] });
    await fill(scene);
    const place = {
      host: '127.0.0.1',
      port: 0,
      temporalUi: null,
      link: true,
      onNewLink: (link: string) => links.push(link),
    };
    const { console, part } = await startConsolePart(scene.config, place);
    running = console;
    stop = part.stop;
    links.push(console.signInUrl ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await stop?.();
    await scene?.end();
  });

  async function signedIn(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1366, height: 900 }, ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.fail(error.message));
    await page.goto(links.at(-1) ?? '');
    await page.waitForURL(`${running.url}/`);
    return page;
  }

  it('finds, reads and goes on by keyboard alone', async () => {
    const page = await signedIn();
    await focusOn(page, 'Feedback');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${running.url}/feedback`);
    await focusOn(page, 'Words in comments and code');
    await page.keyboard.type('INSTALL fails');
    await page.keyboard.press('Enter');
    await page.getByText('30 entries, newest first.').waitFor();
    expect(await page.locator('.said').first().locator('mark').allTextContents()).toEqual(['install', 'fails']);
    await focusOn(page, '/guides/install');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await focusOn(page, 'all feedback on this page');
    await page.keyboard.press('Enter');
    await page.getByText('30 entries, newest first.').waitFor();
  });

  it('does everything without JavaScript: filters, documents, older entries, a file', async () => {
    const page = await signedIn({ javaScriptEnabled: false, acceptDownloads: true });
    await page.goto(`${running.url}/feedback`);
    await page.getByText('Filters', { exact: true }).click();
    await page.getByLabel('Project').selectOption('prj_1');
    await page.getByLabel('Helpful').selectOption('no');
    await page.getByLabel('From (UTC)').fill('2020-01-01');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('30 entries, newest first.').waitFor();
    await page.getByRole('link', { name: 'all entries' }).click();
    await page.getByText('60 entries, newest first.').waitFor();
    expect(await page.locator('.hits > li').count()).toBe(50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    expect(await page.locator('.hits > li').count()).toBe(10);
    await page.getByRole('link', { name: 'by page' }).click();
    await page
      .getByRole('row', { name: '/guides/install' })
      .getByRole('link', { name: '/guides/install', exact: true })
      .click();
    await page.getByText('30 entries, newest first.').waitFor();
    await page.getByRole('figure', { name: 'The last 12 weeks of this page' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
    expect([download.suggestedFilename().replace(/\d/g, '0'), lines.length]).toEqual(['feedback-0000-00-00.csv', 31]);
    await page.goto(`${running.url}/feedback?words=%22%22`);
    await page.getByRole('heading', { name: 'Not understood' }).waitFor();
  });

  it.each(['light', 'dark'] as const)('breaks no rule of axe in the %s theme', async (colorScheme) => {
    const page = await signedIn({ colorScheme, timezoneId: 'Asia/Tokyo' });
    for (const path of [
      '/feedback',
      '/feedback?words=install+fails&helpful=no&since=2026-01-01',
      '/feedback?by=document&project=prj_1',
      '/feedback?document=/guides/install',
      '/feedback?words=nothing+of+the+kind',
      '/feedback/prj_1/fb_1',
      '/feedback?project=none',
    ]) {
      await page.goto(`${running.url}${path}`);
      expect([path, await violations(page)]).toEqual([path, []]);
    }
  });

  it('never scrolls sideways from 320 to 1,920 px, whatever the entries hold', async () => {
    const page = await signedIn({ timezoneId: 'Asia/Tokyo' });
    const long = `/feedback/prj_hostile/${encodeURIComponent('</script><script>hacked=1</script>')}`;
    for (const path of [
      '/feedback?project=prj_1&words=install',
      '/feedback',
      '/feedback?by=document',
      '/feedback?document=/guides/install',
      '/feedback/prj_1/fb_1',
      long,
    ]) {
      await page.goto(`${running.url}${path}`);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        const scrolled = await page.evaluate('document.documentElement.scrollWidth');
        expect([path, width, scrolled]).toEqual([path, width, width]);
      }
    }
  });

  it('shows hostile entries as text: no script runs, nothing is asked of elsewhere, no rule of the policy is tried', async () => {
    const page = await signedIn();
    const troubles: string[] = [];
    page.on('dialog', (dialog) => troubles.push(`dialog: ${dialog.message()}`));
    page.on('console', (message) => troubles.push(`console: ${message.text()}`));
    page.on('popup', (popup) => troubles.push(`popup: ${popup.url()}`));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== running.url) troubles.push(`request: ${request.url()}`);
    });
    const addresses = hostileEntries
      .filter(({ id }) => id.length < 1_000 && id !== '..')
      .map(({ id }) => `/feedback/prj_hostile/${encodeURIComponent(id.toWellFormed().replaceAll('\u0000', '\ufffd'))}`);
    for (const path of [
      '/feedback?project=prj_hostile&all=yes',
      '/feedback?by=document&project=prj_hostile',
      ...addresses,
    ]) {
      const answer = await page.goto(`${running.url}${path}`);
      const found = await page.evaluate(`({
        hacked: typeof hacked,
        scripts: document.scripts.length,
        embedded: document.querySelectorAll('img, svg, iframe, object, base, meta[http-equiv], main form[action^=http]').length,
        handlers: [...document.querySelectorAll('*')].filter((one) => one.getAttributeNames().some((name) => name.startsWith('on'))).length,
        schemes: [...new Set([...document.links].map(({ protocol }) => protocol))].filter((scheme) => !/^https?:$/.test(scheme)),
        hidden: /[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText),
      })`);
      expect([path, answer?.status(), found]).toEqual([
        path,
        200,
        { hacked: 'undefined', scripts: 1, embedded: 0, handlers: 0, schemes: [], hidden: false },
      ]);
    }
    expect(troubles).toEqual([]);
  });
});

/** Sixty entries of readers about two documents, and one for each hostile text. */
async function fill({ config, org }: Scene): Promise<void> {
  const store = await openFeedbackStore(config.store.feedback);
  try {
    const readers = Array.from({ length: 60 }, (_, index) =>
      entry(`fb_${index}`, {
        path: index % 2 === 0 ? 'https://docs.acme.example/guides/install?x#y' : '/reference/client',
        comment: index % 2 === 0 ? `The install step fails, ${index}` : null,
        source: 'contextual',
        helpful: false,
        contact: 'ada@reader.example',
        createdAt: new Date(Date.now() - (60 - index) * 60_000).toISOString(),
      }),
    );
    await wholePass(store, 'first', readers, { org, project: 'prj_1' });
    await wholePass(store, 'hostile', [...hostileEntries], { org, project: 'prj_hostile' });
    while (!(await store.indexMore()).complete);
  } finally {
    await store.close();
  }
}

/** Presses Tab until what has this text, or this label, has the focus. */
async function focusOn(page: Page, name: string): Promise<void> {
  const focused = '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()';
  for (let left = 60; left > 0; left -= 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(focused)) === name) return;
  }
  expect.fail(`${name} cannot be reached by keyboard`);
}

async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe);
  return page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))',
  );
}
