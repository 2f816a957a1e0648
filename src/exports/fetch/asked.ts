import type { ByteSpan } from './byte-spans.ts';
import type { ObjectIdentity } from './resume-journal.ts';

/** What a request asked the object store for. */
export type Asked =
  | { kind: 'whole' }
  /** The first bytes of an object that is still unknown. */
  | { kind: 'opening'; end: number }
  /** Bytes from `start` up to, not including, `end` of a known object. */
  | { kind: 'range'; start: number; end: number; identity: ObjectIdentity };

/** The bytes that an answer may fill. */
export function spanOf(asked: Asked): ByteSpan {
  if (asked.kind === 'range') return { start: asked.start, end: asked.end };
  return { start: 0, end: asked.kind === 'opening' ? asked.end : Number.MAX_SAFE_INTEGER };
}

/** The headers that ask for it: a range of a known object is asked for only while it is the same. */
export function headersOf(asked: Asked): Record<string, string> {
  if (asked.kind === 'whole') return {};
  if (asked.kind === 'opening') return { range: `bytes=0-${asked.end - 1}` };
  const { start, end, identity } = asked;
  const last = end === identity.total ? '' : `${end - 1}`;
  return { range: `bytes=${start}-${last}`, 'if-match': identity.etag };
}
