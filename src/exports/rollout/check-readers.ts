import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckConfig } from '../../config/config.ts';
import { errorCode } from '../../files.ts';
import { Agent, type Dispatcher, ProxyAgent, request } from '../../http-client.ts';
import { ProxyFailed, proxyFor } from '../../rules/proxy.ts';
import { spanText, withoutEnd } from '../../rules/text.ts';
import { changedPages, compareManifests } from '../store/compare-manifests.ts';
import { pageText, readFiles } from '../verify/compare-pages.ts';
import { isPage } from '../verify/site-links.ts';
import { type RolloutRequest, type Step, VersionRefused } from './rollout-target.ts';

const indexPage = 'index.html';
/** Pages besides the index page that each round fetches. */
const sampled = 4;
/** So many rounds in a row must show the version. */
const goodRounds = 3;
/** Rounds are so far apart at most: several machines may answer by turns. */
const betweenRoundsMs = 5_000;
const answerWithinMs = 15_000;
const mostRedirects = 5;
/** Of longer pages only the status counts: they would have to fit in memory. */
const longestCompared = 32 * 1024 ** 2;
/** A page may grow by what a proxy adds to it. */
const addedBytes = 1024 ** 2;

interface Finding {
  path: string;
  problem: string;
}

/** Fetches pages as readers do until three rounds in a row show the version. */
export class ReadersCheck implements Step {
  readonly #config: CheckConfig;

  constructor(config: CheckConfig) {
    this.#config = config;
  }

  /** Throws `VersionRefused` once `within` has passed, the signal's reason, and what `guard` throws. */
  async take(request: RolloutRequest): Promise<string> {
    const { withinMs, url } = this.#config;
    const pages = await this.#pagesFor(request);
    const until = performance.now() + withinMs - (request.elapsedMs ?? 0);
    const dispatchers = new Dispatchers();
    try {
      let good = 0;
      for (;;) {
        const found = await this.#round(pages, dispatchers, request);
        good = found === null ? good + 1 : 0;
        if (good === goodRounds) {
          const [first, ...others] = pages.map(({ path }) => (path === indexPage ? 'the index page' : path));
          return `${others.length === 0 ? first : `${pages.length} pages`} at ${url}`;
        }
        // However late the first round was, a version that readers get is not refused.
        if (found !== null && performance.now() >= until) {
          const late = `readers of ${url} do not get the version within ${spanText(withinMs)}`;
          throw new VersionRefused(`${late}: ${found.path}: ${found.problem}`);
        }
        request.onProgress?.();
        await sleep(Math.min(betweenRoundsMs, withinMs / 10), undefined, { signal: request.signal });
        await request.guard();
      }
    } finally {
      await dispatchers.destroy();
    }
  }

  /** The index page, and pages that differ from what readers got before, with their content if it is compared. */
  async #pagesFor({ domain, manifest, previous, withArchive, signal }: RolloutRequest): Promise<ExpectedPage[]> {
    const all = Number.POSITIVE_INFINITY;
    const differing = previous === null ? null : changedPages(compareManifests(previous, manifest), all);
    const pages = differing
      ? [...differing.changed, ...differing.added, ...differing.moved]
      : manifest.files.map(({ path }) => path).filter(isPage);
    // The rules let sites pass that have no index page, or no page at all.
    const { files } = manifest;
    const index = files.some(({ path }) => path === indexPage) ? [indexPage] : [];
    const some = [...index, ...spread(pages.filter((path) => path !== indexPage))];
    const paths = some.length > 0 ? some : files.slice(0, 1).map(({ path }) => path);
    const short = files.filter(({ path, bytes }) => paths.includes(path) && bytes <= longestCompared);
    const compared = this.#config.expect === 'status' ? [] : short.map(({ path }) => path);
    const archive: Parameters<typeof readFiles>[0] = { withArchive: (_domain, _version, read) => withArchive(read) };
    const contents = await readFiles(archive, domain, manifest, compared, { signal });
    const before = new Map(previous?.files.map(({ path, sha256 }) => [path, sha256]));
    return paths.map((path) => {
      const old = before.get(path);
      const content = contents.get(path) ?? null;
      return { path, content, old: old === undefined ? null : { sha256: old, version: previous?.version ?? '' } };
    });
  }

  /** What is wrong with the first page that is not as published; null when all are. */
  async #round(
    pages: readonly ExpectedPage[],
    dispatchers: Dispatchers,
    { signal, onProgress }: Pick<RolloutRequest, 'signal' | 'onProgress'>,
  ): Promise<Finding | null> {
    for (const page of pages) {
      let problem: string | null = null;
      for (const name of namesOf(page.path)) {
        const answer = await this.#fetch(name, page, dispatchers, signal);
        onProgress?.();
        problem = problemOf(page, answer);
        // Only a page that is absent may have another name.
        if (!('status' in answer && [403, 404].includes(answer.status))) break;
      }
      if (problem !== null) return { path: page.path, problem };
    }
    return null;
  }

  async #fetch(name: string, page: ExpectedPage, dispatchers: Dispatchers, signal?: AbortSignal): Promise<Answer> {
    const base = `${withoutEnd(this.#config.url, '/')}/`;
    let url = new URL(name, base);
    const limited = AbortSignal.timeout(answerWithinMs);
    const both = signal ? AbortSignal.any([signal, limited]) : limited;
    const headers = Object.fromEntries(
      Object.entries(this.#config.headers).map(([header, source]) => [header, source.read()]),
    );
    try {
      for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
        const answer = await request(url, {
          dispatcher: dispatchers.for(url),
          signal: both,
          headers: { 'accept-encoding': 'identity', 'user-agent': 'docferry', ...headers },
        });
        const location = answer.headers.location;
        if (answer.statusCode < 300 || answer.statusCode >= 400 || typeof location !== 'string') {
          return {
            status: answer.statusCode,
            body: await limitedBody(answer.body, (page.content?.length ?? 0) + addedBytes),
          };
        }
        await answer.body.dump();
        const next = new URL(location, url);
        // The headers may hold a token, which is for this host alone, and never loses its encryption.
        if (next.origin !== url.origin && !isSecured(url, next)) {
          return { elsewhere: `${next.protocol}//${next.host}` };
        }
        url = next;
      }
      return { silence: `more than ${mostRedirects} redirects` };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ProxyFailed) throw error;
      if (limited.aborted) return { silence: `no answer within ${spanText(answerWithinMs)}` };
      return { silence: `no answer (${networkWord(error)})` };
    }
  }
}

interface ExpectedPage {
  path: string;
  /** Null where only the status counts. */
  content: Buffer | null;
  old: { sha256: string; version: string } | null;
}

type Answer = { status: number; body: Buffer | null } | { elsewhere: string } | { silence: string };

/** A few pages from all over the list: a copy that broke off may have ended anywhere. */
function spread(pages: readonly string[]): string[] {
  if (pages.length <= sampled) return [...pages];
  const step = (pages.length - 1) / (sampled - 1);
  return Array.from({ length: sampled }, (_, index) => pages[Math.round(index * step)] ?? '');
}

/** How readers ask for a page: a folder by its address, other pages as the manifest names them, and without `.html`. */
function namesOf(path: string): string[] {
  const encoded = path.split('/').map(encodeURIComponent).join('/');
  const folder = /^(.*\/)?index\.html?$/.exec(encoded);
  if (folder) return [`./${folder[1] ?? ''}`, `./${encoded}`];
  return [`./${encoded}`, `./${encoded.replace(/\.html?$/, '')}`];
}

function problemOf({ content, old }: ExpectedPage, answer: Answer): string | null {
  if ('silence' in answer) return answer.silence;
  if ('elsewhere' in answer) return `a redirect to ${answer.elsewhere}, as to a sign-in page`;
  const { status, body } = answer;
  if (status === 404 || status === 410) return `a missing file (${status})`;
  if (status === 401) return 'a sign-in page (401)';
  if (status === 403) return 'a sign-in page, or a file that is missing in a bucket (403)';
  if (status !== 200) return `no page, but status ${status}`;
  if (content === null) return null;
  if (body === null) return 'an answer that does not end';
  if (content.equals(body)) return null;
  if (old !== null && hash('sha256', body) === old.sha256) return `the old version ${old.version}`;
  const [expected, found] = [content, body].map((html) => pageText(html.toString('utf8')));
  // A proxy may rewrite markup; an empty text proves nothing.
  if (expected && found && expected.length > 0 && expected.join('\n') === found.join('\n')) return null;
  return /type=["']?password/i.test(body.toString('latin1')) ? 'a sign-in page' : 'another content';
}

async function limitedBody(body: Dispatcher.ResponseData['body'], most: number): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    // Leaving the loop ends the connection.
    if (bytes > most) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Whether a redirect leads from http to https of the same host, as sites do with readers who come without. */
function isSecured(from: URL, to: URL): boolean {
  return from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname;
}

/** What sends the requests to a host: by http and by https, which may have proxies of their own. */
class Dispatchers {
  readonly #made = new Map<string, Agent | ProxyAgent>();

  /** Throws `ProxyFailed`. */
  for(url: URL): Dispatcher {
    const made = this.#made.get(url.protocol) ?? dispatcherFor(url);
    this.#made.set(url.protocol, made);
    return made;
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#made.values()].map((made) => made.destroy()));
  }
}

function dispatcherFor(url: URL): Agent | ProxyAgent {
  const proxy = proxyFor(url, process.env);
  const options = { connect: { timeout: answerWithinMs }, maxHeaderSize: 64 * 1024 };
  return proxy === null ? new Agent(options) : new ProxyAgent({ uri: proxy.href, ...options });
}

/** E.g. `ECONNREFUSED`, `CERT_HAS_EXPIRED`; messages of errors may quote addresses. */
function networkWord(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? errorCode(error.cause) : undefined;
  const code = errorCode(error) ?? cause ?? '';
  if (code === 'UND_ERR_SOCKET') return 'the connection was cut';
  return /^[A-Z0-9_]{3,60}$/.test(code) ? code : 'the connection failed';
}
