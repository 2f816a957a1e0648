import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { renderSite } from '../../../exports/verify/render-site.ts';
import type { Rendering } from '../../../exports/verify/rendering.ts';
import type { VerificationReport } from '../../../exports/verify/verification-report.ts';
import type { CommandContext } from '../../context.ts';
import { operationFailure, usageFailure } from '../../cli-failure.ts';
import { onInterrupt } from '../../terminal/signals.ts';

export interface RenderFlags {
  structureOnly?: boolean;
  render?: string;
  browser?: string;
  browserSandbox: boolean;
}

const mostPages = 1_000;

/** How many pages `--render` asks for; null without it. */
export function pagesToRender({ structureOnly, render, browser, browserSandbox }: RenderFlags): number | null {
  if (render === undefined) {
    if (browser !== undefined) throw usageFailure('--browser needs --render');
    if (!browserSandbox) throw usageFailure('--no-browser-sandbox needs --render');
    return null;
  }
  if (structureOnly) throw usageFailure('--render looks at the content, which --structure-only skips');
  const pages = /^\d{1,4}$/.test(render) ? Number(render) : 0;
  if (pages >= 1 && pages <= mostPages) return pages;
  throw usageFailure(`--render is "${render}": expected a number of pages from 1 to ${mostPages}`);
}

/** Opens this many pages of a good archive in a browser. Throws `BrowserUnusable`. */
export async function renderPages(
  { cwd, output }: CommandContext,
  file: string,
  report: VerificationReport,
  { browser, browserSandbox, pages }: Pick<RenderFlags, 'browser' | 'browserSandbox'> & { pages: number },
): Promise<Rendering> {
  const interrupt = onInterrupt();
  const live = await output.startLive();
  const workFolder = await mkdtemp(join(tmpdir(), 'docferry-verify-'));
  try {
    return await renderSite(file, report, {
      pages,
      browser: { program: browser === undefined ? null : resolve(cwd, browser), sandbox: browserSandbox },
      levels: {},
      workFolder,
      signal: interrupt.signal,
      onPage: (done, all) => live.show(file, { key: `${done}`, text: `${done} of ${all} pages rendered` }),
    });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw operationFailure('Interrupted', 'interrupted: the remaining pages were not checked');
  } finally {
    live.end();
    interrupt.dispose();
    await rm(workFolder, { recursive: true, force: true });
  }
}
