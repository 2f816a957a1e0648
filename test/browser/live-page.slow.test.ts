import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningConsole } from '../../src/console/console.tsx';
import { runningConsole } from '../tools/console/running-console.ts';
import { executablePath, hasBrowser } from './console-stage.ts';

describe.skipIf(!hasBrowser)('a live page in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath });
  });
  afterAll(() => browser?.close());

  /** A console, and a page of a person who has signed in. */
  async function opened(): Promise<{ console: RunningConsole; page: Page }> {
    const console = await runningConsole();
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.fail(error.message));
    await page.goto(console.signInUrl);
    await page.waitForURL(`${console.url}/`);
    return { console, page };
  }

  /** Headless tabs are always visible. */
  const turn = (page: Page, to: 'hidden' | 'visible') =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${to === 'hidden'}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);

  const loadsOf = (page: Page) => {
    const loads: string[] = [];
    page.on('request', (request) => 'x-docferry-live' in request.headers() && loads.push(request.url()));
    return loads;
  };

  it('holds no connection in a hidden tab, and is read anew when it is shown', async () => {
    const { console, page } = await opened();
    for (let tab = 0; tab < 6; tab += 1) {
      const other = await page.context().newPage();
      await Promise.all([other.waitForRequest('**/events*'), other.goto(console.url)]);
      await turn(other, 'hidden');
    }
    const last = await page.context().newPage();
    expect((await last.goto(console.url, { timeout: 15_000 }))?.status()).toBe(200);
    await turn(last, 'hidden');
    const loads = loadsOf(last);
    await turn(last, 'visible');
    await expect.poll(() => loads).toEqual([`${console.url}/`]);
  });

  it('is read anew when it is shown after it was hidden before its events opened', async () => {
    const { console, page } = await opened();
    await page.route('**/events*', () => {}, { times: 1 });
    await Promise.all([page.waitForRequest('**/events*'), page.goto(console.url)]);
    await turn(page, 'hidden');
    const loads = loadsOf(page);
    await turn(page, 'visible');
    await expect.poll(() => loads).toEqual([`${console.url}/`]);
  });

  it.each([502, 204, 401])('says that it gets no updates after %i, and tries again each minute', async (status) => {
    const { console, page } = await opened();
    await page.clock.install();
    await page.route('**/events*', (route) => route.fulfill({ status }));
    await page.goto(console.url);
    const notice = page.locator('#aged', { hasText: 'gets no updates' });
    await notice.waitFor();
    const asked = page.waitForRequest('**/events*');
    await page.clock.runFor(61_000);
    await asked;
    await notice.waitFor();
    await page.unroute('**/events*');
    const loads = loadsOf(page);
    const minutesLater = async () => {
      await page.clock.runFor(61_000);
      return notice.count();
    };
    await expect.poll(minutesLater, { interval: 500 }).toBe(0);
    expect(loads).toEqual([`${console.url}/`]);
  });

  it('is read anew after each interruption of its events, of which it says nothing at first', async () => {
    const { console, page } = await opened();
    let streams = 0;
    await page.route('**/events*', (route) => {
      streams += 1;
      const body = `retry: ${streams < 3 ? 10 : 1_000_000}\n\n`;
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    const loads = loadsOf(page);
    await page.goto(console.url);
    await expect.poll(() => streams).toBe(3);
    await expect.poll(() => loads.length).toBeGreaterThan(0);
    expect(await page.locator('#aged').textContent()).toBe('');
  });

  it('keeps what has the focus there, whatever is replaced', async () => {
    const { console, page } = await opened();
    const kept: string[] = [];
    for (const path of [
      '/',
      '/?q=nothing',
      '/schedules',
      '/budget',
      '/sites/acme/docs.acme.example',
      '/projects/acme/prj_1',
    ]) {
      await page.goto(console.url + path);
      const focusable = '[data-live] :is(a, button, summary, input[type=checkbox])';
      for (let nth = 0; nth < (await page.locator(focusable).count()); nth += 1) {
        const shown = await page.evaluate(`(async () => {
          const one = document.querySelectorAll(${JSON.stringify(focusable)})[${nth}];
          one.focus();
          if (document.activeElement !== one) return null;
          const said = () => document.activeElement.localName + ' ' + (document.activeElement.textContent || document.activeElement.value);
          const before = said();
          // As if something had changed.
          one.closest('[data-live]').append('.');
          await load();
          return [before, said(), document.activeElement !== one];
        })()`);
        if (shown === null) continue;
        const [before, after, isReplaced] = shown as [string, string, boolean];
        expect([path, after, isReplaced]).toEqual([path, before, true]);
        kept.push(before);
      }
    }
    expect(kept.length).toBeGreaterThan(10);
    expect(kept.some((one) => one.startsWith('summary '))).toBe(true);
  });
});
