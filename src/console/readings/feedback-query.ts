import { createHash } from 'node:crypto';
import { openStatuses } from '../../feedback/rules/feedback-entry.ts';
import { boundsProblem } from '../../feedback/rules/sync.ts';
import type { EntrySelection } from '../../feedback/search/feedback-search.ts';
import { isoInstant } from '../../rules/text.ts';
import { ConsoleFailure } from '../console-failure.ts';
import { addressWith, textIn } from './address.ts';

/** The fields of the address, each with the most characters that it may have. */
const longest = {
  /** Looked for in comments and code. */
  words: 1_000,
  org: 200,
  project: 200,
  source: 200,
  /** A status, or `open` for those that wait for a person. */
  status: 200,
  /** `yes`, `no`, or `none` for entries without a vote. */
  helpful: 10,
  /** `yes`: entries without comment and code too. */
  all: 10,
  /** A path of the document, as any entry has it. */
  document: 2_000,
  /** Dates or moments, as a person writes them; `to` is exclusive. */
  from: 50,
  to: 50,
  /** Only what docferry has first seen since this moment. */
  since: 50,
  /** `document` for a table of documents instead of entries. */
  by: 10,
  /** Where the page before ended, as it said. */
  after: 4_000,
};

const fields = Object.keys(longest) as (keyof FeedbackQuery)[];

/** What the address of the feedback page asks for; an empty text asks for nothing. */
export type FeedbackQuery = { readonly [Field in keyof typeof longest]: string };

export const helpfulValues = ['yes', 'no', 'none'] as const;

/** Reads an address. Throws `ConsoleFailure` for a malformed field, and names it and what it may hold. */
export function feedbackQuery(parameters: URLSearchParams): FeedbackQuery {
  const query = Object.fromEntries(fields.map((field) => [field, textIn(parameters, field)]));
  const asked = query as FeedbackQuery;
  for (const field of fields) {
    if (asked[field].length > longest[field]) {
      refuse('QueryTooLong', `"${field}" is longer than ${longest[field]} characters`, 'shorten it and search again');
    }
  }
  const { helpful, all, by, from, to, since } = asked;
  if (helpful !== '' && !helpfulValues.some((value) => value === helpful)) {
    badValue('helpful', helpful, `must be ${helpfulValues.join(', ')} or nothing`);
  }
  if (all !== '' && all !== 'yes') badValue('all', all, 'must be yes or nothing');
  if (by !== '' && by !== 'document') badValue('by', by, 'must be document or nothing');
  if (since !== '' && isoInstant(since) === null) badValue('since', since, 'must be a date or a moment in ISO 8601');
  const wrong = boundsProblem({ ...(from !== '' && { from }), ...(to !== '' && { to }) });
  if (wrong) badValue(wrong.field, wrong.held, wrong.problem);
  return asked;
}

/** The query as an address below a path. */
export function feedbackAddress(query: Partial<FeedbackQuery>, path = '/feedback'): string {
  return addressWith(path, Object.fromEntries(fields.map((field) => [field, query[field] ?? ''])));
}

/** All of the page that a query names, whatever else the query asks. */
export function pageOf({ org, project, document }: FeedbackQuery): FeedbackQuery {
  const nothing = Object.fromEntries(fields.map((field) => [field, ''])) as FeedbackQuery;
  return { ...nothing, org, project, document, all: 'yes' };
}

/** A moment of an address in UTC, as the store has its own; undefined for none. */
export function utcOf(moment: string): string | undefined {
  const ms = isoInstant(moment);
  return ms === null ? undefined : new Date(ms).toISOString();
}

/** Throws a failure that becomes a page with status 400. */
function badValue(field: string, value: string, problem: string): never {
  const hint = 'Change it and search again, or start with an empty search.';
  return refuse('BadQuery', `"${field}" is ${JSON.stringify(value)}: it ${problem}`, hint);
}

function refuse(code: string, message: string, hint: string): never {
  throw new ConsoleFailure(code, message, hint);
}

/** What an address asks for, as the search takes it. */
export function selectionOf(query: FeedbackQuery): EntrySelection {
  const { words, org, project, source, status, all, document, from, to, since, by } = query;
  const helpful = helpfulValues.find((value) => value === query.helpful);
  const fromUtc = utcOf(from);
  const toUtc = utcOf(to);
  const sinceUtc = utcOf(since);
  return {
    ...(words !== '' && { words }),
    ...(org !== '' && { org }),
    ...(project !== '' && { projects: [project] }),
    ...(source !== '' && { sources: [source] }),
    ...(status !== '' && { statuses: status === 'open' ? openStatuses : [status] }),
    ...(helpful && { helpful }),
    // A table of pages counts votes; what has the words that are sought has words.
    ...(all === '' && by === '' && words === '' && { withWords: true }),
    ...(document !== '' && { document }),
    ...(fromUtc !== undefined && { since: fromUtc }),
    ...(toUtc !== undefined && { until: toUtc }),
    ...(sinceUtc !== undefined && { firstSeenAfter: sinceUtc }),
  };
}

/** Refuses an organization or project that is not in the configuration. */
export function checkConfigured(
  { org, project }: FeedbackQuery,
  organizations: readonly { id: string; projects: readonly { id: string }[] }[],
): void {
  const of = organizations.filter(({ id }) => org === '' || id === org);
  if (of.length === 0) badValue('org', org, 'is not the id of an organization in the configuration');
  if (project !== '' && !of.some(({ projects }) => projects.some(({ id }) => id === project))) {
    badValue('project', project, `is not the id of a project${org === '' ? '' : ` of ${org}`} in the configuration`);
  }
}

/** Looks nearer together than this are one visit. */
const visitMs = 30 * 60_000;

interface Visit {
  /** What the browser keeps until the next look. */
  kept: string;
  /** When the login last looked before this visit, UTC ISO 8601; null when this browser knows of no such visit. */
  since: string | null;
}

/**
 * A look by a login at a moment, in milliseconds: `kept` is what the browser has kept of earlier ones. What a browser sends
 * that was not written here counts for nothing; what it could gain by more is another filter.
 */
export function nextVisit(kept: string | undefined, login: string, now: number): Visit {
  const who = createHash('sha256').update(login).digest('base64url').slice(0, 16);
  const [, whose, earlier = '', last = ''] = /^([\w-]{16})\.(\d{1,13})\.(\d{1,13})$/.exec(kept ?? '') ?? [];
  const lastAt = whose === who && Number(last) <= now ? Number(last) : 0;
  const before = now - lastAt < visitMs ? Number(earlier) : lastAt;
  const since = before === 0 || before > now ? null : new Date(before).toISOString();
  return { kept: `${who}.${since === null ? 0 : before}.${now}`, since };
}
