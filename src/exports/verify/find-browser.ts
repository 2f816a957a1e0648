import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { BrowserUnusable } from './browser-unusable.ts';

/** A Chromium, and whether it may use its own sandbox. */
export interface BrowserChoice {
  /** Its program; null to search this machine for one. */
  program: string | null;
  /** False only where the machine itself isolates the browser, such as in a container. */
  sandbox: boolean;
}

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome', 'microsoft-edge'];
const onMacos = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
];

/** The program to start. Throws `BrowserUnusable`. */
export async function findBrowser(
  { program, sandbox }: BrowserChoice,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  if (sandbox && process.getuid?.() === 0) {
    throw new BrowserUnusable(
      'Chromium does not use its sandbox as root',
      'run docferry as another user, or do without: `bundle.render.sandbox: false`, `--no-browser-sandbox`',
    );
  }
  if (program !== null) {
    if (await isProgram(program)) return program;
    throw new BrowserUnusable(`there is no browser ${program}`, 'name the program of Chromium, Chrome or Edge');
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...onMacos];
  for (const place of places) if (await isProgram(place)) return place;
  throw new BrowserUnusable(
    'there is no Chromium to render pages with',
    'install one (apt-get install chromium), or name it: `bundle.render.browser`, `--browser FILE`',
  );
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
