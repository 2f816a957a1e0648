/** Bytes from `start` up to, not including, `end`. */
export interface ByteSpan {
  start: number;
  end: number;
}

/** A set of bytes of a file, as spans that neither touch nor overlap, in order. */
export class ByteSpans {
  #spans: readonly ByteSpan[] = [];
  #count = 0;

  get spans(): readonly ByteSpan[] {
    return this.#spans;
  }

  /** How many bytes are in the set. */
  get count(): number {
    return this.#count;
  }

  add({ start, end }: ByteSpan): void {
    if (start >= end) return;
    const touching = this.#spans.filter((span) => span.start <= end && span.end >= start);
    const joined = {
      start: Math.min(start, ...touching.map((span) => span.start)),
      end: Math.max(end, ...touching.map((span) => span.end)),
    };
    this.#set([
      ...this.#spans.filter((span) => span.end < joined.start),
      joined,
      ...this.#spans.filter((span) => span.start > joined.end),
    ]);
  }

  remove({ start, end }: ByteSpan): void {
    if (start >= end) return;
    this.#set(
      this.#spans
        .flatMap((span) => [
          { start: span.start, end: Math.min(span.end, start) },
          { start: Math.max(span.start, end), end: span.end },
        ])
        .filter((span) => span.start < span.end),
    );
  }

  /** Where the first gap begins. */
  get prefix(): number {
    const [first] = this.#spans;
    return first?.start === 0 ? first.end : 0;
  }

  /** What is missing up to `total`, in order. */
  gaps(total: number): ByteSpan[] {
    const starts = [0, ...this.#spans.map((span) => span.end)];
    const ends = [...this.#spans.map((span) => span.start), total];
    return starts
      .map((start, index) => ({ start, end: Math.min(ends[index] ?? total, total) }))
      .filter((gap) => gap.start < gap.end);
  }

  #set(spans: readonly ByteSpan[]): void {
    this.#spans = spans;
    this.#count = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  }
}
