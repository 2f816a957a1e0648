import type { Kysely } from 'kysely';
import { documentKey } from '../rules/document-key.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { indexProgress } from './build-index.ts';
import type { DocumentAnswer, FoundDocument, SearchQuery } from './feedback-search.ts';
import { limitOf, wantedOf } from './find-entries.ts';
import { countedHits, mostGrouped } from './hits.ts';

/** Counts the newest hits by document. */
export async function findDocuments(db: Kysely<FeedbackDatabase>, query: SearchQuery): Promise<DocumentAnswer> {
  const wanted = wantedOf(query);
  const limit = limitOf(query);
  const hits = await countedHits(db, wanted);
  const documents = new Map<string, FoundDocument>();
  for (const row of hits.slice(0, mostGrouped)) {
    const document = documentKey(row.path);
    const key = JSON.stringify([row.org_id, row.project_id, document]);
    const known = documents.get(key) ?? {
      org: row.org_id,
      project: row.project_id,
      document,
      entries: 0,
      helpful: { yes: 0, no: 0 },
      // Hits come newest first.
      latest: row.created_at_utc,
    };
    const { yes, no } = known.helpful;
    documents.set(key, {
      ...known,
      entries: known.entries + 1,
      helpful: { yes: yes + Number(row.helpful === 1), no: no + Number(row.helpful === 0) },
    });
  }
  // Sorting is stable: of equal counts the one with the newest hit comes first.
  const sorted = [...documents.values()].sort((a, b) => b.entries - a.entries);
  return {
    documents: sorted.slice(0, limit),
    total: { count: Math.min(hits.length, mostGrouped), isExact: hits.length <= mostGrouped },
    more: Math.max(0, sorted.length - limit),
    index: await indexProgress(db),
  };
}
