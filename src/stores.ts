import type { BundleStore } from './bundle/bundle-store.ts';
import { DirectoryBundleStore } from './bundle/directory-store.ts';
import type { Config } from './config/config.ts';
import type { FeedbackStore } from './feedback/feedback-store.ts';
import { openFeedbackStore } from './feedback/open-feedback-store.ts';

/** The stores the configuration names, opened. The caller closes the feedback store. */
export async function openStores(config: Config): Promise<{ feedback: FeedbackStore; bundles: BundleStore }> {
  const { directory, publicUrl } = config.store.bundles;
  const bundles = await DirectoryBundleStore.open({ root: directory, publicUrl });
  return { bundles, feedback: await openFeedbackStore(config.store.feedback) };
}
