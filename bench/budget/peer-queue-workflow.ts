import { proxyActivities } from '@temporalio/workflow';

export interface PeerActivities {
  readPage(input: { cursor: string | null }): Promise<{ entries: number; nextCursor: string | null }>;
}

/** The plain way on Temporal: one page an activity, on a task queue with a rate limit of the server. */
export async function readAllPages({ pagesQueue }: { pagesQueue: string }): Promise<number> {
  const { readPage } = proxyActivities<PeerActivities>({
    taskQueue: pagesQueue,
    startToCloseTimeout: '30s',
    scheduleToCloseTimeout: '1h',
    retry: { initialInterval: '1s' },
  });
  let entries = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage({ cursor });
    entries += page.entries;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return entries;
}
