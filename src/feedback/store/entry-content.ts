import type { FeedbackEntry } from '../rules/feedback-entry.ts';
import { createdAtUtc } from './created-at.ts';
import { storedExtra, storedText, storedTextOrNull } from './stored-text.ts';
import type { FeedbackTable } from './tables.ts';

/** What the service says of an entry, as columns; the other columns are what we have seen of it. */
export type Content = Omit<FeedbackTable, 'first_seen_at' | 'last_seen_at' | 'deleted_at'>;

export function entryContent(entry: FeedbackEntry, org: string, project: string): Content {
  return {
    org_id: org,
    project_id: project,
    id: storedText(entry.id),
    path: storedText(entry.path),
    comment: storedTextOrNull(entry.comment),
    created_at: storedTextOrNull(entry.createdAt),
    created_at_utc: createdAtUtc(entry.createdAt),
    source: storedText(entry.source),
    status: storedText(entry.status),
    helpful: entry.helpful === null ? null : Number(entry.helpful),
    contact: storedTextOrNull(entry.contact),
    code: storedTextOrNull(entry.code),
    filename: storedTextOrNull(entry.filename),
    lang: storedTextOrNull(entry.lang),
    extra: storedExtra(entry.extra),
  };
}

export function sameContent(a: Content, b: Content): boolean {
  return (Object.keys(b) as (keyof Content)[]).every((column) => a[column] === b[column]);
}
