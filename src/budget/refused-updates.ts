import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';

/** Updates of one workflow that a process sends at a time. The server takes ten, of all processes together. */
const mostInFlight = 5;

/** Work for each of several workflows, a few at a time for each; the others wait in their order. */
export class InFlight {
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    await this.#enter(name);
    try {
      return await work();
    } finally {
      this.#leave(name);
    }
  }

  async #enter(name: string): Promise<void> {
    const running = this.#running.get(name) ?? 0;
    if (running < mostInFlight) {
      this.#running.set(name, running + 1);
      return;
    }
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, waiting);
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** Its place goes to the next. */
  #leave(name: string): void {
    const next = this.#waiting.get(name)?.shift();
    if (next) next();
    else this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
  }
}

/** Codes of gRPC with which the server refuses an update before it arrives. */
const resourceExhausted = 8;
const failedPrecondition = 9;

/** The workflow has ten updates already, of other processes: they are answered soon. */
const crowdedForMs = 60_000;
/** Its last workflow task counts as failed, as when messages cross its continue-as-new; or it has no worker. */
const betweenTasksForMs = 5_000;
const pauseMs = 250;

/** Sends an update, which has an id or may be repeated, until the server admits it; throws what it was refused with last. */
export async function untilAdmitted<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  const since = performance.now();
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const passed = performance.now() - since;
      const isRefused =
        (hasCode(error, new Set([resourceExhausted])) && passed < crowdedForMs) ||
        (hasCode(error, new Set([failedPrecondition])) && passed < betweenTasksForMs);
      if (!isRefused) throw error;
      // Processes that were refused together do not come again together.
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** Whether a call ended with one of these codes of gRPC, whatever the error is wrapped in. */
export function hasCode(error: unknown, codes: ReadonlySet<number>): boolean {
  if (isGrpcServiceError(error)) return codes.has(error.code);
  return error instanceof Error && error.cause !== undefined && hasCode(error.cause, codes);
}
