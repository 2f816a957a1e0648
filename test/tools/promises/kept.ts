/** A promise after a run: what was looked at, and what was found. */
export interface Kept {
  promise: string;
  looked: string;
  found: string;
  ok: boolean;
}

/** Reads tables past the store, as another program would. */
export interface Tables {
  rows(sql: string): Promise<Record<string, unknown>[]>;
}
