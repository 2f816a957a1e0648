import { AsyncLocalStorage } from 'node:async_hooks';

const urgency = new AsyncLocalStorage<true>();

/** Does the work ahead of all that waits for a slot, and where all are taken, one at a time beside them. */
export const urgently = <Result>(work: () => Result): Result => urgency.run(true, work);

/** Does so much work at a time, first come, first served. Urgent work never waits for other work. */
export class Semaphore {
  most: number;
  readonly #waiting = { urgent: [] as (() => void)[], usual: [] as (() => void)[] };
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
    const waiting = urgency.getStore() ? this.#waiting.urgent : this.#waiting.usual;
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(begin);
      this.#next();
    });
  }

  #next(): void {
    const { urgent, usual } = this.#waiting;
    for (;;) {
      const most = urgent.length > 0 ? this.most + 1 : this.most;
      const begin = this.#busy < most ? (urgent.shift() ?? usual.shift()) : undefined;
      if (!begin) return;
      this.#busy += 1;
      begin();
    }
  }
}
