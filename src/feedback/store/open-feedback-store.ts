import { keepEverything, type Privacy } from '../privacy/privacy.ts';
import type { OpenAudit } from './audit-records.ts';
import type { FeedbackStore } from './feedback-store.ts';
import type { PostgresPlace } from './postgres-store.ts';

export type FeedbackStorePlace =
  | { kind: 'sqlite'; file: string; sharedFolder?: boolean }
  | ({ kind: 'postgres' } & PostgresPlace);

/** Opens the feedback store, making its tables where they are missing. Throws `FeedbackStoreUnavailable`. */
export async function openFeedbackStore(
  place: FeedbackStorePlace,
  privacy: Privacy = keepEverything,
): Promise<FeedbackStore> {
  // Only the library that is used is loaded.
  if (place.kind === 'sqlite')
    return await (await import('./sqlite-store.ts')).openSqliteFeedbackStore(place.file, privacy, place);
  return await (await import('./postgres-store.ts')).openPostgresFeedbackStore(place, privacy);
}

/**
 * Opens the audit of an existing feedback store and leaves its tables as they are: a program that only writes an audit entry
 * must not change tables that older workers use. Throws `FeedbackStoreUnavailable`.
 */
export async function openAudit(place: FeedbackStorePlace): Promise<OpenAudit> {
  if (place.kind === 'sqlite') return await (await import('./sqlite-store.ts')).openSqliteAudit(place.file);
  return await (await import('./postgres-store.ts')).openPostgresAudit(place);
}
