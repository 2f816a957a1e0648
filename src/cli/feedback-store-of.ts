import type { Config } from '../config/config.ts';
import type { FeedbackStore } from '../feedback/feedback-store.ts';
import { openSqliteFeedbackStore } from '../feedback/sqlite-store.ts';

/** Opens the configured feedback store for as long as the work takes. Throws `FeedbackStoreUnavailable`. */
export async function withFeedbackStore<Result>(
  config: Config,
  work: (store: FeedbackStore) => Promise<Result>,
): Promise<Result> {
  const store = await openSqliteFeedbackStore(config.store.feedback.file);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
