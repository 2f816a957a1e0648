import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, Page, Request } from 'playwright-core';
import type { RenderRule } from '../rules/render-rules.ts';
import { PageFindings } from './page-findings.ts';
import { isSingleColour } from './single-colour.ts';
import { addressOf } from './site-files.ts';

/** Where the browser finds the site; the name is reserved (RFC 6761). */
export const origin = 'https://bundle.invalid';

const loadTimeoutMs = 15_000;
const screenshotTimeoutMs = 10_000;
/** Time for what scripts do right after loading. */
const settleMs = 300;
/** Time for sites that scripts draw. */
const blankForMs = 3_000;

/** Opens one page of the site and reports what is wrong with it. */
export async function renderPage(context: BrowserContext, path: string): Promise<PageFindings> {
  const page = await context.newPage();
  const findings = new PageFindings();
  const add = (rule: RenderRule, detail: string) => findings.add(rule, detail);
  try {
    const crashed = new Promise<'crashed'>((resolve) => page.once('crash', () => resolve('crashed')));
    page.on('pageerror', (error) => add('page-script-error', firstLine(error)));
    page.on('popup', (popup) => void popup.close().catch(() => undefined));
    page.on('requestfailed', (request) => addRequest(request, null, add));
    page.on('response', (response) => {
      if (response.status() >= 400) addRequest(response.request(), response.status(), add);
    });
    await page.routeWebSocket(/.*/, (socket) => {
      add('page-external-request', `a WebSocket to ${hostOf(socket.url())}`);
      void socket.close().catch(() => undefined);
    });
    const problem = await Promise.race([problemOf(page, path), crashed.then(() => 'it crashes the browser')]);
    if (problem !== null) add('page-does-not-render', problem);
  } finally {
    await page.close().catch(() => undefined);
  }
  return findings;
}

/** Why readers would see nothing of the page; null when it shows something. */
async function problemOf(page: Page, path: string): Promise<string | null> {
  try {
    await page.goto(addressOf(origin, path), { waitUntil: 'load', timeout: loadTimeoutMs });
  } catch (error) {
    if (page.isClosed() || !page.context().browser()?.isConnected()) throw error;
    if (error instanceof Error && error.name === 'TimeoutError') return `it does not load in ${loadTimeoutMs / 1000} s`;
    return 'it does not load, or leads elsewhere at once';
  }
  const deadline = performance.now() + blankForMs;
  await sleep(settleMs);
  try {
    while (await isBlank(page)) {
      if (performance.now() > deadline) return 'it shows nothing but one colour';
      await sleep(settleMs);
    }
  } catch (error) {
    if (page.isClosed() || !page.context().browser()?.isConnected()) throw error;
    return 'no picture can be taken of it';
  }
  return null;
}

async function isBlank(page: Page): Promise<boolean> {
  return isSingleColour(await page.screenshot({ timeout: screenshotTimeoutMs, animations: 'allow', type: 'png' }));
}

function addRequest(request: Request, status: number | null, add: (rule: RenderRule, detail: string) => void): void {
  const url = request.url();
  const what = request.resourceType();
  const inside = url.startsWith(`${origin}/`) ? new URL(url).pathname : null;
  if (inside === null) add('page-external-request', `${what} from ${hostOf(url)}`);
  // Browsers request the first on their own; a request that the page itself aborted is no failure.
  else if (inside === '/favicon.ico' || request.failure()?.errorText === 'net::ERR_ABORTED') return;
  else add('page-request-failed', status === null ? `${what} ${inside}` : `${what} ${inside}: ${status}`);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'another host';
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (text.split('\n')[0] ?? '').slice(0, 150);
}
