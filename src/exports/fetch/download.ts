import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ByteSpan, errorCode, pathProblem, ReadBuffers } from '../../files.ts';
import { sizeText, spanText } from '../../rules/text.ts';
import {
  answerOf,
  discardBody,
  headersOf,
  judgeAnswer,
  type LinkDispatchers,
  linkDispatchers,
  type ObjectResponse,
  type RangeRequest,
  requestObject,
  spanOf,
  type Verdict,
} from './object-request.ts';
import { ByteSpans, type ObjectIdentity, PartialFile, type RangeWriter } from './partial-file.ts';
import {
  ArchiveTooLarge,
  DownloadFailed,
  type LinkPolicy,
  LinkRefused,
  type LinkSource,
  NoRoom,
  PresignedLinks,
} from './presigned-links.ts';

/** A transfer stopped; the bytes on disk remain valid. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly retry: 'now' | 'later' | 'never';
  readonly retryAfterMs: number | null;

  constructor(why: string, retry: 'now' | 'later' | 'never', retryAfterMs: number | null = null) {
    super(why);
    this.retry = retry;
    this.retryAfterMs = retryAfterMs;
  }
}

const neverBetter = /^(ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

/** Only the code of a network error is kept: its message and fields may contain addresses and headers. */
function interruption(error: unknown): Interrupted {
  const code = errorCode(error) ?? 'unknown';
  const what = code === 'UND_ERR_SOCKET' ? 'the connection was cut' : `the connection failed (${code})`;
  return new Interrupted(what, neverBetter.test(code) ? 'never' : 'now');
}

interface BodyReceiver {
  buffers: ReadBuffers;
  /** Called before each chunk is taken; what it throws ends the transfer. */
  onChunk: (bytes: number) => void;
  onWritten: () => void;
}

/**
 * Writes a body to the disk, pausing its source while the disk is slower. Once it settles, every byte received is on
 * disk, even when the body broke off. Throws `Interrupted`, the disk's error, or that of `onChunk`.
 */
async function receiveBody(
  body: Readable,
  writer: RangeWriter,
  { buffers, onChunk, onWritten }: BodyReceiver,
): Promise<void> {
  const mostPending = 2 * buffers.bytes;
  try {
    await new Promise<void>((resolve, reject) => {
      // An iterator would join chunks, and so copy them.
      body.on('data', (chunk: Buffer) => {
        try {
          onChunk(chunk.length);
        } catch (error) {
          return reject(error);
        }
        writer.write(chunk, () => {
          buffers.release(chunk);
          onWritten();
          if (writer.pending < mostPending) body.resume();
        });
        if (writer.pending < mostPending) return;
        body.pause();
        writer.settled().catch(reject);
      });
      body.on('end', resolve).on('error', (error) => reject(interruption(error)));
      // It may have broken off before these listeners were added.
      body.on('close', () => reject(interruption(body.errored)));
      if (body.closed) reject(interruption(body.errored));
    });
  } finally {
    body.destroy();
    await writer.settled();
  }
}

const defaultIdleTimeoutMs = 30_000;
const defaultRetryDelayMs = 200;
const maxRetryDelayMs = 5_000;
/** A source that asks for a longer pause ends the download; the caller waits. */
const longestPauseMs = 30_000;
/** Failures in a row without a new byte, for each connection. */
const maxFruitless = 5;
/** Failures altogether, for sources that send a byte at a time; one more for each megabyte received. */
const maxFailures = 100;
/** How often bytes on disk may be given up. */
const maxStartOvers = 5;
/** Length of the first range when several connections download: worth a request for any length of the object. */
const openingBytes = 8 * 1024 ** 2;
/** Ranges become smaller towards the end, so that the connections finish together. */
const smallestRangeBytes = 2 * 1024 ** 2;
const largestRangeBytes = 64 * 1024 ** 2;
const megabyte = 1e6;

interface TransferSettings {
  policy: LinkPolicy;
  maxBytes: number;
  /** Longest silence of the source in milliseconds; 30 s by default. */
  idleTimeoutMs?: number;
  /** First wait after a failure in milliseconds, doubled each time up to 5 s; 200 by default. */
  retryDelayMs?: number;
  /** Called for every chunk and when work begins. */
  onProgress?: (progress: DownloadProgress) => void;
}

export interface DownloadProgress {
  offset: number;
  /** Null when neither the source nor the service says. */
  total: number | null;
}

interface TransferContext extends TransferSettings {
  connections: number;
  signal: AbortSignal;
  buffers: ReadBuffers;
  dispatchers: LinkDispatchers;
  file: PartialFile;
  links: PresignedLinks;
  /** Throws `NoRoom` unless what is left fits on the disk. */
  requireRoom: () => Promise<void>;
}

/** The bytes on disk are not, or not provably, those of the object that the store has now. */
class ObjectChanged extends Error {}

/** Downloads one object to the disk over as many connections as are allowed and useful, until it is complete. */
class ObjectTransfer {
  readonly #context: TransferContext;
  readonly #file: PartialFile;
  readonly #claimed = new ByteSpans();
  readonly resumedFrom: number[] = [];
  #total: number | null;
  /** The source sends no ranges, or none that provably belong together. */
  #wholeOnly = false;
  /** This call learned the object's identity; it was not found on disk. */
  #opened = false;
  /** A body without a proof of its object ended as it should. */
  #complete = false;
  #received = 0;
  #receivedAtFailure = 0;
  #failures = 0;
  #fruitless = 0;
  #startOvers = 0;

  constructor(context: TransferContext) {
    this.#context = context;
    this.#file = context.file;
    this.#total = context.file.identity?.total ?? null;
  }

  get bytesLeft(): number {
    return Math.max(0, (this.#total ?? this.#context.links.sizeBytes ?? 0) - this.#file.bytes);
  }

  async run(): Promise<void> {
    for (;;) {
      try {
        return await this.#runLanes();
      } catch (error) {
        if (!(error instanceof ObjectChanged)) throw error;
        this.#countStartOver();
        await this.#file.startOver(null);
        await this.#pause(new Interrupted(error.message, 'now'), this.#context.signal);
      }
    }
  }

  get #singleConnection(): boolean {
    return this.#context.connections === 1 || this.#wholeOnly;
  }

  async #runLanes(): Promise<void> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#context.signal, stop.signal]);
    const lanes: Promise<void>[] = [];
    const failures: unknown[] = [];
    const openLanes = () => {
      const wanted = this.#file.identity && !this.#singleConnection ? this.#context.connections : 1;
      while (lanes.length < wanted) {
        lanes.push(
          this.#runLane(signal, openLanes).catch((error: unknown) => {
            failures.push(error);
            stop.abort();
          }),
        );
      }
    };
    openLanes();
    // Lanes are added while the first one runs.
    for (const lane of lanes) await lane;
    this.#context.signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
  }

  async #runLane(signal: AbortSignal, openLanes: () => void): Promise<void> {
    for (let asked = this.#next(); asked !== null; asked = this.#next()) {
      const claim = spanOf(asked);
      this.#claimed.add(claim);
      try {
        await this.#fetch(asked, claim, signal, openLanes);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Interrupted)) throw error;
        await this.#pause(error, signal);
      } finally {
        this.#claimed.remove(claim);
      }
    }
  }

  /** What to ask for next; null when every byte is on disk or another lane's task. */
  #next(): RangeRequest | null {
    if (this.#complete) return null;
    const { identity } = this.#file;
    if (!identity) return this.#singleConnection ? { kind: 'whole' } : { kind: 'opening', end: openingBytes };
    const open = new ByteSpans();
    for (const gap of this.#file.gaps()) open.add(gap);
    for (const claim of this.#claimed.spans) open.remove(claim);
    const [gap] = open.spans;
    if (!gap) return null;
    const share = Math.ceil(open.count / (2 * this.#context.connections));
    const size = this.#singleConnection
      ? identity.total
      : Math.min(largestRangeBytes, Math.max(smallestRangeBytes, share));
    return { kind: 'range', start: gap.start, end: Math.min(gap.end, gap.start + size), identity };
  }

  async #fetch(asked: RangeRequest, claim: ByteSpan, signal: AbortSignal, openLanes: () => void): Promise<void> {
    const { links } = this.#context;
    const href = await links.take();
    const response = await this.#ask(href, headersOf(asked), signal);
    const answer = answerOf(response);
    links.observe(answer.date);
    const verdict = judgeAnswer(answer, asked);
    if (verdict.kind === 'continue' && asked.kind === 'range') {
      await this.#resumeRange(asked.identity);
      return this.#receive(response, asked.start, asked.end);
    }
    if (verdict.kind === 'opened') {
      await this.#startFile(response, verdict.identity.total, verdict.identity);
      openLanes();
      return this.#receive(response, 0, verdict.end);
    }
    if (verdict.kind === 'from-start' && this.#claimed.count === claim.end - claim.start)
      return this.#receiveWhole(response, asked, verdict);
    await discardBody(response);
    if (verdict.kind === 'expired') return links.refuse(href, response.statusCode);
    if (verdict.kind === 'failed') throw new Interrupted(verdict.why, verdict.retry, verdict.retryAfterMs);
    this.#wholeOnly ||= verdict.kind !== 'start-over';
    // The lane asks for the whole object at once.
    if (verdict.kind === 'no-ranges') return;
    throw new ObjectChanged(verdict.kind === 'start-over' ? verdict.why : 'the source no longer sends ranges');
  }

  async #ask(href: string, headers: Record<string, string>, signal: AbortSignal): Promise<ObjectResponse> {
    const { policy, dispatchers, idleTimeoutMs = defaultIdleTimeoutMs } = this.#context;
    try {
      return await requestObject(href, headers, { policy, dispatchers, idleTimeoutMs, signal });
    } catch (error) {
      throw error instanceof LinkRefused || error instanceof DownloadFailed ? error : interruption(error);
    }
  }

  async #resumeRange({ total }: ObjectIdentity): Promise<void> {
    if (total > this.#context.maxBytes) throw this.#tooLarge();
    this.#total = total;
    if (this.#singleConnection || (!this.#opened && this.resumedFrom.length === 0))
      this.resumedFrom.push(this.#file.bytes);
    await this.#context.requireRoom();
    this.#report();
  }

  async #startFile(response: ObjectResponse, total: number | null, identity: ObjectIdentity | null): Promise<void> {
    try {
      if (total !== null && total > this.#context.maxBytes) throw this.#tooLarge();
      if (this.#file.bytes > 0) this.#countStartOver();
      await this.#file.startOver(identity);
      this.#total = total;
      this.#opened = true;
      await this.#context.requireRoom();
    } catch (error) {
      response.body.destroy();
      throw error;
    }
    this.#report();
  }

  async #receiveWhole(
    response: ObjectResponse,
    asked: RangeRequest,
    { total, etag }: Verdict & { kind: 'from-start' },
  ): Promise<void> {
    this.#wholeOnly ||= asked.kind !== 'whole';
    const identity = etag !== null && total !== null && total > 0 ? { etag, total } : null;
    await this.#startFile(response, total, identity);
    await this.#receive(response, 0, total);
    this.#complete = true;
  }

  async #receive({ body }: ObjectResponse, start: number, end: number | null): Promise<void> {
    const { buffers, links, maxBytes } = this.#context;
    const writer = this.#file.writerFrom(start);
    const onChunk = (bytes: number) => {
      if (writer.position + bytes > maxBytes) throw this.#tooLarge();
      if (end !== null && writer.position + bytes > end)
        throw new Interrupted('the source sent more than it announced', 'now');
      this.#received += bytes;
      links.served();
    };
    await receiveBody(body, writer, { buffers, onChunk, onWritten: () => this.#report() });
    if (end !== null && writer.position !== end) throw new Interrupted('the body was cut short', 'now');
  }

  #countStartOver(): void {
    this.#startOvers += 1;
    if (this.#startOvers > maxStartOvers) {
      throw new DownloadFailed('the download had to start over too often: the source cannot resume it', true);
    }
  }

  async #pause(error: Interrupted, signal: AbortSignal): Promise<void> {
    const { connections, retryDelayMs = defaultRetryDelayMs } = this.#context;
    const lanes = this.#singleConnection ? 1 : connections;
    this.#failures += 1;
    this.#fruitless = this.#received > this.#receivedAtFailure ? 1 : this.#fruitless + 1;
    this.#receivedAtFailure = this.#received;
    const spent = this.#fruitless >= maxFruitless * lanes || this.#failures >= maxFailures + this.#received / megabyte;
    const wait = error.retryAfterMs ?? 0;
    if (error.retry !== 'now' || spent || wait > longestPauseMs) {
      throw new DownloadFailed(`the download failed: ${error.message}`, error.retry !== 'never', error.retryAfterMs);
    }
    const delay = Math.min(retryDelayMs * 2 ** Math.floor((this.#fruitless - 1) / lanes), maxRetryDelayMs);
    await sleep(Math.max(delay, wait), undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  #report(): void {
    const total = this.#total ?? this.#context.links.sizeBytes;
    this.#context.onProgress?.({ offset: this.#file.bytes, total });
  }

  #tooLarge(): ArchiveTooLarge {
    return new ArchiveTooLarge(`the archive is larger than ${this.#context.maxBytes} bytes`);
  }
}

/** Left free for everything else on the disk. */
const spareBytes = 64 * 1024 ** 2;

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Throws `NoRoom` unless so much fits on the disk with some to spare; does nothing when that is unknown. */
export async function requireRoom(folder: string, bytes: number, free = freeBytes): Promise<void> {
  const available = await free(folder).catch(() => Number.POSITIVE_INFINITY);
  if (available >= bytes + spareBytes) return;
  throw new NoRoom(
    `${sizeText(bytes + spareBytes)} are needed in ${folder} and ${sizeText(available)} are free: make room, ` +
      'or put the bundle store (store.bundles) on a larger disk',
  );
}

/** `NoRoom` for the error of a full disk, else the error. */
export function noRoomIfFull(error: unknown, folder: string): unknown {
  return pathProblem(error)?.isFull ? new NoRoom(`the disk of ${folder} is full: make room`) : error;
}

const underWay = new Set<DownloadRoom>();

/** The room that a download needs beside those of this process that began before it and write to the same device. */
export class DownloadRoom {
  readonly #folder: string;
  readonly #free: typeof freeBytes;
  readonly #device: number;
  readonly #bytesLeft: () => number;

  private constructor(folder: string, free: typeof freeBytes, device: number, bytesLeft: () => number) {
    this.#folder = folder;
    this.#free = free;
    this.#device = device;
    this.#bytesLeft = bytesLeft;
    underWay.add(this);
  }

  /** Counts `bytesLeft` against the room of later downloads, until `end`. Throws system errors. */
  static async begin(folder: string, free: typeof freeBytes, bytesLeft: () => number): Promise<DownloadRoom> {
    return new DownloadRoom(folder, free, (await stat(folder)).dev, bytesLeft);
  }

  /** Throws `NoRoom` unless the rest of this download fits beside the earlier ones. */
  async requireBesideOthers(): Promise<void> {
    const all = [...underWay].filter((other) => other.#device === this.#device);
    const earlier = all.slice(0, all.indexOf(this));
    const bytes = earlier.reduce((sum, other) => sum + other.#bytesLeft(), this.#bytesLeft());
    await requireRoom(this.#folder, bytes, this.#free);
  }

  async requireForOwn(): Promise<void> {
    await requireRoom(this.#folder, this.#bytesLeft(), this.#free);
  }

  end(): void {
    underWay.delete(this);
  }
}

const lookAtDiskEveryMs = 2_000;

export interface DownloadOptions extends TransferSettings {
  /** Where the archive goes; `<file>.resume` beside it proves what is on disk. */
  file: string;
  /** Connections at once where the source supports ranges; 1 by default. */
  connections?: number;
  timeLimitMs?: number;
  signal?: AbortSignal;
  /** Free bytes of a folder's disk; those the system reports by default. */
  freeBytes?: typeof freeBytes;
}

export interface DownloadResult {
  sha256: string;
  bytes: number;
  /** Bytes on disk each time the download resumed instead of starting over, in order. */
  resumedFrom: number[];
  /** Length that the service announced with its newest link, null when it did not; the object's own length counts. */
  announcedBytes: number | null;
}

/**
 * Downloads an object by presigned links to a file (E3). It resumes after cuts, expired links and earlier calls with the
 * same file when the object is provably unchanged: strong ETag, `If-Match`, and range, length and ETag of every 206
 * checked. Sends no credentials. Throws `LinkExpired`, `LinkRefused`, `DownloadFailed`, `ArchiveTooLarge`, `NoRoom`,
 * system errors of the disk, what `source` throws, and the signal's reason; only the last two can contain a link.
 */
export async function download(source: LinkSource, options: DownloadOptions): Promise<DownloadResult> {
  options.signal?.throwIfAborted();
  const folder = dirname(options.file);
  const free = options.freeBytes ?? freeBytes;
  const limits = new AbortController();
  const signal = AbortSignal.any(options.signal ? [options.signal, limits.signal] : [limits.signal]);
  const { connections = 1, timeLimitMs } = options;
  const buffers = new ReadBuffers(connections);
  const dispatchers = linkDispatchers(options.policy, buffers);
  const timers: NodeJS.Timeout[] = [];
  const ended: (() => void)[] = [];
  try {
    const file = await PartialFile.open(options.file, signal);
    try {
      const links = new PresignedLinks(source);
      const transfer: ObjectTransfer = new ObjectTransfer({
        ...options,
        connections,
        signal,
        buffers,
        dispatchers,
        file,
        links,
        requireRoom: () => room.requireBesideOthers(),
      });
      const room = await DownloadRoom.begin(folder, free, () => transfer.bytesLeft);
      ended.push(() => room.end());
      const lookAtDisk = () => room.requireForOwn().catch((noRoom) => limits.abort(noRoom));
      timers.push(setInterval(lookAtDisk, lookAtDiskEveryMs));
      if (timeLimitMs !== undefined) {
        const tooLong = new DownloadFailed(`the download took longer than ${spanText(timeLimitMs)}`, false);
        timers.push(setTimeout(() => limits.abort(tooLong), timeLimitMs));
      }
      await transfer.run();
      const sha256 = await file.finish();
      const { resumedFrom } = transfer;
      return { sha256, bytes: file.bytes, resumedFrom, announcedBytes: links.sizeBytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw noRoomIfFull(error, folder);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const end of ended) end();
    await dispatchers.destroy();
  }
}

const measuredMs = 10_000;
const shortestMs = 500;

/** Bytes per second over the last ten seconds of a download. */
export class TransferSpeed {
  #samples: { at: number; offset: number }[] = [];

  /** Notes the bytes on disk at a moment in milliseconds. Fewer than before means that the download started over. */
  add(at: number, offset: number): void {
    const last = this.#samples.at(-1);
    if (last && offset < last.offset) this.#samples = [];
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= measuredMs), { at, offset }];
  }

  /** Null until enough bytes have arrived to estimate it. */
  get bytesPerSecond(): number | null {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.at - first.at < shortestMs) return null;
    return ((last.offset - first.offset) * 1000) / (last.at - first.at);
  }
}
