import { BrowserUnusable } from '../../exports/verify/browser-unusable.ts';
import { findBrowser } from '../../exports/verify/find-browser.ts';
import type { Config } from '../../config/config.ts';
import { browsersOf } from '../../exports/verify/require-browsers.ts';
import { bad, type Check, good } from './check.ts';

/** The browsers that render pages, if any site wants that; meaningful where the workers run. */
export async function checkBrowsers(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const choice of browsersOf(config)) {
    try {
      checks.push(good('browser', `pages are rendered by ${await findBrowser(choice)}`));
    } catch (error) {
      if (!(error instanceof BrowserUnusable)) throw error;
      checks.push(bad('browser', error.message, error.hint));
    }
  }
  return checks;
}
