import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { startConsolePart } from '../../src/cli/commands/console.ts';
import type { RunningConsole } from '../../src/console/console.tsx';
import { applySchedules } from '../../src/schedules/schedules.ts';
import { type Scene, type SceneOptions, setScene } from '../tools/scene.ts';

export const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
export const hasBrowser = existsSync(executablePath);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A console over everything real, and a browser that looks at it. */
export interface ConsoleStage {
  scene: Scene;
  running: RunningConsole;
  /** A page of a person who has signed in by the link from the terminal. */
  signedIn(options?: BrowserContextOptions): Promise<Page>;
  end(): Promise<void>;
}

export async function setConsoleStage(options: SceneOptions): Promise<ConsoleStage> {
  const browser: Browser = await chromium.launch({ executablePath });
  const scene = await setScene(options);
  await scene.startWorker();
  await applySchedules(scene.client, scene.taskQueue, scene.config.organizations, 'fast');
  const links: string[] = [];
  const config = { ...scene.config, console: { ...scene.config.console, write: true } };
  const onNewLink = (link: string) => void links.push(link);
  const place = { host: '127.0.0.1', port: 0, temporalUi: null, link: true, onNewLink };
  const { console: running, part } = await startConsolePart(config, place);
  links.push(running.signInUrl ?? '');
  return {
    scene,
    running,
    async signedIn(context = {}) {
      const opened = await browser.newContext({ viewport: { width: 1366, height: 900 }, ...context });
      onTestFinished(() => opened.close());
      const page = await opened.newPage();
      page.on('pageerror', (error) => expect.fail(error.message));
      await page.goto(links.at(-1) ?? '');
      await page.waitForURL(`${running.url}/`);
      return page;
    },
    async end() {
      await browser.close();
      await part.stop();
      await applySchedules(scene.client, scene.taskQueue, [], 'fast');
      await scene.end();
    },
  };
}

/** What axe finds wrong with a page. */
export async function violations(page: Page): Promise<unknown> {
  await page.evaluate(axe);
  return page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))',
  );
}
