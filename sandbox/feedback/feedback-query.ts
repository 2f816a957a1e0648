import type { Settings } from '../settings.ts';
import { knownSources, knownStatuses } from './feedback-data.ts';

/** The filters of a query in milliseconds since the epoch and known words; null: no filter. */
export interface FeedbackFilter {
  /** Inclusive. */
  fromMs: number | null;
  /** Exclusive. */
  toMs: number | null;
  source: string | null;
  /** Sorted. */
  statuses: readonly string[] | null;
}

export interface FeedbackRequest {
  filter: FeedbackFilter;
  limit: number;
  cursor: string | null;
}

/** How the service reads dates where the interface does not say. */
type DateRules = Pick<Settings, 'dateFrom' | 'dateTimes' | 'dateOffset'>;

const parameters = ['dateFrom', 'dateTo', 'source', 'status', 'limit', 'cursor'] as const;
const defaultLimit = 50;
const maxLimit = 100;
const dayMs = 86_400_000;
const date = /^(\d{4})-(\d\d)-(\d\d)$/;
const dateTime = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/;

/** Reads the query of "Get user feedback" (service-interface.md, endpoint 1), or says everything that is wrong with it. */
export function readFeedbackQuery(
  query: URLSearchParams,
  rules: DateRules,
): { request: FeedbackRequest; problems: readonly [] } | { request: null; problems: readonly string[] } {
  const problems = parameters.filter((name) => query.getAll(name).length > 1).map((name) => `${name} is given twice`);
  const fromMs = readDate(query.get('dateFrom'), rules, 'from');
  const toMs = readDate(query.get('dateTo'), rules, 'to');
  const source = query.get('source');
  const statuses = query.get('status')?.split(',').toSorted() ?? null;
  const limit = readLimit(query.get('limit'));
  const cursor = query.get('cursor');

  if (fromMs === undefined) problems.push('dateFrom must be an ISO 8601 date-time or YYYY-MM-DD');
  if (toMs === undefined) problems.push('dateTo must be an ISO 8601 date-time or YYYY-MM-DD');
  if (source !== null && !isOneOf(knownSources, source)) {
    problems.push(`source must be one of ${knownSources.join(', ')}`);
  }
  if (statuses?.some((status) => !isOneOf(knownStatuses, status))) {
    problems.push(`status must be a comma-separated list of ${knownStatuses.join(', ')}`);
  }
  if (limit === undefined) problems.push(`limit must be a number from 1 to ${maxLimit}`);
  if (cursor === '') problems.push('cursor must not be empty');

  if (problems.length > 0 || fromMs === undefined || toMs === undefined || limit === undefined) {
    return { request: null, problems };
  }
  return { request: { filter: { fromMs, toMs, source, statuses }, limit, cursor }, problems: [] };
}

function isOneOf(words: readonly string[], word: string): boolean {
  return words.includes(word);
}

function readLimit(text: string | null): number | undefined {
  if (text === null) return defaultLimit;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= maxLimit ? limit : undefined;
}

/** The bound in milliseconds (for `from` the first, for `to` the first no longer included), or undefined. */
function readDate(text: string | null, rules: DateRules, side: 'from' | 'to'): number | null | undefined {
  if (text === null) return null;
  if (date.test(text)) return dayBound(text, rules, side);
  const parts = dateTime.exec(text);
  const day = parts?.[1];
  if (day === undefined || midnight(day, '+00:00') === undefined) return undefined;
  const moment = Date.parse(parts?.[4] === undefined ? `${text}${rules.dateOffset}` : text);
  if (Number.isNaN(moment)) return undefined;
  if (rules.dateTimes === 'as-dates') return dayBound(dayAt(moment, rules.dateOffset), rules, side);
  return side === 'from' && rules.dateFrom === 'exclusive' ? moment + 1 : moment;
}

/** A day as a bound: its midnight. An exclusive dateFrom leaves out the whole day, as dateTo does. */
function dayBound(day: string, rules: DateRules, side: 'from' | 'to'): number | undefined {
  const start = midnight(day, rules.dateOffset);
  return start !== undefined && side === 'from' && rules.dateFrom === 'exclusive' ? start + dayMs : start;
}

function midnight(day: string, offset: string): number | undefined {
  const start = Date.parse(`${day}T00:00:00${offset}`);
  // Some engines roll days that do not exist over to the next month.
  return Number.isNaN(start) || dayAt(start, offset) !== day ? undefined : start;
}

/** The calendar day of a moment in a zone. */
function dayAt(moment: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  const shifted = moment + (offset.startsWith('-') ? -1 : 1) * minutes * 60_000;
  return new Date(shifted).toISOString().slice(0, 10);
}
