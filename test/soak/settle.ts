import { setTimeout as sleep } from 'node:timers/promises';
import type { PassKind } from '../../src/feedback/rules/sync.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { organizations } from './soak-config.ts';
import { type SoakScene, taskQueue } from './soak-scene.ts';
import { calm } from './strike.ts';

const quietWithinMs = 600_000;
const lookEveryMs = 1_000;
const everEnding = '"rateBudget", "watchOrganization"';

/**
 * Quiet: nothing is disturbed any more, what was begun ends, every project is read in each way, and every site is
 * exported twice.
 */
export async function settle(scene: SoakScene, onProgress: (line: string) => void): Promise<void> {
  onProgress('calm');
  await calm(scene);
  await scene.docferry(['schedules', 'pause', '--all', '--note', 'the soak is over']);
  await untilQuiet(scene);
  while (!(await scene.fleet.retire())) await sleep(lookEveryMs);
  // An entry without a date is gone when two sweeps have missed it.
  for (const pass of ['incremental', 'review', 'sweep', 'sweep'] as const) {
    onProgress(`last ${pass}`);
    await readEverything(scene, pass);
  }
  for (const round of ['next to last', 'last']) {
    onProgress(`${round} exports`);
    await exportEverything(scene);
  }
  await untilQuiet(scene);
}

async function readEverything({ client, settings }: SoakScene, pass: PassKind): Promise<void> {
  const { failover } = settings;
  const syncs = organizations.flatMap(({ id: org, projects }) =>
    projects.map(async ({ id: project }) => {
      const sync = await startSync(client, taskQueue, { org, project, pass, failover });
      await sync.result();
    }),
  );
  await Promise.all(syncs);
}

async function exportEverything({ client, settings }: SoakScene): Promise<void> {
  const { failover } = settings;
  const exports = organizations.flatMap(({ id: org, domains }) =>
    domains.map(async (domain) => {
      const { handle } = await startExport(client, taskQueue, { org, domain, parameters: {}, failover }, 'refuse');
      await handle.result();
    }),
  );
  await Promise.all(exports);
}

/** Until only what never ends runs. Visibility is behind by moments: what it says is believed the third time. */
async function untilQuiet({ client }: SoakScene): Promise<void> {
  const query = `ExecutionStatus = "Running" AND WorkflowType NOT IN (${everEnding})`;
  const giveUpAt = Date.now() + quietWithinMs;
  for (let quiet = 0; quiet < 3; ) {
    const { count } = await client.workflow.count(query);
    quiet = count === 0 ? quiet + 1 : 0;
    if (Date.now() > giveUpAt) {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
      throw new Error(`these have not ended: ${ids.slice(0, 10).join(', ')}`);
    }
    await sleep(lookEveryMs);
  }
}
