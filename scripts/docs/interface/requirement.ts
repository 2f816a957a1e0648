/**
 * A line of the service's interface: its id, what it says in short, and the tests that cover it, at least one.
 * `service/client > every operation > asks for …` is the test of that name in `test/service/client.test.ts`; a test with
 * a table is named by its template.
 */
export type Requirement = readonly [id: string, says: string, test: string, ...more: string[]];

/** Part of the interface with the lines it holds, in its order. */
export interface Section {
  readonly title: string;
  readonly requirements: readonly Requirement[];
}
