import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PassKind } from '../../src/feedback/rules/sync.ts';
import { resolveBinary } from '../../src/local/binaries.ts';
import { TemporalBinaryMissing } from '../../src/local/run-command.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { markdownTable } from '../tools/markdown-table.ts';
import { postgresBinaries } from '../tools/servers/postgres-binaries.ts';
import { s3ServerProgram } from '../tools/servers/s3-server.ts';
import { temporalClusterTool } from '../tools/servers/temporal-cluster-tool.ts';
import { type ClusterPrograms, ClusterScene, failover, organizations } from './cluster-scene.ts';
import { disturb } from './disturbances.ts';
import { checkPromises } from './promises-kept.ts';

/**
 * A cluster as companies run it, under load, while every part of it is killed: two workers, Temporal's own server,
 * PostgreSQL, and in the end all of them at once. Afterwards the promises are checked against the service's log and the
 * stores, and a table is printed.
 */

/** Building the server takes minutes, once. */
const buildLimitMs = 3_600_000;
const runLimitMs = 900_000;

let programs: ClusterPrograms | null = null;
let scene: ClusterScene;

async function findPrograms(): Promise<ClusterPrograms | null> {
  const [postgres, s3] = [postgresBinaries(), await s3ServerProgram()];
  if (postgres === null) process.stderr.write('PostgreSQL is not installed (apt-get install postgresql)\n');
  if (postgres === null || s3 === null) return null;
  try {
    const onProgress = (line: string) => process.stderr.write(`${line}\n`);
    return { postgres, s3, temporalServer: (await resolveBinary(temporalClusterTool, { onProgress })).path };
  } catch (error) {
    if (!(error instanceof TemporalBinaryMissing)) throw error;
    process.stderr.write(`${error.message}\n${error.hint}\n`);
    return null;
  }
}

beforeAll(async () => {
  programs = await findPrograms();
  if (programs !== null) scene = await ClusterScene.begin(programs);
}, buildLimitMs);

afterAll(() => scene?.end(), 120_000);

/** Asks for an export of every site, each of them twice: the second request joins the first (E1). */
async function exportEverySite(): Promise<number> {
  const { client, taskQueue } = scene;
  const starts = organizations.flatMap(({ id: org, domains }) =>
    domains.map(async (domain) => {
      const input = { org, domain, parameters: {}, failover };
      const first = await startExport(client, taskQueue, input, 'join');
      expect(first.joined).toBe(false);
      const second = await startExport(client, taskQueue, input, 'join');
      return second.joined ? 1 : 0;
    }),
  );
  return (await Promise.all(starts)).reduce<number>((sum, joined) => sum + joined, 0);
}

async function readEveryProject(passes: readonly PassKind[]): Promise<void> {
  const inputs = organizations.flatMap(({ id: org, projects }) =>
    projects.flatMap((project) =>
      passes.map((pass) => ({ org, project, pass, class: 'incremental' as const, failover })),
    ),
  );
  await Promise.all(inputs.map((input) => startSync(scene.client, scene.taskQueue, input)));
}

/** Workflow ids of exports and passes that have not ended; null while Temporal does not say. */
async function stillRunning(): Promise<string[] | null> {
  const query = `ExecutionStatus = "Running" AND WorkflowType != "rateBudget"`;
  try {
    const ids: string[] = [];
    for await (const { workflowId } of scene.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  } catch {
    return null;
  }
}

async function untilAllEnded(): Promise<void> {
  const giveUpAt = Date.now() + 300_000;
  // Visibility is behind by moments: what it says is believed the second time.
  for (let quiet = 0; quiet < 2; ) {
    const running = await stillRunning();
    quiet = running?.length === 0 ? quiet + 1 : 0;
    if (Date.now() > giveUpAt) throw new Error(`${running} have not ended:\n${scene.said().slice(-4_000)}`);
    await sleep(1_000);
  }
}

/** Every third site has a new revision, every project new entries, and some that were pending are resolved. */
function theServiceGoesOn(): string[] {
  const { sandbox } = scene;
  const changed: string[] = [];
  for (const { projects, domains } of organizations) {
    for (const domain of domains.filter((_, place) => place % 3 === 0)) {
      sandbox.publishRevision(domain);
      changed.push(domain);
    }
    for (const project of projects) {
      sandbox.addEntries(project, { count: 3 });
      const entries = [...sandbox.truth(project)] as ({ id?: unknown; status?: unknown } | null)[];
      const pending = entries.filter((entry) => entry?.status === 'pending' && typeof entry.id === 'string');
      const changes = pending.slice(0, 2).map((entry) => ({ id: String(entry?.id), status: 'resolved' }));
      sandbox.changeEntries(project, changes);
    }
  }
  return changed;
}

describe('a hundred sites and thirty projects on a cluster of two workers', () => {
  it(
    'keep every promise, whatever is killed',
    async (context) => {
      if (programs === null) return context.skip();
      const begun = Date.now();
      await Promise.all([scene.startWorker(0), scene.startWorker(1)]);
      const [joined] = await Promise.all([exportEverySite(), readEveryProject(['sweep'])]);
      const first = await disturb(scene, ['worker 1', 'worker 2', 'Temporal', 'PostgreSQL']);
      await untilAllEnded();
      const firstSeconds = (Date.now() - begun) / 1_000;
      process.stderr.write(`  first round: ${firstSeconds.toFixed(0)} s\n`);

      const changed = theServiceGoesOn();
      const joinedAgain = await exportEverySite();
      await readEveryProject(['incremental', 'review']);
      const second = await disturb(scene, ['everything at once']);
      await untilAllEnded();

      const kept = await checkPromises(scene, { changed: new Set(changed), rounds: 2, joined: joined + joinedAgain });
      const seconds = ((Date.now() - begun) / 1_000).toFixed(0);
      process.stderr.write(
        [
          '',
          `100 sites, 30 projects, 3 organizations, 2 workers: 200 exports and 90 passes in ${seconds} s`,
          '',
          ...markdownTable(['killed with -9', 'when', 'the service hears of us again after'], [...first, ...second]),
          '',
          ...markdownTable(
            ['promise', 'looked at', 'result'],
            kept.map(({ promise, looked, found }) => [promise, looked, found]),
          ),
          '',
        ].join('\n'),
      );
      expect(kept.filter(({ ok }) => !ok)).toEqual([]);
    },
    runLimitMs,
  );
});
