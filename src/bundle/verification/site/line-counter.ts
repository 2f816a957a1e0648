/** Line numbers of offsets in a text, counted from 1; fast when the offsets come in order. */
export class LineCounter {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  lineOf(at: number): number {
    if (at < this.#at) {
      this.#at = 0;
      this.#line = 1;
    }
    for (
      let next = this.#text.indexOf('\n', this.#at);
      next >= 0 && next < at;
      next = this.#text.indexOf('\n', next + 1)
    ) {
      this.#line += 1;
      this.#at = next + 1;
    }
    return this.#line;
  }
}
