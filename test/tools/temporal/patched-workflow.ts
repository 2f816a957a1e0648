import { deprecatePatch, patched, proxyActivities } from '@temporalio/workflow';

/**
 * The builds of `docs/upgrading.md`, in order: `before` a step was added, `patched` with it, `deprecated` when no history
 * lacks it any more, `after` when none has the patch's mark. A line before the bundle says which one this is.
 */
export const builds = ['before', 'patched', 'deprecated', 'after'] as const;
export type Build = (typeof builds)[number];

interface Steps {
  fetchIt(): Promise<void>;
  checkIt(): Promise<void>;
  publishIt(): Promise<void>;
}

const { fetchIt, checkIt, publishIt } = proxyActivities<Steps>({ startToCloseTimeout: '1m' });

/** Fetches and publishes; newer builds check in between. */
export async function carry(): Promise<void> {
  const build: Build = Reflect.get(globalThis, 'build');
  await fetchIt();
  if (build === 'deprecated') deprecatePatch('check-first');
  if (build === 'patched' ? patched('check-first') : build !== 'before') await checkIt();
  await publishIt();
}
