import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ClusterScene } from './cluster-scene.ts';

type Victim = 'worker 1' | 'worker 2' | 'Temporal' | 'PostgreSQL' | 'everything at once';

/** How long a part is away, as if a supervisor started it again. */
const awayMs = 2_000;
/** Requests between two disturbances, so that each strikes in the middle of the work. */
const between = 120;

/** Kills one part after the other while the work goes on; a row for each, for the table. */
export async function disturb(scene: ClusterScene, victims: readonly Victim[]): Promise<string[][]> {
  const rows: string[][] = [];
  for (const victim of victims) {
    const before = scene.sandbox.log().length;
    await expect
      .poll(() => scene.sandbox.log().length, { timeout: 180_000, interval: 20 })
      .toBeGreaterThanOrEqual(before + between);
    const at = requests(scene);
    const when = `${at.analytics} feedback requests, ${at.export} of exports, ${at.storage} downloads`;
    await strike(scene, victim);
    const restartedAt = Date.now();
    await expect
      .poll(() => scene.sandbox.log().some((entry) => entry.at > restartedAt), { timeout: 180_000, interval: 20 })
      .toBe(true);
    const next = scene.sandbox.log().find((entry) => entry.at > restartedAt);
    rows.push([victim, when, `${(((next?.at ?? restartedAt) - restartedAt) / 1_000).toFixed(1)} s`]);
    process.stderr.write(`  killed: ${victim} after ${when}\n`);
  }
  return rows;
}

async function strike(scene: ClusterScene, victim: Victim): Promise<void> {
  const { temporal, postgres } = scene;
  switch (victim) {
    case 'worker 1':
    case 'worker 2': {
      const machine = victim === 'worker 1' ? 0 : 1;
      await scene.killWorker(machine);
      return scene.startWorker(machine);
    }
    case 'Temporal':
      await temporal.kill();
      await sleep(awayMs);
      return temporal.start();
    case 'PostgreSQL':
      await postgres.crash();
      await sleep(awayMs);
      return postgres.start();
    case 'everything at once':
      await Promise.all([scene.killWorker(0), scene.killWorker(1), temporal.kill(), postgres.crash()]);
      await sleep(awayMs);
      await postgres.start();
      await temporal.start();
      await Promise.all([scene.startWorker(0), scene.startWorker(1)]);
  }
}

interface Requests {
  analytics: number;
  export: number;
  storage: number;
}

function requests(scene: ClusterScene): Requests {
  const counts = { analytics: 0, export: 0, storage: 0, other: 0 };
  for (const { kind } of scene.sandbox.log()) counts[kind] += 1;
  return counts;
}
