/** What the Parquet library takes for a value. */
export type ParquetValue = string | boolean | bigint | null;

/** The values of one column, collected until the row group is encoded. */
export interface ColumnValues<Value> {
  add(value: Value | null): void;
  /** The values in their order, in a new list. */
  decoded(): ParquetValue[];
  clear(): void;
}

const none = -1;
const firstBytes = 16 * 1024;

/**
 * Texts as UTF-8 in one buffer. Tens of thousands of strings would outlive the collections of the young heap, and the
 * old one grows to several times what is alive before it is collected.
 */
export class TextValues implements ColumnValues<string> {
  #bytes = Buffer.allocUnsafeSlow(firstBytes);
  #used = 0;
  /** Where each text ends in the buffer; `none` for null. */
  readonly #ends: number[] = [];

  add(text: string | null): void {
    if (text !== null) {
      this.#makeRoom(text);
      this.#used += this.#bytes.write(text, this.#used, 'utf8');
    }
    this.#ends.push(text === null ? none : this.#used);
  }

  decoded(): (string | null)[] {
    let start = 0;
    return this.#ends.map((end) => {
      if (end === none) return null;
      const text = this.#bytes.toString('utf8', start, end);
      start = end;
      return text;
    });
  }

  clear(): void {
    this.#used = 0;
    this.#ends.length = 0;
  }

  #makeRoom(text: string): void {
    // A UTF-16 unit takes three bytes at most.
    const needed = this.#used + text.length * 3;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}

/** Milliseconds since the epoch. */
export class InstantValues implements ColumnValues<number> {
  readonly #ms: number[] = [];

  add(ms: number | null): void {
    this.#ms.push(ms ?? Number.NaN);
  }

  decoded(): (bigint | null)[] {
    return this.#ms.map((ms) => (Number.isNaN(ms) ? null : BigInt(ms)));
  }

  clear(): void {
    this.#ms.length = 0;
  }
}

export class FlagValues implements ColumnValues<boolean> {
  readonly #flags: (boolean | null)[] = [];

  add(flag: boolean | null): void {
    this.#flags.push(flag);
  }

  decoded(): (boolean | null)[] {
    return [...this.#flags];
  }

  clear(): void {
    this.#flags.length = 0;
  }
}
