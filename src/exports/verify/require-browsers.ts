import { type BrowserChoice, findBrowser } from './find-browser.ts';
import type { Config } from '../../config/config.ts';

/** The browsers in which pages of the configured sites are opened, each once. */
export function browsersOf({ organizations }: Config): BrowserChoice[] {
  const renders = organizations.flatMap(({ sites }) => sites.flatMap(({ bundle }) => bundle.render ?? []));
  const choices = renders.map(({ browser, sandbox }) => ({ program: browser, sandbox }));
  return [...new Map(choices.map((choice) => [`${choice.program} ${choice.sandbox}`, choice])).values()];
}

/** Throws `BrowserUnusable` when a configured browser is missing. */
export async function requireBrowsers(config: Config): Promise<void> {
  for (const choice of browsersOf(config)) await findBrowser(choice);
}
