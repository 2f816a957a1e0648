import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { FeedbackEntry, RejectedEntry } from '../feedback/rules/feedback-entry.ts';
import { isoInstant, visibleText } from '../rules/text.ts';
import type { BundleLink, ExportJob, FeedbackPage, FeedbackQuery, RequestOptions } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';
import {
  arrayElementTexts,
  describeIssue,
  errorWords,
  ifReadable,
  orNull,
  parseExactly,
  parseJson,
  text,
} from './json-answers.ts';
import type { OpenAnswer, OutgoingRequest } from './outgoing-call.ts';
import { type AreaOptions, defaultTimeouts, openArea, safeText } from './service-area.ts';

const jobFields = {
  /** "Types and units: not shown." */
  progress: z.unknown().optional(),
  pageCount: z.unknown().optional(),
  error: ifReadable(errorWords),
};

/** A number counts as its decimal text, unless a double may have changed it. */
const jobIdSchema = z.preprocess((id) => (Number.isSafeInteger(id) ? String(id) : id), text.min(1));

const startedJobSchema = z.looseObject({ jobId: jobIdSchema, status: ifReadable(text), ...jobFields });

/** Answer of "Get static export job status": only `status` is promised. */
const jobStatusSchema = z.looseObject({ status: text, ...jobFields });

const bundleResponseSchema = z.looseObject({
  bundleUrl: text.min(1),
  sizeBytes: ifReadable(z.int().nonnegative()),
  expiresAt: ifReadable(text),
});

const percentKeys = ['percent', 'percentage', 'pct', 'percentComplete'];
const fractionKeys = ['fraction', 'ratio'];
const doneKeys = ['done', 'current', 'completed', 'processed', 'finished', 'count'];
const totalKeys = ['total', 'of', 'max'];

const plainText = /^\d+(?:\.\d+)?$/;
const percentText = /^(\d+(?:\.\d+)?) *%$/;
const ratioText = /^(\d+(?:\.\d+)?) *(?:\/|of) *(\d+(?:\.\d+)?)$/;

/**
 * Progress of a job, 0 to 100, from any readable shape of `progress`; null otherwise. Never throws. The interface leaves
 * type and unit open; a live deployment sends a percentage (service-interface.md).
 *
 * A bare number between 0 and 1 counts as a fraction, and a bare 1 as unknown, since it may mean 1 % or all: reading too
 * little would make the next poll hours late, reading too much costs one poll.
 */
export function readProgress(progress: unknown): number | null {
  if (typeof progress === 'number') return fromBareNumber(progress);
  if (typeof progress === 'string') return fromText(progress.trim());
  if (!isRecord(progress)) return null;
  const percent = firstNumber(progress, percentKeys);
  if (percent !== null) return within(percent);
  const fraction = firstNumber(progress, fractionKeys);
  if (fraction !== null) return within(fraction * 100);
  return fromRatio(firstNumber(progress, doneKeys), firstNumber(progress, totalKeys));
}

/** Pages exported so far, a whole number from 0; null when absent or unreadable. Never throws. */
export function readPageCount(pageCount: unknown): number | null {
  const count = isRecord(pageCount) ? firstNumber(pageCount, doneKeys) : toNumber(pageCount);
  return count !== null && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function fromBareNumber(value: number): number | null {
  if (value === 1) return null;
  return within(value > 0 && value < 1 ? value * 100 : value);
}

function fromText(text: string): number | null {
  const percent = percentText.exec(text)?.[1];
  if (percent !== undefined) return within(Number(percent));
  const [, done, total] = ratioText.exec(text) ?? [];
  if (done !== undefined && total !== undefined) return fromRatio(Number(done), Number(total));
  return plainText.test(text) ? fromBareNumber(Number(text)) : null;
}

function fromRatio(done: number | null, total: number | null): number | null {
  if (done === null || total === null || total <= 0) return null;
  return within((done / total) * 100);
}

function within(percent: number): number | null {
  // `|| 0` turns -0 into 0.
  return percent >= 0 && percent <= 100 ? percent || 0 : null;
}

function firstNumber(record: Record<string, unknown>, keys: readonly string[]): number | null {
  for (const key of keys) {
    const value = toNumber(record[key]);
    if (value !== null) return value;
  }
  return null;
}

function toNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string') return null;
  const text = value.trim();
  const number = percentText.exec(text)?.[1] ?? text;
  return plainText.test(number) ? Number(number) : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const maxErrorLength = 500;
/** Both enter histories with every poll. */
const maxIdLength = 200;
const maxStatusLength = 100;

/** Reads the answer of "Start static export job"; without a status the job counts as `queued`. */
export function readStartedJob(text: string, secrets: readonly string[]): ExportJob {
  const job = read(text, startedJobSchema, 'the started job');
  if (job.jobId.length > maxIdLength || visibleText(job.jobId) !== job.jobId) {
    const message = `the started job is malformed: jobId: longer than ${maxIdLength} characters, or with control characters`;
    throw new MalformedResponse(message, null, 'JSON');
  }
  return toExportJob(job.jobId, job.status ?? 'queued', job, secrets);
}

/** Reads the answer of "Get static export job status" for the job that was asked about. */
export function readJobStatus(text: string, jobId: string, secrets: readonly string[]): ExportJob {
  const job = read(text, jobStatusSchema, 'the job');
  return toExportJob(jobId, job.status, job, secrets);
}

/** A link that begins with a slash is taken relative to `asked`. Errors never quote the link. */
function readBundleLink(text: string, asked: URL): BundleLink {
  const bundle = read(text, bundleResponseSchema, 'the bundle');
  const base = bundle.bundleUrl.trimStart().startsWith('/') ? asked.href : undefined;
  const url = URL.canParse(bundle.bundleUrl, base) ? new URL(bundle.bundleUrl, base) : null;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new MalformedResponse('the bundle is malformed: bundleUrl: not an http(s) address', null, 'JSON');
  }
  return { url, sizeBytes: bundle.sizeBytes ?? null, expiresAtMs: isoInstant(bundle.expiresAt ?? '') };
}

function read<T extends z.ZodType>(text: string, schema: T, what: string): z.output<T> {
  const json = parseJson(text);
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw new MalformedResponse(`${what} is malformed: ${describeIssue(parsed.error, json)}`, null, 'JSON');
  }
  return parsed.data;
}

interface JobDetails {
  progress?: unknown;
  pageCount?: unknown;
  error?: string | null | undefined;
}

function toExportJob(jobId: string, status: string, details: JobDetails, secrets: readonly string[]): ExportJob {
  const state = stateOf(status);
  return {
    jobId,
    status: safeText(status, secrets, maxStatusLength),
    state,
    percent: state === 'completed' ? 100 : readProgress(details.progress),
    pageCount: readPageCount(details.pageCount),
    error: state === 'failed' && details.error ? safeText(details.error, secrets, maxErrorLength) : null,
  };
}

/** Ignores case: a `COMPLETED` job that counts as running would never end. */
function stateOf(status: string): ExportJob['state'] {
  const word = status.trim().toLowerCase();
  return word === 'completed' || word === 'failed' ? word : 'running';
}

/** "Feedback entry", base fields. A missing `comment` or `createdAt` says no more than a null one. */
const baseEntry = z.looseObject({
  id: text.min(1),
  path: text,
  comment: orNull(text),
  createdAt: orNull(text),
  source: text,
  status: text,
});

/** "Feedback entry", the three variants; base for every `source` without fields of its own, known or not. */
const feedbackEntrySchemas = {
  base: baseEntry,
  contextual: baseEntry.extend({ helpful: orNull(z.boolean()), contact: orNull(text) }),
  code_snippet: baseEntry.extend({ code: orNull(text), filename: orNull(text), lang: orNull(text) }),
};

/** "Feedback response". Entries are parsed one by one. A missing `nextCursor` says no more than a null one. */
const feedbackResponseSchema = z.looseObject({
  feedback: z.array(z.unknown()),
  nextCursor: orNull(text),
  hasMore: z.boolean(),
});

/** An index row of PostgreSQL has 2,700 bytes: a longer id would fail its page at each try. */
const longestId = 512;

/** Levels within the value of an unknown field: writing much deeper ones overflows the stack, so their page would always fail. */
const deepestField = 100;

const baseFields = new Set(['id', 'path', 'comment', 'createdAt', 'source', 'status']);

/** Unreadable entries become `RejectedEntry`. Throws `MalformedResponse` when the page itself is unreadable. */
export function readFeedbackPage(text: string): FeedbackPage {
  const json = parseJson(text);
  const page = feedbackResponseSchema.safeParse(json);
  if (!page.success) throw new MalformedResponse(`the feedback page is malformed: ${describeIssue(page.error, json)}`);
  const entries: FeedbackEntry[] = [];
  const rejected: RejectedEntry[] = [];
  let sources: string[] | null = null;
  const sourceOf = (index: number) => {
    sources ??= arrayElementTexts(text, 'feedback');
    return sources?.[index] ?? JSON.stringify(page.data.feedback[index]);
  };
  for (const [index, value] of page.data.feedback.entries()) {
    const result = readEntry(value);
    if (typeof result === 'string') rejected.push(rejection(value, sourceOf(index), result));
    else
      entries.push(mayBeRounded.test(JSON.stringify(result.extra)) ? withExactExtra(result, sourceOf(index)) : result);
  }
  // An empty cursor would ask for the first page again.
  return { entries, rejected, nextCursor: page.data.nextCursor || null, hasMore: page.data.hasMore };
}

function readEntry(value: unknown): FeedbackEntry | string {
  const base = feedbackEntrySchemas.base.safeParse(value);
  if (!base.success) return describeIssue(base.error, value);
  const { id, path, comment, createdAt, source, status } = base.data;
  if (id.length > longestId) return `id: longer than ${longestId} characters`;
  if (!isStorable(id)) return 'id: U+0000 or half of a surrogate pair, which databases cannot store';
  if (source === 'contextual' || source === 'code_snippet') {
    const variant = feedbackEntrySchemas[source].safeParse(value);
    if (!variant.success) return describeIssue(variant.error, value);
  }
  const rest = new Map(Object.entries(value as object).filter(([name]) => !baseFields.has(name)));
  const variant = takeVariant(rest);
  if ([...rest.values()].some((field) => isDeeper(field, deepestField))) {
    return `an unknown field: nested deeper than ${deepestField} levels`;
  }
  return { id, path, comment, createdAt, source, status, ...variant, extra: Object.fromEntries(rest) };
}

/** An unknown field as JSON: a number of 16 digits or more may have had others. */
const mayBeRounded = /\d{16}|\de\+/;

function withExactExtra(entry: FeedbackEntry, source: string): FeedbackEntry {
  const exact = parseExactly(source) as Readonly<Record<string, unknown>>;
  return { ...entry, extra: Object.fromEntries(Object.keys(entry.extra).map((name) => [name, exact[name]])) };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

type Variant = Pick<FeedbackEntry, 'helpful' | 'contact' | 'code' | 'filename' | 'lang'>;

/** Takes the variants' fields of the right type out of `rest`, whichever variant the entry is of. */
function takeVariant(rest: Map<string, unknown>): Variant {
  return {
    helpful: take(rest, 'helpful', (value) => typeof value === 'boolean'),
    contact: take(rest, 'contact', isString),
    code: take(rest, 'code', isString),
    filename: take(rest, 'filename', isString),
    lang: take(rest, 'lang', isString),
  };
}

function take<T>(rest: Map<string, unknown>, name: string, is: (value: unknown) => value is T): T | null {
  const value = rest.get(name);
  if (value !== null && !is(value)) return null;
  rest.delete(name);
  return value;
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

/** Two ids that differ in nothing else would be one row. */
const isStorable = (id: string): boolean => id.isWellFormed() && !id.includes('\0');

function rejection(value: unknown, raw: string, reason: string): RejectedEntry {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  if (typeof id === 'string' && id !== '' && id.length <= longestId && isStorable(id)) return { id, raw, reason };
  return { id: `sha256:${createHash('sha256').update(raw).digest('hex').slice(0, 32)}`, raw, reason };
}

export interface DocumentationServiceOptions extends AreaOptions {
  /** {base_url} of service-interface.md; may have a path. */
  baseUrl: string;
  /** Base address of the analytics area where it differs (service-interface.md appendix). */
  analyticsBaseUrl?: string;
  /** A request to the analytics area that has no answer by then is broken off, so that none arrives later (B1). */
  arrivalMs?: number;
}

/** Longest answers in bytes, after decompression. */
const maxFeedbackBytes = 64 * 1024 * 1024;
const maxOtherBytes = 1024 * 1024;

/** The service may pack the archive before it answers. */
const bundleLinkTimeouts = { firstByteMs: 600_000, overallMs: 600_000 };

/** One organization's view of the documentation service. */
export type DocumentationService = ReturnType<typeof createDocumentationService>;

/**
 * The documentation service over HTTP (service-interface.md). Every method makes exactly one request, follows no redirect
 * and throws a `ServiceError`, or what `beforeSend` threw. Throws `TypeError` unless the base address is an https:// URL
 * (or http:// for this machine, or anywhere with `allowInsecure`).
 */
export function createDocumentationService(options: DocumentationServiceOptions) {
  const exportArea = openArea(options.baseUrl, options);
  const { timeouts, arrivalMs = Number.POSITIVE_INFINITY } = options;
  const firstByteMs = Math.min(timeouts?.firstByteMs ?? defaultTimeouts.firstByteMs, arrivalMs);
  const analyticsArea = openArea(options.analyticsBaseUrl ?? options.baseUrl, {
    ...options,
    timeouts: { ...timeouts, firstByteMs },
  });

  const jobsPath = ['v1', 'static-export', 'jobs'];
  const exportCall = (path: string[], rest: Pick<OutgoingRequest, 'method' | 'body'>) => ({
    ...rest,
    url: exportArea.url(path),
    maxBytes: maxOtherBytes,
  });

  return {
    async getFeedbackPage(
      projectId: string,
      query: FeedbackQuery,
      callOptions?: RequestOptions,
    ): Promise<FeedbackPage> {
      const url = analyticsArea.url(['v1', 'analytics', projectId, 'feedback']);
      for (const [name, value] of queryParameters(query)) url.searchParams.set(name, value);
      const call = { method: 'GET' as const, url, body: null, maxBytes: maxFeedbackBytes };
      return readFeedbackPage((await analyticsArea.send(call, callOptions)).text);
    },
    async startExportJob(
      { domain, version, paths }: { domain: string; version?: string; paths?: readonly string[] },
      callOptions?: RequestOptions,
    ): Promise<ExportJob> {
      const body = JSON.stringify({ domain, version, paths });
      const { text, secrets } = await exportArea.send(exportCall(jobsPath, { method: 'POST', body }), callOptions);
      return readStartedJob(text, secrets);
    },
    async getExportJob(jobId: string, callOptions?: RequestOptions): Promise<ExportJob> {
      const call = exportCall([...jobsPath, jobId], { method: 'GET', body: null });
      const { text, secrets } = await exportArea.send(call, callOptions);
      return readJobStatus(text, jobId, secrets);
    },
    async createBundleLink(jobId: string, callOptions?: RequestOptions): Promise<BundleLink> {
      const path = [...jobsPath, jobId, 'bundle'];
      const call = { ...exportCall(path, { method: 'POST', body: null }), timeouts: bundleLinkTimeouts };
      return readBundleLink((await exportArea.send(call, callOptions)).text, call.url);
    },
    /**
     * A request to the analytics area that docferry does not know; returns the answer as it comes, with any status. `path`
     * is below the base address and goes out as it is, like `query` (with its `?`, or empty).
     */
    async getAnalytics(
      { path, query }: { path: string; query: string },
      headers: Readonly<Record<string, string>>,
      callOptions?: RequestOptions,
    ): Promise<OpenAnswer> {
      return analyticsArea.open(analyticsArea.address(path, query), { ...headers }, callOptions);
    },
  };
}

function queryParameters(query: FeedbackQuery): [string, string][] {
  const { limit, status } = query;
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= 100)) {
    throw new RangeError('limit must be a whole number from 1 to 100');
  }
  const parameters: [string, string | undefined][] = [
    ['dateFrom', query.dateFrom],
    ['dateTo', query.dateTo],
    ['source', query.source],
    ['status', status === undefined || status.length === 0 ? undefined : status.join(',')],
    ['limit', limit?.toString()],
    ['cursor', query.cursor],
  ];
  return parameters.filter((parameter): parameter is [string, string] => parameter[1] !== undefined);
}
