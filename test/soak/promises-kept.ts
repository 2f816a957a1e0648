import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { budgetView } from '../../src/budget/client.ts';
import type { Seen } from '../tools/chaos/watching.ts';
import { changesKept, entriesKept } from '../tools/promises/entries-kept.ts';
import { exportsApart } from '../tools/promises/exports-apart.ts';
import { replaysKept, secretsKept } from '../tools/promises/histories-kept.ts';
import type { Kept } from '../tools/promises/kept.ts';
import { recordedWorkflows } from '../tools/temporal/recorded-workflows.ts';
import { messagesKept } from './messages-kept.ts';
import { outcomesOf, rowsKept } from './rows-kept.ts';
import { organizations, releaseFolder, serviceBudget } from './soak-config.ts';
import type { SoakScene } from './soak-scene.ts';

/** What stood beside the soak all the time. */
interface Beside {
  /** What a reader of a site saw, by domain. */
  seen: ReadonlyMap<string, Seen>;
  /** Second requests that joined a running export. */
  joined: number;
}

const domains = organizations.flatMap((organization) => organization.domains);
const projects = organizations.flatMap((organization) => organization.projects.map(({ id }) => id));

/** Checks what docs/promises.md says against the service's log, the stores and every history. */
export async function checkPromises(scene: SoakScene, beside: Beside): Promise<Kept[]> {
  const { sandbox, database, fleet } = scene;
  const recorded = await recordedWorkflows(scene.client);
  const said = [...scene.said(), await readFile(scene.temporalLog, 'utf8'), ...(await fleet.metrics())];
  const ours = [...organizations.map(({ apiKey }) => apiKey), database.password, scene.receiver.token];
  return [
    neverOver(scene),
    neverOverChangedLimits(scene),
    await entriesKept(sandbox, database, projects),
    await proofsKept(scene),
    await changesKept(database),
    await oneAtATime(scene, beside),
    await wholeVersions(scene),
    readersKept(beside),
    await targetsKept(scene),
    await idleWhenNothingChanged(scene),
    ...(await rowsKept(scene)),
    ...(await messagesKept(scene)),
    secretsKept(recorded, said, [...ours, ...sandbox.linkSecrets()], domains),
    await replaysKept(recorded),
    await nothingLeft(scene),
  ];
}

function neverOver({ sandbox }: SoakScene): Kept {
  const requests = sandbox.log().filter(({ kind }) => kind === 'analytics');
  const refused = requests.filter(({ status, fault }) => status === 429 && fault === null).length;
  const most = organizations.map(({ id }) => sandbox.maxInAnyWindow(id));
  return {
    promise: 'B1',
    looked: `${requests.length} requests for feedback`,
    found: `at most ${most.join(', ')} of ${serviceBudget.requests} in any ${serviceBudget.windowMs / 1_000} s; ${refused} answered 429`,
    ok: refused === 0 && most.every((count) => count <= serviceBudget.requests),
  };
}

/** While a lower limit is in force: all of the window lies after it, and leases of the time before are over. */
function neverOverChangedLimits({ sandbox, limits }: SoakScene): Kept {
  const periods = limits.map((limit) => {
    const from = limit.from + serviceBudget.windowMs;
    const most = sandbox.maxInAnyWindow(limit.org, ({ at }) => at >= from && at < limit.until);
    return { ...limit, most };
  });
  const busy = periods.filter(({ most }) => most > 0);
  const over = busy.filter(({ most, requests }) => most > requests);
  return {
    promise: 'B1',
    looked: `${busy.length} times that a limit was in force`,
    found: busy.map(({ most, requests }) => `${most} of ${requests}`).join(', '),
    ok: over.length === 0,
  };
}

/** `verifiedUpTo` is no moment that is still to come, and covers the last sweep of every project. */
async function proofsKept({ database }: SoakScene): Promise<Kept> {
  const rows = await database.rows(
    'select project_id, min(verified_up_to) as least, max(verified_up_to) as most from verified_ranges group by project_id',
  );
  const now = new Date().toISOString();
  // Where entries come without a readable id, any of them may be the missing one.
  const provable = projects.length - organizations.length;
  const ahead = rows.filter(({ most }) => String(most) > now);
  return {
    promise: 'S4',
    looked: `what is proved of ${rows.length} projects`,
    found: `${ahead.length} proved up to a moment that is still to come`,
    ok: ahead.length === 0 && rows.length === provable,
  };
}

async function oneAtATime({ database }: SoakScene, { joined }: Beside): Promise<Kept> {
  const { runs, overlaps } = await exportsApart(database);
  return {
    promise: 'E1',
    looked: `${runs} exports`,
    found: `${joined} requests joined the running export; ${overlaps} exports overlapped`,
    ok: overlaps === 0,
  };
}

const auditSchema = z.object({
  ok: z.boolean(),
  checked: z.object({ versions: z.number() }),
  domains: z.array(z.object({ domain: z.string(), current: z.string().nullable() })),
});

async function wholeVersions(scene: SoakScene): Promise<Kept> {
  const audit = auditSchema.parse(await scene.docferry(['store', 'verify']));
  const missing = audit.domains.filter(({ current }) => current === null);
  return {
    promise: 'E4, E5',
    looked: `${audit.checked.versions} versions by \`store verify\``,
    found: `${audit.ok ? 'all good' : 'NOT good'}; ${missing.length} sites without a current version`,
    ok: audit.ok && missing.length === 0 && audit.domains.length === domains.length,
  };
}

function readersKept({ seen }: Beside): Kept {
  const all = [...seen.values()];
  const sum = (count: (one: Seen) => number) => all.reduce((total, one) => total + count(one), 0);
  const problems = all.flatMap((one) => one.problems);
  return {
    promise: 'E5',
    looked: `${sum(({ looks }) => looks)} looks at versions in the store, ${sum(({ visits }) => visits)} at targets`,
    found: problems.length === 0 ? 'always whole' : problems.slice(0, 3).join('; '),
    ok: problems.length === 0 && sum(({ looks }) => looks) > 0,
  };
}

async function targetsKept({ disk }: SoakScene): Promise<Kept> {
  const wrong: string[] = [];
  for (const domain of domains) {
    const link = await readlink(join(releaseFolder(disk.path, domain), 'current')).catch(() => null);
    const pointer = JSON.parse(await readFile(join(disk.path, 'bundles', domain, 'current.json'), 'utf8'));
    if (link !== `releases/${pointer.version}`) wrong.push(domain);
  }
  return {
    promise: 'E9',
    looked: `${domains.length} folder targets`,
    found: `${wrong.length} not at the current version`,
    ok: wrong.length === 0,
  };
}

/** The last two exports of a site saw the same site: the second had nothing to do. */
async function idleWhenNothingChanged({ database }: SoakScene): Promise<Kept> {
  const rows = await database.rows(
    'select domain, outcome, version from export_runs where job_id is not null order by domain, started_at',
  );
  const wrong = domains.filter((domain) => {
    const [before, last] = rows.filter((row) => row.domain === domain).slice(-2);
    return last?.outcome !== 'unchanged' || last?.version !== before?.version;
  });
  return {
    promise: 'E6',
    looked: `exports: ${outcomesOf(rows)}`,
    found: `the last export of ${domains.length - wrong.length} of ${domains.length} sites had nothing to do`,
    ok: wrong.length === 0,
  };
}

async function nothingLeft({ client }: SoakScene): Promise<Kept> {
  const { count } = await client.workflow.count(
    'ExecutionStatus = "Running" AND WorkflowType NOT IN ("rateBudget", "watchOrganization")',
  );
  const { count: lost } = await client.workflow.count('ExecutionStatus IN ("TimedOut", "Terminated")');
  const views = await Promise.all(organizations.map(({ id }) => budgetView(client, id)));
  const busy = views.reduce((sum, { holders, waiters }) => sum + holders.length + waiters.length, 0);
  return {
    promise: 'nothing left',
    looked: 'workflows and budgets',
    found: `${count} run; ${lost} timed out or were terminated; ${busy} hold permits or wait`,
    ok: count === 0 && lost === 0 && busy === 0,
  };
}
