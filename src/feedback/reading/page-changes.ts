import { type EntryCounts, noEntries } from '../rules/entry-counts.ts';
import type { FeedbackEntry, RejectedEntry } from '../rules/feedback-entry.ts';
import { type Content, entryContent, sameContent } from '../store/entry-content.ts';
import { storedText } from '../store/stored-text.ts';
import type { FeedbackChangesTable, FeedbackTable } from '../store/tables.ts';
import type { PersonalData } from '../privacy/personal-data.ts';

/** What a page does to the table, worked out before anything is written. */
export interface PageChanges {
  /** Rows to insert, or to replace where the key exists. */
  upserts: FeedbackTable[];
  /** Ids whose row stays as it is but was seen again. */
  seenAgain: string[];
  history: FeedbackChangesTable[];
  counts: EntryCounts;
  /** Greatest understood `createdAt` up to `latestBelievable`, UTC ISO 8601. */
  greatestCreatedAt: string | null;
}

export interface PageContext {
  org: string;
  project: string;
  /** UTC ISO 8601. */
  seenAt: string;
  /** A `createdAt` after this moment never moves the watermark. */
  latestBelievable: string;
  /** The rows stored for the ids of this page. */
  stored: ReadonlyMap<string, FeedbackTable>;
  /** Removes what must not be stored. */
  personal: PersonalData;
}

/**
 * Compares the entries of a page with the stored rows, in the order they were sent: an id that occurs twice is handled
 * twice, so that `seen = inserted + updated + unchanged + rejected` is always true. An entry that cannot be understood
 * leaves the last version that could be. A stored row is compared as it would be stored today, so that another setting
 * of `privacy`, or a date that has become too old, rewrites rows but does not count them as updated.
 *
 * History keeps every change of `status` (S5) and the end of a deletion (`deleted_at`). Other fields are
 * replaced without history: they are what people wrote, and old versions would outlive an erasure request.
 */
export function pageChanges(
  entries: readonly FeedbackEntry[],
  rejected: readonly RejectedEntry[],
  page: PageContext,
): PageChanges {
  const rows = new Map(page.stored);
  const written = new Set<string>();
  const seenAgain = new Set<string>();
  const history: FeedbackChangesTable[] = [];
  const counts: EntryCounts = {
    ...noEntries,
    seen: entries.length + rejected.length,
    rejected: rejected.length,
  };
  let greatestCreatedAt: string | null = null;

  const write = (content: Content, before: FeedbackTable | undefined): void => {
    const { seenAt } = page;
    rows.set(content.id, {
      ...content,
      first_seen_at: before?.first_seen_at ?? seenAt,
      last_seen_at: seenAt,
      deleted_at: null,
    });
    written.add(content.id);
    if (before !== undefined) history.push(...historyOf(before, content, seenAt));
  };

  for (const entry of entries) {
    const sent = entryContent(entry, page.org, page.project);
    const stored = rows.get(sent.id);
    const content = page.personal.sent(sent, stored?.first_seen_at ?? page.seenAt);
    const allowed = stored && page.personal.stored(stored);
    const createdAt = content.created_at_utc;
    if (createdAt !== null && createdAt <= page.latestBelievable && createdAt > (greatestCreatedAt ?? '')) {
      greatestCreatedAt = createdAt;
    }
    if (allowed !== undefined && allowed.deleted_at === null && sameContent(allowed, content)) {
      counts.unchanged += 1;
      if (allowed === stored) seenAgain.add(content.id);
      else write(content, allowed);
      continue;
    }
    counts[allowed === undefined ? 'inserted' : 'updated'] += 1;
    write(content, allowed);
  }

  for (const { id } of rejected) {
    const stored = rows.get(storedText(id));
    if (stored === undefined) continue;
    if (stored.deleted_at === null) seenAgain.add(stored.id);
    else write(page.personal.stored(stored), stored);
  }

  return {
    upserts: [...written].flatMap((id) => rows.get(id) ?? []),
    seenAgain: [...seenAgain].filter((id) => !written.has(id)),
    history,
    counts,
    greatestCreatedAt,
  };
}

function historyOf(before: FeedbackTable, content: Content, seenAt: string): FeedbackChangesTable[] {
  const key = { project_id: content.project_id, id: content.id, seen_at: seenAt };
  const changes: FeedbackChangesTable[] = [];
  const { deleted_at, status } = before;
  if (deleted_at !== null) changes.push({ ...key, field: 'deleted_at', old: deleted_at, new: null });
  if (status !== content.status) changes.push({ ...key, field: 'status', old: status, new: content.status });
  return changes;
}
