import { boundsOfPass } from '../rules/pass-bounds.ts';
import type { PassKind } from '../rules/pass-kind.ts';
import { expectedPagesOf, type FirstSlices, firstSlices, type PassBounds } from '../rules/plan-slices.ts';
import { pagesOf } from '../rules/slice.ts';
import type { EntryStore } from '../store/entry-store.ts';

export interface PassQuestion {
  org: string;
  project: string;
  pass: PassKind;
  /** Bounds given by a person, checked by `boundsProblem`. */
  from?: string;
  to?: string;
}

/** What a pass would do if it began now; no request is made for it (S4, `feedback sync --plan`). */
export interface PlannedPass extends FirstSlices {
  bounds: PassBounds & { reason: string };
  /** Requests for what is planned; null while the store knows too little. */
  expectedRequests: number | null;
  /** Requests it will not exceed except for failures and new entries; null where that is unknown. */
  mostRequests: number | null;
}

/** Plans a pass from what the store knows. */
export async function planPass(
  store: Pick<EntryStore, 'watermark' | 'storedCounts'>,
  { org, project, pass, from, to }: PassQuestion,
): Promise<PlannedPass> {
  const bounds = boundsOfPass({
    pass,
    watermark: await store.watermark(org, project),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  });
  const counts = await store.storedCounts(org, project, bounds);
  const first = firstSlices(pass, bounds, counts);
  const isReview = first.slices.some(({ stage }) => stage === 'open');
  return {
    ...first,
    bounds,
    expectedRequests: expectedPagesOf(first.slices),
    mostRequests: isReview ? pagesOf(counts.stored) : null,
  };
}
