/** Lets a number of pieces of work be done at a time; the others wait for their turn, first come, first served. */
export class WorkSlots {
  /** May change at any time. */
  most: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Does the work once it has a slot. Throws what the work throws, and the signal's reason if that comes first. */
  async use<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      this.#next();
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.push(begin);
      this.#next();
    });
  }

  #next(): void {
    while (this.#busy < this.most) {
      const begin = this.#waiting.shift();
      if (!begin) return;
      this.#busy += 1;
      begin();
    }
  }
}
