import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Route } from 'playwright-core';
import type { Reason } from '../rules/archive-facts.ts';
import { unpack } from '../archive/unpack.ts';
import { browserSlots } from '../machine-limits.ts';
import { printablePath } from '../rules/reason-list.ts';
import { isRenderRule, type RenderRuleLevels, renderRuleTexts } from '../rules/render-rules.ts';
import type { RuleLevel } from '../rules/site-rules.ts';
import type { VerificationReport } from './verification-report.ts';
import { BrowserUnusable } from './browser-unusable.ts';
import { type BrowserChoice, findBrowser } from './find-browser.ts';
import type { PageFindings } from './page-findings.ts';
import { origin, renderPage } from './render-page.ts';
import type { Rendering } from './rendering.ts';
import { samplePages } from './sample-pages.ts';
import { SiteFiles } from './site-files.ts';

export interface RenderOptions {
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
/** Findings listed for each rule; the others are counted. */
const mostListed = 10;

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
      const deadline = performance.now() + timeLimitMs;
      const found: { path: string; findings: PageFindings }[] = [];
      for (const path of wanted) {
        signal?.throwIfAborted();
        if (performance.now() > deadline) break;
        found.push({ path, findings: await renderPage(context, path) });
        options.onPage?.(found.length, wanted.length);
      }
      // A stopped browser can look like a crashed page.
      signal?.throwIfAborted();
      return conclude(found, wanted, options.levels);
    } catch (error) {
      signal?.throwIfAborted();
      if (browser.isConnected()) throw error;
      throw new BrowserUnusable('the browser ended while it rendered pages', 'look for what ended it: memory, a limit');
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
    throw new BrowserUnusable(
      `${program} cannot be started${isSandbox ? ' with its sandbox' : ''}`,
      isSandbox
        ? 'allow user namespaces to the user, or do without: `bundle.render.sandbox: false`, `--no-browser-sandbox`'
        : 'start it by hand with --headless to see why; it has to be a Chromium',
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

function conclude(
  found: readonly { path: string; findings: PageFindings }[],
  wanted: readonly string[],
  levels: RenderRuleLevels,
): Rendering {
  const judged: Record<RuleLevel, Reason[]> = { refuse: [], warn: [], off: [] };
  for (const rule of Object.keys(renderRuleTexts).filter(isRenderRule)) {
    const all = found.flatMap(({ path, findings }) =>
      findings.of(rule).map((detail) => ({ rule, path: printablePath(path), detail: printablePath(detail) })),
    );
    const dropped = found.reduce((sum, { findings }) => sum + findings.dropped(rule), 0);
    const listed: Reason[] = all.slice(0, mostListed);
    const more = all.length + dropped - listed.length;
    if (more > 0) listed.push({ rule, path: null, detail: `${more} more not listed` });
    const late = wanted.length - found.length;
    if (rule === 'page-does-not-render' && late > 0) {
      listed.push({ rule, path: null, detail: `${late} pages were not opened for lack of time` });
    }
    judged[levels[rule] ?? renderRuleTexts[rule].level].push(...listed);
  }
  return { pages: found.map(({ path }) => path), reasons: judged.refuse, warnings: judged.warn };
}
