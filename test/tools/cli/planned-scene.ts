import { join } from 'node:path';
import type { PassKind } from '../../../src/feedback/rules/pass-bounds.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { entry } from '../feedback/temporary-store.ts';

const dayMs = 86_400_000;

/** What a project has been through. */
export interface ProjectStory {
  project: string;
  /** New entries on each of the last 30 days. */
  perDay: number;
  /** Requests of each completed run, an hour apart, the last one just now. */
  runs: { [Pass in PassKind]?: readonly number[] };
}

/** Fills the feedback store of a folder with entries and completed passes, as syncs would have. */
export async function storeStories(folder: string, stories: readonly ProjectStory[]): Promise<void> {
  const store = await openSqliteFeedbackStore(join(folder, 'data/feedback.db'));
  const now = Date.now();
  for (const { project, perDay, runs } of stories) {
    const entries = Array.from({ length: 30 * perDay }, (_, n) =>
      entry(`${project}-${n}`, { createdAt: new Date(now - ((n + 0.5) * dayMs) / perDay).toISOString() }),
    );
    for (const pass of ['sweep', 'review', 'incremental'] as const) {
      for (const [nth, requests] of (runs[pass] ?? []).entries()) {
        const passId = `${project}-${pass}-${nth}`;
        const startedAt = new Date(now - ((runs[pass]?.length ?? 0) - 1 - nth) * 3_600_000);
        const workflow = { workflowId: `sync:acme:${project}:${pass}`, runId: passId };
        const dateFrom = pass === 'incremental' ? new Date(startedAt.getTime() - dayMs).toISOString() : null;
        await store.beginPass({ passId, org: 'acme', project, pass, ...workflow, dateFrom, dateTo: null, startedAt });
        await store.upsertPage({
          passId,
          from: { page: 0, cursor: null, complete: false },
          // An incremental pass finds what came in on its day, which was read before.
          entries: pass === 'sweep' ? entries : pass === 'incremental' ? entries.slice(0, perDay) : [],
          rejected: [],
          nextCursor: null,
          hasMore: false,
          requests,
          seenAt: startedAt,
        });
        await store.finishPass(passId, { outcome: 'completed', error: null, waitedMs: 0, finishedAt: startedAt });
      }
    }
  }
  await store.close();
}
