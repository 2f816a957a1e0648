import { createHash } from 'node:crypto';

/** A row of either database by column. */
export type Row = Readonly<Record<string, unknown>>;

const modulus = 1n << 256n;

/**
 * Count and digest of rows in any order: the sum of the rows' own SHA-256. PostgreSQL hands whole numbers of `bigint` out
 * as text, so values are compared as text.
 */
export class RowsDigest {
  readonly #columns: readonly string[];
  #sum = 0n;
  rows = 0;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      const values = this.#columns.map((column) => textOf(row[column]));
      const digest = createHash('sha256').update(JSON.stringify(values)).digest('hex');
      this.#sum = (this.#sum + BigInt(`0x${digest}`)) % modulus;
    }
    this.rows += rows.length;
  }

  get digest(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
