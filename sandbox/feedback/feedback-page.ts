import { isDeepStrictEqual } from 'node:util';
import type { Faults } from '../faults.ts';
import type { Settings } from '../settings.ts';
import type { Cursor, CursorCodec, Position } from './cursors.ts';
import type { FeedbackRecord } from './feedback-data.ts';
import type { FeedbackFilter, FeedbackRequest } from './feedback-query.ts';
import type { ProjectFeedback } from './project-feedback.ts';

/** The feedback response (service-interface.md, Resources). */
export interface FeedbackPage {
  feedback: unknown[];
  nextCursor: string | null;
  hasMore: boolean;
}

interface PageContext {
  codec: CursorCodec;
  settings: Settings;
  faults: Readonly<Faults>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The requested page, or what is wrong with its cursor. */
export function feedbackPage(
  project: ProjectFeedback,
  request: FeedbackRequest,
  context: PageContext,
): { page: FeedbackPage } | { problem: string } {
  const { codec, settings, faults, now } = context;
  const sent = request.cursor === null ? null : codec.decode(request.cursor);
  if (request.cursor !== null && sent === null) return { problem: 'cursor is not valid' };
  if (sent !== null && (sent.projectId !== project.id || !isDeepStrictEqual(sent.filter, request.filter))) {
    return { problem: 'cursor belongs to another query' };
  }
  if (sent !== null && settings.cursorTtlMs > 0 && now - sent.issuedAt > settings.cursorTtlMs) {
    return { problem: 'cursor has expired' };
  }

  const number = sent?.page ?? 1;
  const start = sent?.position ?? null;
  const limit = faults.emptyPage === number ? 0 : Math.min(request.limit, faults.pageLimit || request.limit);
  const after = start !== null && 'at' in start ? start : null;
  const skip = start !== null && 'skip' in start ? start.skip : 0;
  const { records, more } = project.select(followed(request.filter, faults), after, skip, limit);
  const served = records.map((record) => project.serve(record));
  const feedback = faults.unordered ? [...odd(served, 1), ...odd(served, 0)] : served;
  if (!more) return { page: { feedback, nextCursor: null, hasMore: false } };
  if (faults.nullCursor === number) return { page: { feedback, nextCursor: null, hasMore: true } };

  const following: Cursor = {
    projectId: project.id,
    filter: request.filter,
    page: number + 1,
    position: settings.cursorKind === 'offset' ? { skip: skip + records.length } : placeAfter(records, start),
    issuedAt: settings.cursorTtlMs > 0 ? now : 0,
  };
  const next = faults.loopCursor > 0 && sent !== null ? loop(sent, following, faults) : following;
  return { page: { feedback, nextCursor: codec.encode(next), hasMore: true } };
}

/** What is left of a filter by those that are ignored. */
function followed(filter: FeedbackFilter, { ignoreStatus, ignoreDates }: Readonly<Faults>): FeedbackFilter {
  const left = ignoreDates ? { ...filter, fromMs: null, toMs: null } : filter;
  return ignoreStatus ? { ...left, statuses: null } : left;
}

const odd = (items: readonly unknown[], rest: 0 | 1): unknown[] => items.filter((_, place) => place % 2 === rest);

/** The place of the last record; for an empty page, its start. */
function placeAfter(records: readonly FeedbackRecord[], start: Position | null): Position {
  const last = records.at(-1);
  return last === undefined ? (start ?? { skip: 0 }) : { at: last.at, seq: last.seq };
}

/**
 * Cursors that repeat from page `loopCursor` on. The time of issue is passed along, so that a repeated cursor is the
 * same text.
 */
function loop(sent: Cursor, following: Cursor, faults: Readonly<Faults>): Cursor {
  if (sent.page < faults.loopCursor) {
    return { ...following, issuedAt: sent.issuedAt, previous: sent.position };
  }
  if (faults.loopLength === 1 || sent.previous === undefined) return sent;
  const { previous, ...rest } = sent;
  return { ...rest, page: sent.page - 1, position: previous };
}
