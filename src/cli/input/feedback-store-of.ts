import type { Config } from '../../config/config.ts';
import type { FeedbackStore } from '../../feedback/feedback-store.ts';
import { openFeedbackStore } from '../../feedback/open-feedback-store.ts';
import { feedbackPrivacy } from '../../wiring/feedback-privacy.ts';

/** Opens the configured feedback store for as long as the work takes. Throws `FeedbackStoreUnavailable`. */
export async function withFeedbackStore<Result>(
  config: Config,
  work: (store: FeedbackStore) => Promise<Result>,
): Promise<Result> {
  const store = await openFeedbackStore(config.store.feedback, feedbackPrivacy(config.privacy));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
