import { z } from 'zod';
import { visibleText } from '../rules/text.ts';
import type { BundleLink, ExportJob } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';
import { describeIssue, errorWords, ifReadable, parseJson, text } from './json-answers.ts';
import { safeText } from './service-area.ts';

const jobFields = {
  /** "Types and units: not shown." */
  progress: z.unknown().optional(),
  pageCount: z.unknown().optional(),
  error: ifReadable(errorWords),
};

/** Answer of "Start static export job": only `jobId` is promised. */
const startedJobSchema = z.looseObject({ jobId: text.min(1), status: ifReadable(text), ...jobFields });

/** Answer of "Get static export job status": only `status` is promised. */
const jobStatusSchema = z.looseObject({ status: text, ...jobFields });

/** Answer of "Generate export bundle". */
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
    throw new MalformedResponse(message, null, true);
  }
  return toExportJob(job.jobId, job.status ?? 'queued', job, secrets);
}

/** Reads the answer of "Get static export job status" for the job that was asked about. */
export function readJobStatus(text: string, jobId: string, secrets: readonly string[]): ExportJob {
  const job = read(text, jobStatusSchema, 'the job');
  return toExportJob(jobId, job.status, job, secrets);
}

/**
 * Reads the answer of "Generate export bundle" to a request to `asked`; a link that begins with a slash is taken
 * relative to it. Errors never quote the link.
 */
export function readBundleLink(text: string, asked: URL): BundleLink {
  const bundle = read(text, bundleResponseSchema, 'the bundle');
  const base = bundle.bundleUrl.trimStart().startsWith('/') ? asked.href : undefined;
  const url = URL.canParse(bundle.bundleUrl, base) ? new URL(bundle.bundleUrl, base) : null;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new MalformedResponse('the bundle is malformed: bundleUrl: not an http(s) address', null, true);
  }
  const expiresAtMs = Date.parse(bundle.expiresAt ?? '');
  return { url, sizeBytes: bundle.sizeBytes ?? null, expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs };
}

function read<T extends z.ZodType>(text: string, schema: T, what: string): z.output<T> {
  const json = parseJson(text);
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw new MalformedResponse(`${what} is malformed: ${describeIssue(parsed.error, json)}`, null, true);
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
