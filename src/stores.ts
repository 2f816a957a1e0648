import type { BundleStore } from './exports/store/bundle-store.ts';
import type { Config } from './config/config.ts';
import type { FeedbackStore } from './feedback/store/feedback-store.ts';
import { openFeedbackStore } from './feedback/store/open-feedback-store.ts';
import { feedbackPrivacy } from './feedback/privacy/feedback-privacy.ts';
import { openBundleStore } from './exports/store/open-bundle-store.ts';

/** Opens the configured stores and checks that they are writable. The caller closes the feedback store. */
export async function openStores(config: Config): Promise<{ feedback: FeedbackStore; bundles: BundleStore }> {
  const bundles = await openBundleStore(config.store.bundles);
  await bundles.checkWritable();
  return { bundles, feedback: await openFeedbackStore(config.store.feedback, feedbackPrivacy(config.privacy)) };
}
