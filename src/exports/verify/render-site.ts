import { hash } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core';
import { unpack } from '../archive/unpack.ts';
import {
  type Judgement,
  judged,
  printablePath,
  type RenderRule,
  type RenderRuleLevels,
  renderRuleTexts,
} from '../rules/verification-rules.ts';
import { browserSlots } from '../semaphore.ts';
import { addressOf, type BrowserChoice, BrowserUnusable, findBrowser, SiteFiles } from './find-browser.ts';
import { Findings } from './inspect-file.ts';
import { isPage } from './site-links.ts';
import type { VerificationReport } from './verify-archive.ts';

/** Runs in a page of ours: whether all pixels of a picture, given in base64, are the same. */
const isOneColour = `async (picture) => {
  const image = await createImageBitmap(new Blob([Uint8Array.from(atob(picture), (char) => char.charCodeAt(0))]));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
  return pixels.every((pixel) => pixel === pixels[0]);
}`;

/** Where the browser finds the site; the name is reserved (RFC 6761). */
const origin = 'https://bundle.invalid';

const loadTimeoutMs = 15_000;
const screenshotTimeoutMs = 10_000;
/** Time for what scripts do right after loading. */
const settleMs = 300;
/** Time for sites that scripts draw. */
const blankForMs = 3_000;

interface RenderedPage {
  context: BrowserContext;
  /** An empty page of ours. */
  viewer: Page;
  path: string;
  findings: Findings<RenderRule>;
}

/** Opens one page of the site and reports what is wrong with it, each thing once: a hostile page can repeat itself. */
async function renderPage({ context, viewer, path, findings }: RenderedPage): Promise<void> {
  const page = await context.newPage();
  const add = (rule: RenderRule, detail: string) => {
    const [at, what] = [printablePath(path), printablePath(detail)];
    if (findings.of(rule).some((found) => found.path === at && found.detail === what)) return;
    findings.add(rule, path, detail);
  };
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
    const problem = await Promise.race([problemOf(page, viewer, path), crashed.then(() => 'it crashes the browser')]);
    if (problem !== null) add('page-does-not-render', problem);
  } finally {
    await page.close().catch(() => undefined);
  }
}

/** Why readers would see nothing of the page; null when it shows something. */
async function problemOf(page: Page, viewer: Page, path: string): Promise<string | null> {
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
    while (await isBlank(page, viewer)) {
      if (performance.now() > deadline) return 'it shows nothing but one colour';
      await sleep(settleMs);
    }
  } catch (error) {
    if (page.isClosed() || !page.context().browser()?.isConnected()) throw error;
    return 'no picture can be taken of it';
  }
  return null;
}

async function isBlank(page: Page, viewer: Page): Promise<boolean> {
  const picture = await page.screenshot({ timeout: screenshotTimeoutMs, animations: 'allow', type: 'png' });
  return viewer.evaluate<boolean>(`(${isOneColour})('${picture.toString('base64')}')`);
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

/** The result of opening sampled pages of a site in a browser. */
export interface Rendering extends Judgement {
  /** Pages that were opened. */
  pages: string[];
}

/** The index page, and a sample by the content digest: always the same, and its author cannot predict it. */
export function samplePages(paths: readonly string[], contentDigest: string, count: number): string[] {
  const ranked = paths
    .filter((path) => isPage(path) && path !== 'index.html')
    .map((path) => ({ path, rank: hash('sha256', `${contentDigest}\0${path}`) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const index = paths.includes('index.html') ? ['index.html'] : [];
  return [...index, ...ranked.map(({ path }) => path)].slice(0, count);
}

interface RenderOptions {
  /** How many pages to open. */
  pages: number;
  browser: BrowserChoice;
  /** What becomes of a site that breaks a rule, where it differs from the rule's default. */
  levels: RenderRuleLevels;
  /** An existing folder with room for the unpacked site, which is removed afterwards. */
  workFolder: string;
  /** Pages not opened by then are left out and reported; 10 minutes by default. */
  timeLimitMs?: number;
  signal?: AbortSignal | undefined;
  onPage?: ((done: number, pages: number) => void) | undefined;
}

const wholeTimeLimitMs = 600_000;
const launchTimeoutMs = 60_000;
/** Playwright keeps a whole file in memory, and again as base64, while it passes it on; larger files are sent empty. */
const handedOverBytes = 32 * 1024 ** 2;

/** No traffic leaves: no name resolves, every connection goes to a proxy that does not exist, no UDP. */
const noNetwork = [
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-background-networking',
  '--dns-prefetch-disable',
  '--disable-quic',
  '--no-pings',
];
const nowhere = 'http://127.0.0.1:1';

/**
 * Opens sampled pages of a verified archive in Chromium, which gets its files from this process and has no network; waits
 * while this process has as many browsers as it may (`limitMachineUse`). The archive is that of the report, which found
 * nothing to refuse. Throws `BrowserUnusable`, `UnpackMismatch`, system errors, and the signal's reason.
 */
export async function renderSite(
  archive: string,
  report: VerificationReport,
  options: RenderOptions,
): Promise<Rendering> {
  return browserSlots.use(options.signal, () => renderNow(archive, report, options));
}

async function renderNow(
  archive: string,
  { archive: facts, entries, contentDigest }: VerificationReport,
  options: RenderOptions,
): Promise<Rendering> {
  const { browser: choice, signal, timeLimitMs = wholeTimeLimitMs } = options;
  if (facts === null || contentDigest === null) throw new TypeError('a refused archive is not rendered');
  const program = await findBrowser(choice);
  const paths = entries.map(({ path }) => path);
  const wanted = samplePages(paths, contentDigest, options.pages);
  const folder = await mkdtemp(join(options.workFolder, 'render-'));
  try {
    const [site, home] = [join(folder, 'site'), join(folder, 'home')];
    for (const made of [site, home]) await mkdir(made, { mode: 0o700 });
    await unpack(archive, { archive: facts, files: entries }, site, { signal });
    const browser = await launch(program, choice.sandbox, home);
    const stop = () => void browser.close().catch(() => undefined);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const context = await openContext(browser, new SiteFiles(site, paths));
      const viewer = await context.newPage();
      const deadline = performance.now() + timeLimitMs;
      const findings = new Findings<RenderRule>();
      const opened: string[] = [];
      for (const path of wanted) {
        signal?.throwIfAborted();
        if (performance.now() > deadline) break;
        await renderPage({ context, viewer, path, findings });
        opened.push(path);
        options.onPage?.(opened.length, wanted.length);
      }
      // A stopped browser can look like a crashed page.
      signal?.throwIfAborted();
      return conclude(findings, opened, wanted.length - opened.length, options.levels);
    } catch (error) {
      signal?.throwIfAborted();
      if (browser.isConnected()) throw error;
      const hint = 'look for what ended it: memory, a limit';
      throw new BrowserUnusable('the browser ended while it rendered pages', hint, true);
    } finally {
      signal?.removeEventListener('abort', stop);
      await browser.close().catch(() => undefined);
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** The browser gets only the variables it needs: the others contain keys. */
async function launch(program: string, sandbox: boolean, home: string): Promise<Browser> {
  const { chromium } = await library();
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  try {
    return await chromium.launch({
      executablePath: program,
      chromiumSandbox: sandbox,
      args: noNetwork,
      proxy: { server: nowhere },
      env: { PATH, LANG, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
      timeout: launchTimeoutMs,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
  } catch (error) {
    const text = error instanceof Error ? error.message : '';
    const isSandbox = sandbox && /sandbox/i.test(text);
    const isSlow = error instanceof Error && error.name === 'TimeoutError';
    throw new BrowserUnusable(
      `${program} cannot be started${isSandbox ? ' with its sandbox' : ''}`,
      isSandbox
        ? 'allow user namespaces to the user, or do without: `bundle.render.sandbox: false`, `--no-browser-sandbox`'
        : 'start it by hand with --headless to see why; it has to be a Chromium',
      isSlow,
    );
  }
}

async function library() {
  try {
    return await import('playwright-core');
  } catch {
    throw new BrowserUnusable(
      'playwright-core is not installed, which drives the browser',
      'npm install playwright-core',
    );
  }
}

async function openContext(browser: Browser, files: SiteFiles): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    acceptDownloads: false,
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
  });
  // One by one: a page can ask for any number of files at once.
  let last: Promise<void> = Promise.resolve();
  await context.route(
    () => true,
    (route) => {
      last = last.then(() => answer(route, files)).catch(() => route.abort().catch(() => undefined));
      return last;
    },
  );
  await context.routeWebSocket(/.*/, (socket) => void socket.close());
  return context;
}

async function answer(route: Route, files: SiteFiles): Promise<void> {
  const request = route.request();
  const url = new URL(request.url());
  if (url.origin !== origin) return route.abort('blockedbyclient');
  if (!['GET', 'HEAD'].includes(request.method())) return route.fulfill({ status: 405, body: '' });
  const { status, file, type } = files.answer(url.pathname);
  const empty = file === null || (await stat(file)).size > handedOverBytes;
  return route.fulfill({ status, contentType: type, ...(empty ? { body: '' } : { path: file }) });
}

function conclude(findings: Findings<RenderRule>, pages: string[], late: number, levels: RenderRuleLevels): Rendering {
  const unopened = {
    rule: 'page-does-not-render',
    path: null,
    detail: `${late} pages were not opened for lack of time`,
  };
  const rules = Object.keys(renderRuleTexts) as RenderRule[];
  const found = rules.map((rule) => {
    const listed = findings.of(rule);
    const all = rule === unopened.rule && late > 0 ? [...listed, unopened] : listed;
    return [levels[rule] ?? renderRuleTexts[rule].level, all] as const;
  });
  return { pages, ...judged(found) };
}
