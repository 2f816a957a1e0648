import { readingKinds } from '../../feedback/rules/pass-bounds.ts';
import { approveExport, startExport } from '../../operations/exports.ts';
import { type ScheduleTarget, scheduleId, workflowIdOf } from '../../rules/workflow-ids.ts';
import { doneBy, type OwnAuditEntry, startedExport } from '../../runs/rules/own-audit-entries.ts';
import { desiredSchedules } from '../../schedules/rules/desired-schedules.ts';
import { pauseSchedule } from '../../schedules/schedules.ts';
import { inBatches } from '../../temporal/runs.ts';
import { ConsoleFailure } from '../console-failure.ts';
import type { ConsoleReader, KnownProject, KnownSite } from '../readings/console-reader.ts';
import type { Order } from './action.ts';
import { audited } from './action.ts';
import { syncNow } from './project-actions.ts';
import { waitingVersion } from './site-actions.ts';

export const bulkVerbs = ['start', 'approve', 'pause'] as const;
export type BulkVerb = (typeof bulkVerbs)[number];

export const bulkLabels: Readonly<Record<BulkVerb, string>> = {
  start: 'Start',
  approve: 'Approve',
  pause: 'Pause schedules',
};

/** What was selected on the overview. */
export type Selected = { kind: 'site'; site: KnownSite } | { kind: 'project'; project: KnownProject };

/** One thing that would be done, or why it is left out. */
export interface PlannedItem {
  name: string;
  /** Value of the form's field; of an approval with the version. */
  field: { name: 'site' | 'project'; value: string };
  detail: string;
  leftOut: boolean;
}

const atOnce = 16;
const mostSelected = 1_000;

/** The sites and projects that a form names, written `org/name`. Throws for one that is not configured. */
export function selectedIn(reader: ConsoleReader, form: URLSearchParams): (Selected & { version: string | null })[] {
  const pick = (kind: 'site' | 'project') =>
    form.getAll(kind).map((value) => {
      const [org = '', name = '', version = null] = value.split('/');
      const site = kind === 'site' ? reader.knownSite(org, name) : null;
      if (site) return { kind: 'site' as const, site, version };
      const project = kind === 'project' ? reader.knownProject(org, name) : null;
      if (project) return { kind: 'project' as const, project, version };
      throw new ConsoleFailure('Unknown', 'something selected is not configured', 'load the overview again');
    });
  const selected = [...pick('site'), ...pick('project')];
  if (selected.length === 0)
    throw new ConsoleFailure('NothingSelected', 'nothing is selected', 'tick some lines first');
  if (selected.length > mostSelected) throw new ConsoleFailure('TooMany', `more than ${mostSelected} are selected`);
  return selected;
}

/** What would be done; nothing is done. */
export async function planBulk(
  reader: ConsoleReader,
  verb: BulkVerb,
  selected: readonly Selected[],
): Promise<PlannedItem[]> {
  const { value } = await reader.overview.get();
  const running = new Set(value.facts.live?.running.map(({ workflowId }) => workflowId));
  const { taskQueue, organizations } = reader.setting;
  const scheduled = new Set(desiredSchedules(taskQueue, organizations).map(({ target }) => workflowIdOf(target)));
  return inBatches(selected, atOnce, async (one): Promise<PlannedItem> => {
    const name = nameOf(one);
    const field = { name: one.kind, value: fieldOf(one) };
    const left = (detail: string) => ({ name, field, detail, leftOut: true });
    const planned = (detail: string) => ({ name, field, detail, leftOut: false });
    if (verb === 'start') {
      const runs = targetsOf(one).some((target) => running.has(workflowIdOf(target)));
      if (one.kind === 'site') return runs ? left('an export is already running') : planned('an export starts');
      return planned(runs ? 'a pass is running: the usual one starts or goes on' : 'a pass starts');
    }
    if (verb === 'pause') {
      if (!targetsOf(one).some((target) => scheduled.has(workflowIdOf(target)))) return left('has no schedule');
      return planned(one.kind === 'site' ? 'no export starts by itself' : 'no pass starts by itself');
    }
    if (one.kind === 'project') return left('projects have nothing to approve');
    if (!targetsOf(one).some((target) => running.has(workflowIdOf(target)))) return left('no version waits');
    const version = await waitingVersion(reader, one.site);
    if (version === null) return left('no version waits');
    return { name, field: { ...field, value: `${field.value}/${version}` }, detail: version, leftOut: false };
  });
}

/** Carries out the plan, a few at a time; a failure of one stops no other. Says what was done and what failed. */
export async function runBulk(
  reader: ConsoleReader,
  verb: BulkVerb,
  selected: readonly (Selected & { version: string | null })[],
  order: Order,
): Promise<string> {
  const client = await reader.connections.temporal();
  const { taskQueue, failover, askWorker, explain } = reader.setting;
  const auditEntries: OwnAuditEntry[] = [];
  const keep = (...done: OwnAuditEntry[]) =>
    auditEntries.push(...done.map((entry) => ({ ...entry, detail: { bulk: true, ...entry.detail } })));
  const work = async (one: Selected & { version: string | null }): Promise<unknown> => {
    if (verb === 'pause') {
      const note = `paused in the console by ${order.login}`;
      return inBatches(targetsOf(one), atOnce, (target) =>
        pauseSchedule(client, scheduleId(taskQueue, target), note).then(
          () => keep(doneBy(order.request, 'schedule-pause', target)),
          unlessThereIsNone,
        ),
      );
    }
    if (one.kind === 'project') return keep(...(await syncNow(reader, one.project, '')).auditEntries);
    const { org, domain } = one.site;
    if (verb === 'start') {
      const input = { org, domain, parameters: {}, failover };
      const { runId } = await askWorker(client, () => startExport(client, taskQueue, input, 'join'));
      return keep(...startedExport(org, domain, runId, {}));
    }
    if (one.version === null) throw new ConsoleFailure('Incomplete', 'the form names no version');
    const asked = { org, domain, version: one.version };
    // The export keeps it.
    return askWorker(client, () => approveExport(client, asked, { who: order.login }, `${order.id}:${domain}`));
  };
  const failures = await inBatches(selected, atOnce, async (one) => {
    try {
      await work(one);
      return [];
    } catch (error) {
      return [`${nameOf(one)}: ${explain(error).message}`];
    }
  });
  const failed = failures.flat();
  const done = `${doneWords[verb]} ${selected.length - failed.length} of ${selected.length}.`;
  const said = failed.length === 0 ? done : `${done} Failed: ${failed.slice(0, 20).join('; ')}`;
  return audited(reader, order, auditEntries, said);
}

const doneWords: Readonly<Record<BulkVerb, string>> = { start: 'Started', approve: 'Approved', pause: 'Paused' };

function targetsOf(one: Selected): ScheduleTarget[] {
  if (one.kind === 'site') return [{ kind: 'export', org: one.site.org, domain: one.site.domain }];
  const { org, project } = one.project;
  return readingKinds.map((pass) => ({ kind: 'sync', org, project, pass }));
}

const nameOf = (one: Selected): string => (one.kind === 'site' ? one.site.domain : one.project.project);
const fieldOf = (one: Selected): string => `${one.kind === 'site' ? one.site.org : one.project.org}/${nameOf(one)}`;

/** A project need not have a schedule for each kind of pass. */
function unlessThereIsNone(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'ScheduleNotFoundError') throw error;
}
