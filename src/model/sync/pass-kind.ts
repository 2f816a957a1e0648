/** What a sync pass reads (S4). */
export type PassKind = 'incremental' | 'review' | 'sweep';

/** All kinds of pass: `verify` reads again with spare requests (`budget.spare`). */
export type ReadingKind = PassKind | 'verify';

export const readingKinds: readonly ReadingKind[] = ['incremental', 'review', 'sweep', 'verify'];
