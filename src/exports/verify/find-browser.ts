import { delimiter, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { isExecutable } from '../../files.ts';
import { ExplainedError } from '../../rules/errors.ts';
import { candidatesOf, contentTypeOf } from './site-links.ts';

/** Pages cannot be rendered on this machine, for a reason that a person can fix. */
export class BrowserUnusable extends ExplainedError {
  override readonly name = 'BrowserUnusable';
  readonly code = 'BrowserUnusable';
  /** True when it may pass without a person, as when memory was short. */
  readonly mayPass: boolean;

  constructor(problem: string, hint: string, mayPass = false) {
    super(problem, hint);
    this.mayPass = mayPass;
  }
}

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
    if (await isExecutable(program)) return program;
    throw new BrowserUnusable(`there is no browser ${program}`, 'name the program of Chromium, Chrome or Edge');
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...onMacos];
  for (const place of places) if (await isExecutable(place)) return place;
  throw new BrowserUnusable(
    'there is no Chromium to render pages with',
    'install one (apt-get install chromium), or name it: `bundle.render.browser`, `--browser FILE`',
  );
}

/** What a web server of the site would answer. */
interface SiteAnswer {
  status: 200 | 404;
  /** Null for an answer without a body. */
  file: string | null;
  type: string;
}

/** The files of an unpacked site as a web server sends them; only listed files are ever named. */
export class SiteFiles {
  readonly #folder: string;
  readonly #paths: ReadonlySet<string>;

  constructor(folder: string, paths: readonly string[]) {
    this.#folder = folder;
    this.#paths = new Set(paths);
  }

  /** @param pathname of a URL, still encoded */
  answer(pathname: string): SiteAnswer {
    const path = decoded(pathname)?.replace(/^\//, '');
    const found = path === undefined ? undefined : candidatesOf(path).find((candidate) => this.#paths.has(candidate));
    if (found !== undefined) return { status: 200, file: join(this.#folder, found), type: contentTypeOf(found) };
    const page = this.#paths.has('404.html') ? join(this.#folder, '404.html') : null;
    return { status: 404, file: page, type: contentTypeOf('404.html') };
  }
}

/** The address of a file of the site. */
export function addressOf(origin: string, path: string): string {
  return `${origin}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

function decoded(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}

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
