import { readRetryAfter } from '../../model/budget/retry-after.ts';
import type { ObjectIdentity } from './resume-journal.ts';

/** What was asked of the object store. */
export type Asked =
  | { kind: 'whole' }
  /** The first bytes of an object of which nothing is known yet. */
  | { kind: 'opening'; end: number }
  /** Bytes `start` up to, and without, `end` of a known object. */
  | { kind: 'part'; start: number; end: number; identity: ObjectIdentity };

/** What to do with an answer of the object store. */
export type Verdict =
  | { kind: 'from-start'; total: number | null; etag: string | null }
  | { kind: 'opened'; identity: ObjectIdentity; end: number }
  | { kind: 'continue' }
  /** Ask for the whole object: the store gives no parts, or nothing that proves them to belong together. */
  | { kind: 'no-parts' }
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

/** Statuses of an expired or unwelcome link; some stores say 400 for an expired token. */
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
  if (status === 206 && asked.kind === 'part') return judgePart(answer, asked);
  if (status === 206 && asked.kind === 'opening') return judgeOpening(answer, asked.end);
  if (status === 416 && asked.kind === 'opening') return { kind: 'no-parts' };
  if (asked.kind === 'part' && (status === 412 || status === 416))
    return { kind: 'start-over', why: 'the object changed' };
  if (expired.includes(status)) return { kind: 'expired' };
  const why = `HTTP ${status}`;
  if (gone.includes(status)) return failed(why, 'later');
  const retryAfterMs = readRetryAfter(answer.retryAfter ?? undefined, answer.date ?? undefined, Date.now());
  return failed(why, status >= 500 || busy.includes(status) ? 'now' : 'never', retryAfterMs);
}

function judgePart(answer: Answer, { start, end, identity }: Asked & { kind: 'part' }): Verdict {
  const expected = `bytes ${start}-${end - 1}/${identity.total}`;
  if (answer.contentRange !== expected) return { kind: 'start-over', why: 'the answer holds another range or length' };
  if (answer.etag !== identity.etag) return { kind: 'start-over', why: 'the answer is of another object' };
  return { kind: 'continue' };
}

function judgeOpening(answer: Answer, askedEnd: number): Verdict {
  const [, last, length] = /^bytes 0-(\d{1,15})\/(\d{1,15})$/.exec(answer.contentRange ?? '') ?? [];
  const [end, total, etag] = [Number(last) + 1, Number(length), strong(answer.etag)];
  if (etag === null || !(end === Math.min(askedEnd, total))) return { kind: 'no-parts' };
  return { kind: 'opened', identity: { etag, total }, end };
}

function failed(why: string, retry: 'now' | 'later' | 'never', retryAfterMs: number | null = null): Verdict {
  return { kind: 'failed', why, retry, retryAfterMs };
}

/** A weak ETag proves nothing about bytes. */
function strong(etag: string | null): string | null {
  return etag !== null && /^"[^"]+"$/.test(etag) ? etag : null;
}

/**
 * Encodings that change nothing of what is stored. Uploads of a `.tar.gz` commonly leave `gzip` or `aws-chunked` with
 * the object, and a store sends it whatever was accepted: the bytes are kept as they come, and their format tells.
 */
const harmless = ['', 'identity', 'gzip', 'x-gzip', 'aws-chunked'];

function isPlain(encoding: string | null): boolean {
  return (encoding ?? '').split(',').every((one) => harmless.includes(one.trim().toLowerCase()));
}

function lengthOf(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}
