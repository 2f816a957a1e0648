import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { inBatches } from '../../src/temporal/runs.ts';
import type { Track } from '../tools/track.ts';
import type { bareExport, bareSync } from './fleet-bare-workflows.ts';
import { type FleetHistories, fleetHistories } from './fleet-histories.ts';
import { exportOrg, type FleetSize, fleetOrganizations } from './fleet-size.ts';
import { FleetStage, type Program, type Usage } from './fleet-stage.ts';

export type Load = 'exports' | 'syncs';

export interface FleetRun {
  load: Load;
  program: Program;
  workers: number;
  histories: FleetHistories;
  usage: Usage;
  /** What the service was asked for. */
  requests: { analytics: number; export: number; storage: number };
}

const startsAtOnce = 50;
const longestRunMs = 1_200_000;
const workflowTypes = {
  docferry: { exports: 'exportSite', syncs: 'syncFeedback' },
  bare: { exports: 'bareExport', syncs: 'bareSync' },
} as const;
const statsSchema = z.object({
  requests: z.object({ analytics: z.number(), export: z.number(), storage: z.number() }),
});

/** Starts everything at once on a fresh stage and waits for the last of it. */
export async function runFleet(
  load: Load,
  program: Program,
  { workers, size, track }: { workers: number; size: FleetSize; track: Track },
): Promise<FleetRun> {
  const opening = FleetStage.open({ ...size, program, workers });
  track(opening);
  const stage = await opening;
  try {
    const before = await stage.usage();
    const type = workflowTypes[program][load];
    const started = await start(stage, load, program, size);
    await untilEnded(stage, type, started);
    const after = await stage.usage();
    const histories = await fleetHistories(stage.client, type);
    if (histories.completed !== started) {
      throw new Error(`${histories.completed} of ${started} completed:\n${stage.said().slice(-4_000)}`);
    }
    const stats = await fetch(`${stage.serviceUrl}/control/stats`);
    return {
      load,
      program,
      workers,
      histories,
      usage: {
        workers: after.workers - before.workers,
        temporal: after.temporal - before.temporal,
        service: after.service - before.service,
        peak: after.peak,
      },
      requests: statsSchema.parse(await stats.json()).requests,
    };
  } finally {
    await stage.stop();
  }
}

/** Gives how many workflows it started. */
async function start(stage: FleetStage, load: Load, program: Program, size: FleetSize): Promise<number> {
  const { client, taskQueue } = stage;
  const listed = fleetOrganizations(size);
  if (load === 'exports') {
    const domains = listed.flatMap((organization) => organization.domains);
    await inBatches(domains, startsAtOnce, async (domain) => {
      if (program === 'docferry') {
        return startExport(
          client,
          taskQueue,
          { org: exportOrg, domain, parameters: {}, failover: size.failover },
          'refuse',
        );
      }
      return client.workflow.start<typeof bareExport>('bareExport', {
        taskQueue,
        workflowId: `bare:${domain}`,
        args: [{ domain }],
      });
    });
    return domains.length;
  }
  const projects = listed.flatMap(({ id: org, projects: ids }) => ids.map((project) => ({ org, project })));
  await inBatches(projects, startsAtOnce, async (place) => {
    if (program === 'docferry')
      return startSync(client, taskQueue, { ...place, pass: 'sweep', failover: size.failover });
    return client.workflow.start<typeof bareSync>('bareSync', {
      taskQueue,
      workflowId: `bare:${place.project}`,
      args: [place],
    });
  });
  return projects.length;
}

/** By what has ended: what was started a moment ago may not be listed as running yet. */
async function untilEnded(stage: FleetStage, workflowType: string, started: number): Promise<void> {
  const giveUpAt = Date.now() + longestRunMs;
  const ended = '"Completed", "Failed", "Canceled", "Terminated", "TimedOut"';
  const query = `WorkflowType = "${workflowType}" AND ExecutionStatus IN (${ended})`;
  for (;;) {
    await sleep(1_000);
    const { count } = await stage.client.workflow.count(query);
    if (count >= started) return;
    const open = started - count;
    if (Date.now() > giveUpAt) throw new Error(`${open} have not ended:\n${stage.said().slice(-4_000)}`);
  }
}
