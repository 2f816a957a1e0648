import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dark, light } from '../../src/feedback/report/figure.ts';
import { pageOf, projectWith, someFigures } from '../feedback/report/figures.ts';

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

const attack = '<img src="https://evil.example/x.png" onerror="alert(1)"></script><script>alert(2)</script>';
const longWord = `/${'without-a-place-to-break'.repeat(20)}`;

const figures = someFigures({
  mostVoted: [
    { path: attack, yes: 3, no: 1 },
    { path: longWord, yes: 1, no: 1 },
  ],
  worst: [{ path: longWord, yes: 1, no: 1 }],
  commented: 4,
  recent: [
    ...someFigures().recent,
    { text: attack, cut: 0, path: attack, source: 'agent', status: 'snoozed', helpful: null, createdAt: null },
    {
      text: `\u202e${longWord}`,
      cut: 4,
      path: longWord,
      source: 'contextual',
      status: 'pending',
      helpful: true,
      createdAt: '2026-11-20T10:00:00.000Z',
    },
  ],
});

/** A tab with the report, opened from a file, in which every request is counted and refused. */
interface Opened {
  page: Page;
  requests: string[];
  complaints: string[];
}

describe.skipIf(!existsSync(executablePath))('the report in Chromium', () => {
  let browser: Browser;
  let folder: string;
  let address: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docferry-browser-'));
    const file = join(folder, 'report.html');
    await writeFile(file, await pageOf([projectWith(figures), projectWith(someFigures(), 'prj_2')]));
    address = pathToFileURL(file).href;
    browser = await chromium.launch({ executablePath });
  });

  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function opened(options: BrowserContextOptions = {}): Promise<Opened & AsyncDisposable> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const requests: string[] = [];
    const complaints: string[] = [];
    await context.setOffline(true);
    const page = await context.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) requests.push(request.url());
    });
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(address);
    return { page, requests, complaints, [Symbol.asyncDispose]: () => context.close() };
  }

  it('asks for nothing but itself, and has nothing to complain about', async () => {
    await using tab = await opened();
    await tab.page.getByLabel('Text contains').first().fill('words');
    expect(tab.requests).toEqual([address]);
    expect(tab.complaints).toEqual([]);
  });

  it('filters comments by keyboard alone, and clears the filters', async () => {
    await using tab = await opened();
    const { page } = tab;
    const items = page.locator('#p1-list > li:visible');
    const shown = page.locator('#p1-comments .shown');
    expect([await items.count(), await shown.textContent()]).toEqual([4, '4 comments']);

    await page.locator('#p1-source').focus();
    await page.keyboard.type('agent');
    expect([await items.count(), await shown.textContent()]).toEqual([2, '2 of 4 comments']);
    await page.keyboard.press('Tab');
    await page.keyboard.type('snoozed');
    expect(await items.count()).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.type('EVIL.example');
    await page.keyboard.press('Enter');
    expect([await items.count(), page.url()]).toEqual([1, address]);
    await page.keyboard.press('Tab');
    await page.keyboard.type('nobody wrote this');
    expect([await items.count(), await shown.textContent()]).toEqual([0, '0 of 4 comments']);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => items.count()).toBe(4);
    expect(await page.locator('#p2-list > li:visible').count()).toBe(2);
  });

  it('shows every comment, and no filters, without script', async () => {
    await using tab = await opened({ javaScriptEnabled: false });
    expect(await tab.page.locator('#p1-list > li:visible').count()).toBe(4);
    expect(await tab.page.locator('form:visible').count()).toBe(0);
  });

  it('opens the table behind each chart by keyboard', async () => {
    await using tab = await opened();
    const charts = await tab.page.locator('figure').all();
    expect(charts).toHaveLength(14);
    for (const chart of charts) {
      expect(await chart.locator('svg[role=img]:visible').count()).toBe(1);
      expect(await chart.locator('td:visible').count()).toBe(0);
      await chart.locator('summary').focus();
      await tab.page.keyboard.press('Enter');
      expect(await chart.locator('td:visible').count()).toBeGreaterThan(0);
    }
  });

  it.each([320, 360, 560, 768, 1024, 1280])('never scrolls sideways at %i px, tables open', async (width) => {
    await using tab = await opened({ viewport: { width, height: 800 } });
    const { page } = tab;
    await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true })');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    const sticking: unknown = await page.evaluate(`[...document.querySelectorAll('body *')]
      .filter((one) => !one.closest('.scroll, svg, .unseen') && one.getClientRects().length > 0)
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .map((one) => one.outerHTML.slice(0, 80))`);
    expect(sticking).toEqual([]);
  });

  it.each([
    ['light', light],
    ['dark', dark],
  ] as const)(
    'has letters that can be read in the %s scheme, in pages and charts alike',
    async (colorScheme, palette) => {
      await using tab = await opened({ colorScheme });
      const { page } = tab;
      await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true })');
      const pairs = await textColors(page);
      expect(pairs.length).toBeGreaterThan(4);
      expect(pairs.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(rgb(palette.paper));
    },
  );

  it('names what it holds: language, title, headings in order, controls, pictures', async () => {
    await using tab = await opened();
    const { page } = tab;
    expect(await page.title()).toBe('Feedback');
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
    const levels = (await page.evaluate(
      `[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))`,
    )) as number[];
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    for (const [index, level] of levels.entries()) expect(level - (levels[index - 1] ?? 0)).toBeLessThanOrEqual(1);
    const nameless: unknown = await page.evaluate(`[
      ...[...document.querySelectorAll('input,select')].filter((one) => one.labels.length !== 1),
      ...[...document.querySelectorAll('button,summary,a')].filter((one) => one.textContent.trim() === ''),
      ...[...document.querySelectorAll('svg[role=img],[role=region],nav,form')].filter((one) => !one.ariaLabel),
      ...[...document.querySelectorAll('svg')].filter((one) => one.role !== 'img' && one.ariaHidden !== 'true'),
      ...[...document.querySelectorAll('table')].filter((one) => !one.querySelector('th[scope=col]')),
    ].map((one) => one.outerHTML.slice(0, 80))`);
    expect(nameless).toEqual([]);
  });

  it('shows where the keyboard is', async () => {
    await using tab = await opened();
    for (const control of ['summary', '.scroll', 'select', 'input', 'button', 'a']) {
      const first = tab.page.locator(control).first();
      if (control === '.scroll') await tab.page.evaluate('document.querySelector("details").open = true');
      await tab.page.keyboard.press('Tab');
      await first.focus();
      expect(await tab.page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), control).toBe('solid');
    }
  });

  it('prints in light colours, without filters', async () => {
    await using tab = await opened({ colorScheme: 'dark' });
    await tab.page.emulateMedia({ media: 'print' });
    expect(await tab.page.locator('form:visible').count()).toBe(0);
    expect(await tab.page.evaluate('getComputedStyle(document.body).color')).toBe(rgb(light.ink));
  });
});

interface TextColor {
  text: string;
  ratio: number;
}

/** Every combination of a text's colour with the colour behind it, and its contrast (WCAG 2.2). */
async function textColors(page: Page): Promise<TextColor[]> {
  return (await page.evaluate(`(() => {
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (color) => {
      const [r, g, b] = parts(color).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (one) => {
      for (let at = one; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor;
        if (parts(color)[3] !== 0) return color;
      }
      return 'rgb(255, 255, 255)';
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const one = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() === '' || one.getClientRects().length === 0) continue;
      const style = getComputedStyle(one);
      const color = one.closest('svg') ? style.fill : style.color;
      const paper = behind(one);
      const [dark, bright] = [luminance(color), luminance(paper)].sort((a, b) => a - b);
      found.set(color + paper, { text: walker.currentNode.data.slice(0, 30), ratio: (bright + 0.05) / (dark + 0.05) });
    }
    return [...found.values()];
  })()`)) as TextColor[];
}

function rgb(hex: string): string {
  return `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(', ')})`;
}
