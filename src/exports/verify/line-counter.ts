/** Line numbers of offsets in a text, counted from 1; fast when the offsets come in order. */
export class LineCounter {
  readonly #text: string;
  /** Where the line begins that was asked for last, its number, and where it ends. */
  #start = 0;
  #line = 1;
  #end = -1;

  constructor(text: string) {
    this.#text = text;
  }

  lineOf(at: number): number {
    if (at < this.#start || this.#end < 0) {
      this.#start = 0;
      this.#line = 1;
      this.#end = this.#endFrom(0);
    }
    while (this.#end < at) {
      this.#line += 1;
      this.#start = this.#end + 1;
      this.#end = this.#endFrom(this.#start);
    }
    return this.#line;
  }

  #endFrom(at: number): number {
    const end = this.#text.indexOf('\n', at);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}
