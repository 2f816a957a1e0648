import type { ResumePoint } from './partial-file.ts';

/** What to do with an answer of the object store. */
export type Verdict =
  | { kind: 'from-start'; total: number | null; etag: string | null }
  | { kind: 'continue' }
  | { kind: 'start-over'; why: string }
  | { kind: 'expired' }
  | { kind: 'failed'; why: string; retry: 'now' | 'later' | 'never' };

export interface Answer {
  status: number;
  etag: string | null;
  contentLength: string | null;
  contentRange: string | null;
  contentEncoding: string | null;
}

/** Statuses of an expired or unwelcome link; some stores say 400 for an expired token. */
const EXPIRED = [400, 401, 403];
const GONE = [404, 410];
const BUSY = [408, 425, 429];

/**
 * Judges an answer (DESIGN E3). `asked` is null for a whole object, else where the range began and what proves that the
 * bytes before it belong to it. Object stores ignore a wrong `If-Range`, so every 206 is checked here.
 */
export function judgeAnswer(answer: Answer, asked: { offset: number; resume: ResumePoint } | null): Verdict {
  const { status } = answer;
  if ((status === 200 || status === 206) && !isPlain(answer.contentEncoding)) {
    return { kind: 'failed', why: `the body is encoded with ${answer.contentEncoding}`, retry: 'never' };
  }
  if (status === 200) {
    return { kind: 'from-start', total: lengthOf(answer.contentLength), etag: strong(answer.etag) };
  }
  if (status === 206 && asked) return judgePart(answer, asked);
  if (asked && (status === 412 || status === 416)) return { kind: 'start-over', why: 'the object changed' };
  if (EXPIRED.includes(status)) return { kind: 'expired' };
  const why = `HTTP ${status}`;
  if (GONE.includes(status)) return { kind: 'failed', why, retry: 'later' };
  return { kind: 'failed', why, retry: status >= 500 || BUSY.includes(status) ? 'now' : 'never' };
}

function judgePart(answer: Answer, { offset, resume }: { offset: number; resume: ResumePoint }): Verdict {
  const expected = `bytes ${offset}-${resume.total - 1}/${resume.total}`;
  if (answer.contentRange !== expected) return { kind: 'start-over', why: 'the answer holds another range or length' };
  if (answer.etag !== resume.etag) return { kind: 'start-over', why: 'the answer is of another object' };
  return { kind: 'continue' };
}

/** A weak ETag proves nothing about bytes. */
function strong(etag: string | null): string | null {
  return etag !== null && /^"[^"]+"$/.test(etag) ? etag : null;
}

function isPlain(encoding: string | null): boolean {
  return encoding === null || encoding === '' || encoding.toLowerCase() === 'identity';
}

function lengthOf(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}
