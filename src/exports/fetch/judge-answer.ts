import { readRetryAfter } from '../../budget/rules/retry-after.ts';
import type { Asked } from './asked.ts';
import type { ObjectIdentity } from './resume-journal.ts';

/** What to do with an answer of the object store. */
export type Verdict =
  | { kind: 'from-start'; total: number | null; etag: string | null }
  | { kind: 'opened'; identity: ObjectIdentity; end: number }
  | { kind: 'continue' }
  /** Ask for the whole object: the store sends no ranges, or nothing proves that they belong together. */
  | { kind: 'no-ranges' }
  | { kind: 'start-over'; why: string }
  | { kind: 'expired' }
  | { kind: 'failed'; why: string; retry: 'now' | 'later' | 'never'; retryAfterMs: number | null };

export interface Answer {
  status: number;
  etag: string | null;
  contentLength: string | null;
  contentRange: string | null;
  contentEncoding: string | null;
  retryAfter: string | null;
  date: string | null;
}

/** Statuses of an expired or refused link; some stores answer 400 for an expired token. */
const expired = [400, 401, 403];
const gone = [404, 410];
const busy = [408, 425, 429];

/**
 * Judges an answer (E3). Object stores ignore a wrong `If-Range`, so every 206 is checked here: its range, its
 * length and the object's ETag.
 */
export function judgeAnswer(answer: Answer, asked: Asked): Verdict {
  const { status } = answer;
  if ((status === 200 || status === 206) && !isPlain(answer.contentEncoding)) {
    return failed(`the body is encoded with ${answer.contentEncoding}`, 'never');
  }
  if (status === 200) return { kind: 'from-start', total: lengthOf(answer.contentLength), etag: strong(answer.etag) };
  if (status === 206 && asked.kind === 'range') return judgeRange(answer, asked);
  if (status === 206 && asked.kind === 'opening') return judgeOpening(answer, asked.end);
  if (status === 416 && asked.kind === 'opening') return { kind: 'no-ranges' };
  if (asked.kind === 'range' && (status === 412 || status === 416))
    return { kind: 'start-over', why: 'the object changed' };
  if (expired.includes(status)) return { kind: 'expired' };
  const why = `HTTP ${status}`;
  if (gone.includes(status)) return failed(why, 'later');
  const retryAfterMs = readRetryAfter(answer.retryAfter ?? undefined, answer.date ?? undefined, Date.now());
  return failed(why, status >= 500 || busy.includes(status) ? 'now' : 'never', retryAfterMs);
}

function judgeRange(answer: Answer, { start, end, identity }: Asked & { kind: 'range' }): Verdict {
  const expected = `bytes ${start}-${end - 1}/${identity.total}`;
  if (answer.contentRange !== expected) return { kind: 'start-over', why: 'the answer has another range or length' };
  if (answer.etag !== identity.etag) return { kind: 'start-over', why: 'the answer is of another object' };
  return { kind: 'continue' };
}

function judgeOpening(answer: Answer, askedEnd: number): Verdict {
  const [, last, length] = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(answer.contentRange ?? '') ?? [];
  const [end, total, etag] = [Number(last) + 1, Number(length), strong(answer.etag)];
  if (etag === null || !(end === Math.min(askedEnd, total))) return { kind: 'no-ranges' };
  return { kind: 'opened', identity: { etag, total }, end };
}

function failed(why: string, retry: 'now' | 'later' | 'never', retryAfterMs: number | null = null): Verdict {
  return { kind: 'failed', why, retry, retryAfterMs };
}

/** Null for a weak ETag, which proves nothing about bytes. */
function strong(etag: string | null): string | null {
  return etag !== null && /^"[^"]+"$/.test(etag) ? etag : null;
}

/**
 * Encodings that do not change what is stored. Uploads of a `.tar.gz` commonly leave `gzip` or `aws-chunked` with the
 * object, and a store sends that label whatever the request accepts: the bytes are kept as received, and their format
 * decides.
 */
const harmless = ['', 'identity', 'gzip', 'x-gzip', 'aws-chunked'];

function isPlain(encoding: string | null): boolean {
  return (encoding ?? '').split(',').every((one) => harmless.includes(one.trim().toLowerCase()));
}

function lengthOf(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}
