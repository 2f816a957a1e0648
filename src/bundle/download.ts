import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { ArchiveTooLarge, DownloadFailed, LinkExpired } from './download-errors.ts';
import { type LinkPolicy, LinkRefused } from './link-policy.ts';
import { judgeAnswer, type Verdict } from './object-answer.ts';
import { drop, headerOf, linkDispatcher, type ObjectResponse, requestObject } from './object-request.ts';
import { PartialFile } from './partial-file.ts';

const DEFAULT_IDLE_TIMEOUT_MS = 30_000;
const DEFAULT_RETRY_DELAY_MS = 200;
const MAX_RETRY_DELAY_MS = 5_000;
/** Failures in a row without a single new byte. */
const MAX_FRUITLESS = 5;
/** Failures in all, for sources that give a byte at a time. */
const MAX_FAILURES = 100;
/** Times that bytes on disk had to be given up. */
const MAX_START_OVERS = 5;
const NEVER_BETTER = /^(ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

export interface DownloadOptions {
  /** Where the archive goes; the resume point is kept beside it as `<file>.resume.json`. */
  file: string;
  policy: LinkPolicy;
  /** Most bytes of the archive. */
  maxBytes: number;
  /** Longest silence of the source in milliseconds; 30 s by default. */
  idleTimeoutMs?: number;
  /** First wait after a failure in milliseconds, doubled each time up to 5 s; 200 by default. */
  retryDelayMs?: number;
  signal?: AbortSignal;
  /** Called for every chunk and when work begins. */
  onProgress?: (progress: DownloadProgress) => void;
}

export interface DownloadProgress {
  /** Bytes on disk. */
  offset: number;
  /** Null when the source does not say. */
  total: number | null;
  /** Null when it is no proof. */
  etag: string | null;
}

export interface DownloadResult {
  /** Lowercase hex SHA-256 of the archive. */
  sha256: string;
  bytes: number;
  etag: string | null;
  /** Offsets at which the download went on instead of starting over, in order. */
  resumedFrom: number[];
}

/**
 * Downloads a presigned link to a file (DESIGN E3), going on after cuts, and after earlier calls with the same file,
 * when the object is provably unchanged: strong ETag, `If-Match`, and range, length and ETag of every 206 checked.
 * Sends no credentials. Throws `LinkExpired` (ask for a new link and call again with the same file), `LinkRefused`,
 * `DownloadFailed`, `ArchiveTooLarge`, system errors of the disk, and the signal's reason; none holds the link.
 */
export async function download(link: string, options: DownloadOptions): Promise<DownloadResult> {
  options.signal?.throwIfAborted();
  const dispatcher = linkDispatcher(options.policy);
  try {
    const file = await PartialFile.open(options.file, options.signal);
    try {
      return await new Download(link, options, dispatcher, file).run();
    } finally {
      await file.close();
    }
  } finally {
    await dispatcher.destroy();
  }
}

/** The transfer stopped; what is on disk stands. */
class Interrupted extends Error {
  readonly retry: 'now' | 'later' | 'never';

  constructor(why: string, retry: 'now' | 'later' | 'never') {
    super(why);
    this.retry = retry;
  }
}

class Download {
  readonly #link: string;
  readonly #options: DownloadOptions;
  readonly #dispatcher: Dispatcher;
  readonly #file: PartialFile;
  readonly #resumedFrom: number[] = [];
  #total: number | null = null;
  #etag: string | null = null;
  #failures = 0;
  #fruitless = 0;
  #startOvers = 0;

  constructor(link: string, options: DownloadOptions, dispatcher: Dispatcher, file: PartialFile) {
    this.#link = link;
    this.#options = options;
    this.#dispatcher = dispatcher;
    this.#file = file;
  }

  async run(): Promise<DownloadResult> {
    for (;;) {
      const before = this.#file.offset;
      try {
        await this.#transfer();
        return {
          sha256: await this.#file.finish(),
          bytes: this.#file.offset,
          etag: this.#etag,
          resumedFrom: this.#resumedFrom,
        };
      } catch (error) {
        this.#options.signal?.throwIfAborted();
        if (!(error instanceof Interrupted)) throw error;
        await this.#pause(error, this.#file.offset > before);
      }
    }
  }

  async #transfer(): Promise<void> {
    const { resume, offset } = this.#file;
    const asked = resume && { offset, resume };
    const response = await this.#ask(asked ? { range: `bytes=${offset}-`, 'if-match': asked.resume.etag } : {});
    const verdict = judgeAnswer(
      {
        status: response.statusCode,
        etag: headerOf(response, 'etag'),
        contentLength: headerOf(response, 'content-length'),
        contentRange: headerOf(response, 'content-range'),
        contentEncoding: headerOf(response, 'content-encoding'),
      },
      asked,
    );
    if (verdict.kind === 'from-start') await this.#begin(verdict);
    else if (verdict.kind === 'continue' && asked) this.#goOn(asked);
    else await this.#refuse(response, verdict);
    await this.#receive(response);
  }

  async #ask(headers: Record<string, string>): Promise<ObjectResponse> {
    const { policy, signal, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = this.#options;
    try {
      return await requestObject(this.#link, headers, { policy, dispatcher: this.#dispatcher, idleTimeoutMs, signal });
    } catch (error) {
      throw error instanceof LinkRefused || error instanceof DownloadFailed ? error : interruption(error);
    }
  }

  async #begin({ total, etag }: { total: number | null; etag: string | null }): Promise<void> {
    if (total !== null && total > this.#options.maxBytes) throw this.#tooLarge();
    if (this.#file.offset > 0) this.#countStartOver();
    this.#total = total;
    this.#etag = etag;
    await this.#file.startOver(etag !== null && total !== null && total > 0 ? { etag, total } : null);
    this.#report();
  }

  #goOn({ offset, resume }: { offset: number; resume: { etag: string; total: number } }): void {
    if (resume.total > this.#options.maxBytes) throw this.#tooLarge();
    this.#total = resume.total;
    this.#etag = resume.etag;
    this.#resumedFrom.push(offset);
    this.#report();
  }

  async #refuse(response: ObjectResponse, verdict: Verdict): Promise<never> {
    await drop(response);
    if (verdict.kind === 'expired') throw new LinkExpired(`the link is no longer taken (HTTP ${response.statusCode})`);
    if (verdict.kind === 'failed') throw new Interrupted(verdict.why, verdict.retry);
    this.#countStartOver();
    await this.#file.startOver(null);
    throw new Interrupted(verdict.kind === 'start-over' ? verdict.why : 'an answer out of place', 'now');
  }

  async #receive(response: ObjectResponse): Promise<void> {
    const chunks = response.body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => Promise.reject(interruption(error)));
        if (next.done) break;
        const chunk: Uint8Array = next.value;
        if (this.#file.offset + chunk.length > this.#options.maxBytes) throw this.#tooLarge();
        await this.#file.append(chunk);
        this.#report();
      }
    } finally {
      response.body.on('error', () => undefined).destroy();
    }
    await this.#file.flush();
    if (this.#total !== null && this.#file.offset !== this.#total) throw new Interrupted('the body was cut', 'now');
  }

  #countStartOver(): void {
    this.#startOvers += 1;
    if (this.#startOvers > MAX_START_OVERS) {
      throw new DownloadFailed('the download had to start over too often: the source cannot resume it', true);
    }
  }

  async #pause(error: Interrupted, progressed: boolean): Promise<void> {
    this.#failures += 1;
    this.#fruitless = progressed ? 1 : this.#fruitless + 1;
    const spent = this.#fruitless >= MAX_FRUITLESS || this.#failures >= MAX_FAILURES;
    if (error.retry !== 'now' || spent) {
      throw new DownloadFailed(`the download failed: ${error.message}`, error.retry !== 'never');
    }
    const first = this.#options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS;
    const delay = Math.min(first * 2 ** (this.#fruitless - 1), MAX_RETRY_DELAY_MS);
    const { signal } = this.#options;
    await sleep(delay, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }

  #report(): void {
    this.#options.onProgress?.({ offset: this.#file.offset, total: this.#total, etag: this.#etag });
  }

  #tooLarge(): ArchiveTooLarge {
    return new ArchiveTooLarge(`the archive is larger than ${this.#options.maxBytes} bytes`);
  }
}

/** Only the code of a network error is kept: its message and fields may hold addresses and headers. */
function interruption(error: unknown): Interrupted {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
  return new Interrupted(`the connection failed (${code})`, NEVER_BETTER.test(code) ? 'never' : 'now');
}
