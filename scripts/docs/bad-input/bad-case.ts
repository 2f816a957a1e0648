/**
 * A kind of bad input: what it is in short, and what shows that it does no harm. `zip64` alone is a rule of
 * verification, shown by the archives of `test/tools/archives/refusals.ts` that name the case; `bundle/download > download >
 * …` is the test of that name in `test/bundle/download/download.test.ts`.
 */
export type BadInput = readonly [says: string, shownBy: string, ...more: string[]];

/** A case with its id, which the tests name. */
export interface BadCase {
  readonly id: string;
  readonly title: string;
  readonly inputs: readonly BadInput[];
}
