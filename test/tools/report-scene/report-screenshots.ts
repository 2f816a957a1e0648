import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import type { ReportProject } from '../../../src/feedback/report/report-page.ts';
import { type Report, reportPage } from '../../../src/feedback/report/report-page.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { fillStore } from './fill.ts';

const scene = { org: 'acme', project: 'queue-docs', until: new Date('2026-11-21T08:00:00Z'), seed: 7 };
const views = [
  { device: 'laptop', viewport: { width: 1280, height: 1530 }, deviceScaleFactor: 1 },
  { device: 'phone', viewport: { width: 360, height: 1350 }, deviceScaleFactor: 2 },
] as const;

/**
 * Pictures of a report for the documentation: `node dist/test/tools/report-scene/report-screenshots.js docs/images [all]`. With `all`
 * the whole page, to be looked at. Needs Chromium at `CHROMIUM_PATH` or /usr/bin/chromium.
 */
async function takePictures(folder: string, whole: boolean): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'docferry-report-'));
  try {
    const page = join(work, 'report.html');
    await writeFile(page, await sceneReport(join(work, 'feedback.db')));
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' });
    try {
      for (const { device, ...view } of views) {
        for (const colorScheme of ['light', 'dark'] as const) {
          const tab = await browser.newPage({ ...view, colorScheme });
          await tab.goto(pathToFileURL(page).href);
          const path = join(folder, `report-${device}-${colorScheme}.png`);
          await tab.screenshot({ path, fullPage: whole });
          await tab.close();
        }
      }
    } finally {
      await browser.close();
    }
  } finally {
    await rm(work, { recursive: true });
  }
}

async function sceneReport(file: string): Promise<string> {
  const store = await openSqliteFeedbackStore(file);
  try {
    await fillStore(store, scene);
    const { org, project, until } = scene;
    const figures = await store.reportFigures({ org, project, comments: 200, now: until });
    const readUpTo = await store.watermark(org, project);
    const report: Report = { madeAt: until, bounds: {}, names: [{ org, project }] };
    const projects = async function* (): AsyncGenerator<ReportProject> {
      yield { org, project, readUpTo, figures };
    };
    let text = '';
    for await (const piece of reportPage(report, projects())) text += piece;
    return text;
  } finally {
    await store.close();
  }
}

const [folder, whole] = process.argv.slice(2);
if (!folder) throw new Error('usage: report-screenshots <folder> [all]');
await takePictures(folder, whole === 'all');
