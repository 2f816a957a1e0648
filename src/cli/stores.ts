import type { BundleStoreConfig, Config } from '../config/config.ts';
import { locationText } from '../exports/store/bundle-store.ts';
import { feedbackPrivacy } from '../feedback/privacy/privacy.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import { openFeedbackStore } from '../feedback/store/open-feedback-store.ts';

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

/** Where the configured bundle store is, for people. */
export function bundlePlace(bundles: BundleStoreConfig): string {
  return bundles.kind === 'directory' ? bundles.directory : locationText(bundles);
}
