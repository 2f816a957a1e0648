const measuredMs = 10_000;
const shortestMs = 500;

/** Bytes per second over the last ten seconds of a download. */
export class TransferSpeed {
  #samples: { at: number; offset: number }[] = [];

  /** Notes the bytes on disk at a moment in milliseconds. Fewer than before means that the download started over. */
  add(at: number, offset: number): void {
    const last = this.#samples.at(-1);
    if (last && offset < last.offset) this.#samples = [];
    this.#samples = [...this.#samples.filter((sample) => at - sample.at <= measuredMs), { at, offset }];
  }

  /** Null until there is enough to tell. */
  get bytesPerSecond(): number | null {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.at - first.at < shortestMs) return null;
    return ((last.offset - first.offset) * 1000) / (last.at - first.at);
  }
}
