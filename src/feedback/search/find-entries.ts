import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { isoInstant } from '../../rules/iso-instant.ts';
import { documentKey } from '../rules/document-key.ts';
import { batchesOf } from '../store/batches.ts';
import type { FeedbackDatabase, FeedbackTable } from '../store/tables.ts';
import { indexProgress } from './build-index.ts';
import {
  type EntrySelection,
  type FoundEntry,
  type SearchAnswer,
  type SearchQuery,
  SearchRefused,
} from './feedback-search.ts';
import { foundText } from './found-text.ts';
import { countHits, type Hit, nextHits, type Wanted } from './hits.ts';
import { type SearchPhrase, searchPhrases } from './search-phrases.ts';

type Db = Kysely<FeedbackDatabase>;

export const mostPerAnswer = 200;

/** One page of what is asked for, and how much there is. */
export async function findEntries(db: Db, query: SearchQuery): Promise<SearchAnswer> {
  const wanted = wantedOf(query);
  const limit = limitOf(query);
  const hits = await nextHits(db, wanted, placeAfter(query.after), limit + 1);
  const shown = hits.slice(0, limit);
  const rows = await rowsOfHits(db, shown);
  return {
    entries: await foundEntries(rows, wanted.phrases, query.contacts === true),
    total: await countHits(db, wanted),
    after: hits.length > limit ? `${shown.at(-1)?.place}` : null,
    index: await indexProgress(db),
  };
}

/** Throws `SearchRefused`. */
export function wantedOf(selection: EntrySelection): Wanted {
  for (const field of ['since', 'until', 'firstSeenAfter'] as const) {
    const value = selection[field];
    if (value !== undefined && isoInstant(value) === null) {
      throw new SearchRefused(field, `${field} is no date`, 'Write it in ISO 8601, such as 2026-11-21T08:00:00Z.');
    }
  }
  return { selection, phrases: selection.words === undefined ? [] : searchPhrases(selection.words) };
}

export function limitOf({ limit }: SearchQuery): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostPerAnswer) return limit;
  throw new SearchRefused('limit', 'limit is out of range', `Ask for 1 to ${mostPerAnswer} at a time.`);
}

/** The rows of hits, in their order. */
export async function rowsOfHits(db: Db, hits: readonly Hit[]): Promise<FeedbackTable[]> {
  const rows = new Map<string, FeedbackTable>();
  for (const project of new Set(hits.map(({ project_id }) => project_id))) {
    const ids = hits.filter((hit) => hit.project_id === project).map(({ id }) => id);
    for (const batch of batchesOf(ids)) {
      const found = await db
        .selectFrom('feedback')
        .selectAll()
        .where('project_id', '=', project)
        .where('id', 'in', batch)
        .execute();
      for (const row of found) rows.set(keyOf(row), row);
    }
  }
  return hits.flatMap((hit) => rows.get(keyOf(hit)) ?? []);
}

function keyOf({ project_id, id }: Pick<FeedbackTable, 'project_id' | 'id'>): string {
  return JSON.stringify([project_id, id]);
}

function placeAfter(after: string | undefined): number | null {
  if (after === undefined) return null;
  if (/^-?\d{1,16}$/.test(after)) return Number(after);
  throw new SearchRefused('after', 'after is not from an answer', 'Give back what the answer before had, unchanged.');
}

/** Texts may have megabytes: others run between two of them. */
async function foundEntries(
  rows: readonly FeedbackTable[],
  phrases: readonly SearchPhrase[],
  contacts: boolean,
): Promise<FoundEntry[]> {
  const entries: FoundEntry[] = [];
  for (const row of rows) {
    entries.push(foundEntry(row, phrases, contacts));
    await letOthersRun();
  }
  return entries;
}

function foundEntry(row: FeedbackTable, phrases: readonly SearchPhrase[], contacts: boolean): FoundEntry {
  return {
    ...commonFields(row, contacts),
    comment: foundText(row.comment, phrases),
    code: foundText(row.code, phrases),
  };
}

/** What answers and details have in common. */
export function commonFields(row: FeedbackTable, contacts: boolean): Omit<FoundEntry, 'comment' | 'code'> {
  return {
    org: row.org_id,
    project: row.project_id,
    id: row.id,
    source: row.source,
    status: row.status,
    helpful: row.helpful === null ? null : row.helpful === 1,
    path: row.path,
    document: documentKey(row.path),
    createdAt: row.created_at_utc,
    firstSeenAt: row.first_seen_at,
    filename: row.filename,
    lang: row.lang,
    contact: contacts ? row.contact : null,
  };
}
