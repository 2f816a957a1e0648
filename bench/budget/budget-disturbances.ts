import { setTimeout as sleep } from 'node:timers/promises';
import { isOwn } from './budget-figures.ts';
import type { Stage } from './budget-stage.ts';

/** A kill -9 of a worker: when it was dead, in milliseconds since the epoch, and whether it was at work. */
export interface Kill {
  at: number;
  atWork: boolean;
}

/**
 * Another program of the organization: asks for something every `everyMs` until told to stop, and asks once for each,
 * so that a refusal is a request displaced.
 */
export async function burnBudget(stage: Stage, project: string, everyMs: number, stop: AbortSignal): Promise<void> {
  const headers = { Authorization: `Bearer ${stage.apiKey}` };
  const begin = performance.now();
  for (let count = 1; !stop.aborted; count++) {
    const response = await fetch(`${stage.serviceUrl}/v1/analytics/${project}/views`, { headers });
    await response.arrayBuffer();
    await pause(begin + count * everyMs - performance.now(), stop);
  }
}

/** Kills the worker at work, or else the one that was left alone the last time, every half window; starts it again. */
export async function killWorkers(stage: Stage, workflowId: string, stop: AbortSignal): Promise<Kill[]> {
  const { windowMs } = stage.options;
  const kills: Kill[] = [];
  let turn = 0;
  // Bursts begin at whole windows: early in one, then between two, and so on.
  await pause(windowMs / 12, stop);
  while (!stop.aborted) {
    const busy = await stage.workerOf(workflowId);
    await stage.replaceWorker(busy ?? turn % stage.workers.length);
    kills.push({ at: Date.now(), atWork: busy !== null });
    turn += 1;
    await pause(windowMs / 2, stop);
  }
  return kills;
}

/** Kills the Temporal server once half of the pages were asked for, and starts it again; how long it was away, in ms. */
export async function restartHalfWay(stage: Stage, pages: number, stop: AbortSignal): Promise<number | null> {
  while (!stop.aborted) {
    const own = (await stage.sandbox.log()).filter(isOwn);
    if (own.length < pages / 2) {
      await pause(100, stop);
      continue;
    }
    const since = performance.now();
    await stage.restartServer();
    return performance.now() - since;
  }
  return null;
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal: stop }).catch(() => {});
}
