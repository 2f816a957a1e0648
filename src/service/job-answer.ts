import type { z } from 'zod';
import { visibleText } from '../rules/visible-text.ts';
import { describeIssue } from './describe-issue.ts';
import type { BundleLink, ExportJob } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';
import { parseJson } from './parse-json.ts';
import { readPageCount, readProgress } from './progress.ts';
import { safeText } from './safe-text.ts';
import { bundleResponseSchema, jobStatusSchema, startedJobSchema } from './schemas.ts';

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
