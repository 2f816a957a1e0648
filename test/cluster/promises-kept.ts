import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { budgetView } from '../../src/budget/client.ts';
import { leftInBucket } from '../tools/bundle/left-in-bucket.ts';
import { entriesKept } from '../tools/promises/entries-kept.ts';
import { exportsApart } from '../tools/promises/exports-apart.ts';
import { replaysKept, secretsKept } from '../tools/promises/histories-kept.ts';
import type { Kept } from '../tools/promises/kept.ts';
import { type Recorded, recordedWorkflows } from '../tools/temporal/recorded-workflows.ts';
import { budget, type ClusterScene, organizations, storePrefix } from './cluster-scene.ts';

interface Done {
  /** Domains that had a new revision before the last round. */
  changed: ReadonlySet<string>;
  rounds: number;
  /** Second requests that joined a running export. */
  joined: number;
}

const domains = organizations.flatMap((organization) => organization.domains);
const projects = organizations.flatMap((organization) => organization.projects);

/** Checks what docs/promises.md says against the service's log, the stores and every history. */
export async function checkPromises(scene: ClusterScene, done: Done): Promise<Kept[]> {
  const recorded = await recordedWorkflows(scene.client);
  return [
    neverOver(scene),
    await entriesKept(scene.sandbox, scene.database, projects),
    await oneAtATime(scene, done),
    ...(await wholeVersions(scene)),
    await idleWhenNothingChanged(scene, done),
    await everyRunLeavesARow(scene, done),
    await noSecrets(scene, recorded),
    await replaysKept(recorded),
    await nothingLeft(scene),
    tasks(recorded),
  ];
}

function neverOver({ sandbox }: ClusterScene): Kept {
  const most = organizations.map(({ id }) => sandbox.maxInAnyWindow(id));
  const refused = sandbox.log().filter(({ kind, status }) => kind === 'analytics' && status === 429).length;
  const requests = sandbox.log().filter(({ kind }) => kind === 'analytics').length;
  return {
    promise: 'B1',
    looked: `${requests} requests for feedback`,
    found: `at most ${most.join(', ')} of ${budget.requests} in any ${budget.windowMs / 1_000} s; ${refused} answered 429`,
    ok: refused === 0 && most.every((count) => count <= budget.requests),
  };
}

async function oneAtATime({ database }: ClusterScene, { joined }: Done): Promise<Kept> {
  const { runs, overlaps } = await exportsApart(database);
  return {
    promise: 'E1',
    looked: `${runs} exports, each requested twice`,
    found: `${joined} requests joined the running export; ${overlaps} exports overlapped`,
    ok: overlaps === 0 && joined > 0,
  };
}

const auditSchema = z.object({
  ok: z.boolean(),
  checked: z.object({ versions: z.number() }),
  domains: z.array(z.object({ domain: z.string(), current: z.string().nullable() })),
});

async function wholeVersions(scene: ClusterScene): Promise<Kept[]> {
  const audit = auditSchema.parse(await scene.docferry(['store', 'verify']));
  const current = new Map(audit.domains.map(({ domain, current: version }) => [domain, version]));
  const missing = domains.filter((domain) => !current.get(domain));
  const left = await leftInBucket(scene.s3, storePrefix);
  const released = organizations[0]?.domains ?? [];
  const links = await Promise.all(
    released.map(async (domain) => readlink(join(scene.releaseFolder(domain), 'current')).catch(() => null)),
  );
  const wrong = released.filter((domain, place) => links[place] !== `releases/${current.get(domain)}`);
  return [
    {
      promise: 'E4, E5',
      looked: `${audit.checked.versions} versions by \`store verify\``,
      found:
        `${audit.ok ? 'all good' : 'NOT good'}; ${missing.length} sites without a current version; ${left.length} objects or uploads of no version ${left.slice(0, 3).join(' ')}`.trim(),
      ok: audit.ok && missing.length === 0 && left.length === 0,
    },
    {
      promise: 'E9',
      looked: `${released.length} folder targets`,
      found: `${wrong.length} not at the current version`,
      ok: wrong.length === 0,
    },
  ];
}

async function idleWhenNothingChanged({ database }: ClusterScene, { changed }: Done): Promise<Kept> {
  const rows = await database.rows('select domain, outcome from export_runs order by domain, started_at');
  const last = new Map(rows.map(({ domain, outcome }) => [String(domain), String(outcome)]));
  const wrong = domains.filter((domain) => last.get(domain) !== (changed.has(domain) ? 'published' : 'unchanged'));
  return {
    promise: 'E6',
    looked: `the last exports of ${changed.size} changed and ${domains.length - changed.size} unchanged sites`,
    found: wrong.length === 0 ? 'published and unchanged' : `other outcomes: ${wrong.slice(0, 5).join(', ')}`,
    ok: wrong.length === 0,
  };
}

async function everyRunLeavesARow({ database }: ClusterScene, { rounds }: Done): Promise<Kept> {
  const exported = await database.rows('select domain, count(*)::int as runs from export_runs group by domain');
  const passes = await database.rows(
    'select project_id, pass, count(*)::int as runs, min(outcome) as outcome from sync_passes group by project_id, pass',
  );
  const sum = (rows: Record<string, unknown>[]) => rows.reduce((total, { runs }) => total + Number(runs), 0);
  const complete = passes.filter(({ runs, outcome }) => runs === 1 && outcome === 'completed');
  return {
    promise: 'X4',
    looked: `${domains.length * rounds} exports, ${projects.length * 3} passes`,
    found: `${sum(exported)} and ${sum(passes)} rows, ${complete.length} passes completed`,
    ok:
      exported.length === domains.length &&
      exported.every(({ runs }) => runs === rounds) &&
      complete.length === projects.length * 3 &&
      passes.length === complete.length,
  };
}

async function noSecrets(scene: ClusterScene, recorded: readonly Recorded[]): Promise<Kept> {
  const { sandbox, database, postgres, s3, apiKeys } = scene;
  const ours = [...apiKeys, database.password, postgres.address.password, s3.secretAccessKey];
  const said = [scene.said(), await scene.temporal.log()];
  return secretsKept(recorded, said, [...ours, ...sandbox.linkSecrets()], domains);
}

async function nothingLeft({ client }: ClusterScene): Promise<Kept> {
  const { count } = await client.workflow.count('ExecutionStatus = "Running"');
  const { count: failed } = await client.workflow.count('ExecutionStatus IN ("Failed", "TimedOut", "Terminated")');
  const views = await Promise.all(organizations.map(({ id }) => budgetView(client, id)));
  const busy = views.reduce((sum, { holders, waiters }) => sum + holders.length + waiters.length, 0);
  return {
    promise: 'nothing left',
    looked: 'workflows and budgets',
    found: `${count} run, the budgets; ${failed} failed; ${busy} hold permits or wait`,
    ok: count === organizations.length && failed === 0 && busy === 0,
  };
}

/** For information: what the kills cost. */
function tasks(recorded: readonly Recorded[]): Kept {
  const sum = (name: string) => recorded.reduce((total, { events }) => total + (events.get(name) ?? 0), 0);
  const all = recorded.reduce((total, { events }) => total + [...events.values()].reduce((a, b) => a + b, 0), 0);
  const timedOut = sum('WORKFLOW_TASK_TIMED_OUT');
  const retried = recorded.reduce((total, { retriedActivities }) => total + retriedActivities, 0);
  return {
    promise: 'for information',
    looked: `${all} events`,
    found: `${timedOut} workflow tasks timed out, ${sum('WORKFLOW_TASK_FAILED')} failed, ${retried} steps ran more than once`,
    ok: true,
  };
}
