import { execFile } from 'node:child_process';
import { appendFile, lstat, mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { GitConfig } from '../../config/config.ts';
import { errorCode, ifMissing } from '../../files.ts';
import { counted } from '../../rules/text.ts';
import type { Observed } from '../rules/rollout-steps.ts';
import { type ContentChanges, changesText } from '../rules/site-export.ts';
import { printablePath } from '../rules/verification-rules.ts';
import { summarizeChanges } from '../store/compare-manifests.ts';
import {
  fileTrouble,
  type Place,
  type RolloutRequest,
  TargetRefused,
  unpackInto,
  withWorkFolder,
} from './rollout-target.ts';

/** So often a place is fetched and edited anew when other commits were quicker. */
const tries = 5;
const commandMs = 10 * 60_000;
const mostOutput = 8 * 1024 ** 2;
/**
 * Git converts nothing, whatever the repository's attributes and the user's settings say: what it commits is what docferry
 * verified. Filters stay, for LFS.
 */
const bytesAsTheyAre = '\n* -text -ident -working-tree-encoding\n';

/** A place in a git repository: another kind of place, in the files of a branch. */
export class GitPlace implements Place {
  readonly #git: GitConfig;
  readonly #path: string;
  readonly #inner: (path: string) => Place;
  #seen: { commit: string; observed: Observed } | null = null;

  /** `path` of the file or folder in the repository; `inner` makes its place in a checkout. */
  constructor(git: GitConfig, path: string, inner: (path: string) => Place) {
    this.#git = git;
    this.#path = path;
    this.#inner = inner;
  }

  /** The branch as the repository has it now; a commit that was seen before is not fetched again. */
  async observe(): Promise<Observed> {
    try {
      const [commit = ''] = (await this.#run(null, ['ls-remote', '--', this.#git.repository, this.#ref])).split('\t');
      if (this.#seen?.commit === commit && commit !== '') return this.#seen.observed;
      return await this.#inCheckout(undefined, async (folder) => {
        const found = await this.#inner(await this.#within(folder)).observe();
        const since = (await this.#run(folder, ['log', '-1', '--format=%cI'])).trim();
        const observed = this.#inWords('since' in found ? { ...found, since } : found, folder);
        this.#seen = { commit, observed };
        return observed;
      });
    } catch (error) {
      return { runs: 'unknown', why: error instanceof Error ? error.message : 'unknown failure' };
    }
  }

  async examine(): Promise<string> {
    const found = await this.observe();
    if (found.runs === 'unknown') throw new TargetRefused(found.why);
    return `${this.#path} of ${this.#git.repository}, branch ${this.#git.branch}, can be read`;
  }

  /** Throws `TargetRefused`, what the inner place throws, the signal's reason, and what `guard` throws. */
  async take(request: RolloutRequest): Promise<string> {
    return this.#inCheckout(request.signal, async (folder) => {
      for (let left = tries; ; left -= 1) {
        const detail = this.#inWords(await this.#edit(folder, request), folder);
        if (detail.commit === null) return detail.text;
        await request.guard();
        if (await this.#push(folder, request.signal)) return `${detail.text}, commit ${detail.commit.slice(0, 12)}`;
        if (left <= 1) {
          throw new TargetRefused(`${this.#name} changed before each of ${tries} pushes`, true);
        }
        request.onProgress?.();
        await this.#run(folder, ['fetch', '--depth=1', '--no-tags', 'origin', this.#ref], request.signal);
        await this.#run(folder, ['reset', '--hard', '--quiet', 'FETCH_HEAD']);
        await this.#run(folder, ['clean', '-ffdx', '--quiet']);
      }
    });
  }

  get #ref(): string {
    return `refs/heads/${this.#git.branch}`;
  }

  get #name(): string {
    return `branch ${this.#git.branch} of ${this.#git.repository}`;
  }

  /** The place's own detail, and the commit; null when nothing has changed. */
  async #edit(folder: string, request: RolloutRequest): Promise<{ text: string; commit: string | null }> {
    const path = await this.#within(folder);
    const text = await this.#inner(path).take(request);
    // Also what the repository ignores: a site would lack files that docferry says are in service.
    await this.#run(folder, ['add', '--all', '--force', '--', this.#path]);
    // Without their names: those of a large site are more than is read of git.
    const compare = ['diff-index', '--cached', '--quiet', 'HEAD', '--', this.#path];
    if ((await this.#run(folder, compare, request.signal, 'changed')) === '') return { text, commit: null };
    // All that was added: of a path alone, git commits no file where a folder was.
    await this.#run(folder, ['commit', '--quiet', '--message', messageOf(request)], request.signal);
    return { text, commit: (await this.#run(folder, ['rev-parse', 'HEAD'])).trim() };
  }

  /** False when other commits were quicker. */
  async #push(folder: string, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#run(folder, ['push', '--porcelain', 'origin', `HEAD:${this.#ref}`], signal);
      return true;
    } catch (error) {
      if (error instanceof TargetRefused && overtaken.test(error.message)) return false;
      throw error;
    }
  }

  /** The path in the checkout. A link in a repository may lead anywhere, so none is followed. */
  async #within(folder: string): Promise<string> {
    if ((await linkAmong(folder, [this.#path])) !== null) {
      throw new TargetRefused(
        `${this.#path} of ${this.#name} is, or lies behind, a symbolic link: name the file itself`,
      );
    }
    return join(folder, this.#path);
  }

  /** Without the path of the checkout, which is gone by then. */
  #inWords<Shown>(shown: Shown, folder: string): Shown {
    const text = JSON.stringify(shown).replaceAll(`${JSON.stringify(`${folder}/`).slice(1, -1)}`, '');
    return JSON.parse(text) as Shown;
  }

  #inCheckout<Result>(signal: AbortSignal | undefined, work: (folder: string) => Promise<Result>): Promise<Result> {
    const { repository, branch } = this.#git;
    return withWorkFolder('git', async (folder) => {
      try {
        const options = ['--quiet', '--depth=1', '--no-tags', '--single-branch', '--no-checkout', `--branch=${branch}`];
        await this.#run(null, ['clone', ...options, '--', repository, folder], signal);
        // Before the checkout: a file that git had converted would be committed as it then is.
        await mkdir(join(folder, '.git/info'), { recursive: true });
        await appendFile(join(folder, '.git/info/attributes'), bytesAsTheyAre);
        await this.#run(folder, ['reset', '--hard', '--quiet'], signal);
        return await work(folder);
      } catch (error) {
        if (!(error instanceof TargetRefused)) throw error;
        throw new TargetRefused(error.message.replaceAll(`${folder}/`, ''), error.mayPass);
      }
    });
  }

  /**
   * Runs git in a folder; answers what it prints, and `ifOne` for exit code 1 where that is an answer too. Throws
   * `TargetRefused` and the signal's reason.
   */
  #run(folder: string | null, args: readonly string[], signal?: AbortSignal, ifOne?: string): Promise<string> {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      // No question is ever asked, and messages are those that are looked for here.
      GIT_TERMINAL_PROMPT: '0',
      SSH_ASKPASS_REQUIRE: 'never',
      GIT_SSH_COMMAND: process.env.GIT_SSH_COMMAND ?? 'ssh -oBatchMode=yes -oConnectTimeout=20',
      GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
      LC_ALL: 'C',
    };
    const options = {
      cwd: folder ?? tmpdir(),
      env,
      timeout: commandMs,
      maxBuffer: mostOutput,
      ...(signal && { signal }),
    };
    return new Promise((resolve, reject) => {
      execFile('git', [...args], options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        if (signal?.aborted) return reject(signal.reason);
        if (ifOne !== undefined && error.code === 1) return resolve(ifOne);
        reject(this.#refused(args[0] ?? '', error, `${stdout}\n${stderr}`));
      });
    });
  }

  #refused(command: string, error: Error, output: string): TargetRefused {
    if (errorCode(error) === 'ENOENT') return new TargetRefused('git is missing: install it where the worker runs');
    const known = troubles.find(({ seen }) => seen.test(output));
    if (known) return new TargetRefused(`${this.#name} ${known.problem}`, known.mayPass ?? false);
    const last = output.trimEnd().split('\n').at(-1) ?? '';
    const shown = last.replace(/\/\/[^\s/@]*@/g, '//…@').replace(/[^\P{C} ]/gu, '');
    return new TargetRefused(`git ${command} of ${this.#name} failed: ${shown.slice(0, 200)}`, true);
  }
}

const overtaken = /got other commits first$/;

/** What git and ssh say, in words for the operator. */
const troubles: readonly { seen: RegExp; problem: string; mayPass?: boolean }[] = [
  {
    seen: /\[rejected\]|\(fetch first\)|non-fast-forward|cannot lock ref|failed to update ref|reference already exists/,
    problem: 'got other commits first',
    mayPass: true,
  },
  {
    seen: /Host key verification failed|REMOTE HOST IDENTIFICATION/,
    problem: 'is on a host whose key is unknown or has changed: add it to known_hosts of the user that runs the worker',
  },
  {
    seen: /Permission denied \(|could not read (Username|Password)|Authentication failed|terminal prompts disabled|error: 40[13]/,
    problem: 'refuses the credentials: give the worker an ssh key or a credential helper of git that may push there',
    mayPass: true,
  },
  { seen: /remote rejected\]/, problem: 'declines the push: see its hooks and protected branches', mayPass: true },
  {
    seen: /Remote branch \S+ not found|couldn't find remote ref/,
    problem: 'does not exist: create it, or correct git.branch',
  },
  {
    seen: /does not appear to be a git repository|Repository not found|repository '[^']*' (does not exist|not found)|not found: did you run/,
    problem: 'does not exist, or these credentials may not see it: correct git.repository',
  },
  {
    seen: /tell me who you are|empty ident name|unable to auto-detect email/,
    problem: 'needs an author: set user.name and user.email in the git settings of the user that runs the worker',
  },
  {
    seen: /gpg failed to sign|Couldn't (find key|load public key)|failed to write commit object/,
    problem: "cannot be committed to: the signing key of git's settings does not work",
  },
  {
    seen: /Could not resolve|Connection (refused|reset|timed out|closed)|Failed to connect|unable to access|Network is unreachable|Operation timed out/,
    problem: 'cannot be reached',
    mayPass: true,
  },
  { seen: /No space left on device/, problem: 'cannot be checked out: the disk is full', mayPass: true },
];

/** Version and counts, for those who read the log of the repository. */
function messageOf({ domain, manifest, previous }: RolloutRequest): string {
  const { version, pages, files } = manifest;
  const changes: ContentChanges | null = previous && summarizeChanges(previous, manifest);
  const what = `${counted(pages, 'page')}, ${counted(files.length, 'file')}`;
  return `${domain}: ${version}\n\n${what}${changes ? `\nAgainst ${previous?.version}: ${changesText(changes)}` : ''}\n`;
}

const marker = '.docferry.json';

/**
 * Git tracks no file called .git, and would take the folder for a repository, whose settings can name programs to run.
 * The marker is docferry's, also in a folder within: another site may lie there.
 */
function requireFreeNames({ files }: RolloutRequest['manifest']): void {
  const inGit = files.find(({ path }) => /(^|\/)\.git(\/|$)/i.test(path));
  if (inGit)
    throw new TargetRefused(`git keeps no file called .git: leave ${printablePath(inGit.path)} out of the site`);
  const marked = files.find(({ path }) => basename(path) === marker);
  if (marked) {
    throw new TargetRefused(
      `the site has a file ${printablePath(marked.path)}, and docferry writes files of that name itself: leave it out of the site`,
    );
  }
}

/** A folder of a repository that holds the files of a site, beside others that stay. */
export class SiteFolder implements Place {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async observe(): Promise<Observed> {
    const { version } = await this.#marked('.');
    if (version === null) return { runs: 'none', why: `there is no ${join(this.#path, marker)}`, since: null };
    return { runs: 'version', version, since: null };
  }

  async examine(): Promise<string> {
    return `${this.#path} can be read`;
  }

  /** Replaces the files of the version before. Throws `TargetRefused`, `UnpackMismatch` and the signal's reason. */
  async take(request: RolloutRequest): Promise<string> {
    try {
      return await this.#replace(request);
    } catch (error) {
      const path = error instanceof Error && 'path' in error ? String(error.path) : this.#path;
      throw fileTrouble(error, path);
    }
  }

  async #replace(request: RolloutRequest): Promise<string> {
    const { domain, manifest, guard } = request;
    requireFreeNames(manifest);
    await this.#requireOwn(['.'], domain);
    const { version, files } = await this.#marked('.');
    if (version === manifest.version) return `${manifest.version} was in service`;
    const paths = [...files, ...manifest.files.map(({ path }) => path)];
    await this.#requireOwn(withFoldersAbove(paths.map(dirname)), domain);
    await guard();
    await this.#remove(files);
    await mkdir(this.#path, { recursive: true });
    await unpackInto(this.#path, request);
    const record = { domain, version: manifest.version, files: manifest.files.map(({ path }) => path) };
    await writeFile(join(this.#path, marker), `${JSON.stringify(record, null, 1)}\n`);
    return `${manifest.version} in service (${manifest.files.length} files), before: ${version ?? 'none'}`;
  }

  /** Removes files, and the folders that they leave empty: the next version may have a file of that name. */
  async #remove(files: readonly string[]): Promise<void> {
    for (const file of files) await rm(join(this.#path, file), { force: true });
    const folders = withFoldersAbove(files.map(dirname).filter((folder) => folder !== '.'));
    // Longest first: a folder before the one that it is in.
    for (const folder of folders.sort((a, b) => b.length - a.length)) {
      await rmdir(join(this.#path, folder)).catch((error: unknown) => {
        if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
      });
    }
  }

  /** Throws `TargetRefused` where one of the folders, or one above it, is a link or another site's. */
  async #requireOwn(folders: readonly string[], domain: string): Promise<void> {
    const link = await linkAmong(
      this.#path,
      folders.map((folder) => join(folder, marker)),
    );
    if (link !== null) throw new TargetRefused(`${link} is a symbolic link: remove it from the repository`);
    for (const folder of folders) {
      const { site } = await this.#marked(folder);
      if (site === null || site === domain) continue;
      throw new TargetRefused(
        `${join(this.#path, folder, marker)} is of the site ${printablePath(site)}: give each site a folder of its own, and remove this one where that site is gone`,
      );
    }
  }

  /** What docferry has put into a folder; nothing when the marker is missing or damaged. Not every marker names a site. */
  async #marked(folder: string): Promise<{ site: string | null; version: string | null; files: string[] }> {
    const text = await readFile(join(this.#path, folder, marker), 'utf8').catch(ifNothing('{}'));
    try {
      const { domain, version, files } = JSON.parse(text) as { domain?: unknown; version?: unknown; files?: unknown };
      const site = typeof domain === 'string' ? domain : null;
      const isPath = (file: unknown): file is string => typeof file === 'string' && !/(^|\/)\.\.?(\/|$)|^\//.test(file);
      if (typeof version === 'string' && Array.isArray(files)) return { site, version, files: files.filter(isPath) };
    } catch {
      // As said above.
    }
    return { site: null, version: null, files: [] };
  }
}

/** The first link below `folder` among the paths and the folders above them, null for none: it may lead out of the checkout. */
async function linkAmong(folder: string, paths: readonly string[]): Promise<string | null> {
  for (const step of withFoldersAbove(paths)) {
    const path = join(folder, step);
    const found = await lstat(path).catch(ifNothing(null));
    if (found?.isSymbolicLink()) return path;
  }
  return null;
}

/** As `ifMissing`, also for what would lie below a file. */
function ifNothing<T>(otherwise: T): (error: unknown) => T {
  return (error) => (errorCode(error) === 'ENOTDIR' ? otherwise : ifMissing(otherwise)(error));
}

/** The paths and the folders above them, each once. */
function withFoldersAbove(paths: readonly string[]): string[] {
  const steps = paths.flatMap((path) => path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/')));
  return [...new Set(steps)];
}
