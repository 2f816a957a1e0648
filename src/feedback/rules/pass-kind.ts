/** What a sync pass reads (S4). */
export type PassKind = 'incremental' | 'review' | 'sweep';

/** All kinds of pass: `verify` reads again with spare requests (`budget.spare`). */
export type ReadingKind = PassKind | 'verify';

/** How a pass ends, and that it has not. */
export const passOutcomes = ['running', 'completed', 'failed', 'cancelled'] as const;
export type PassOutcome = (typeof passOutcomes)[number];

export const readingKinds: readonly ReadingKind[] = ['incremental', 'review', 'sweep', 'verify'];
