import type { InService } from '../exports/store/bundle-store.ts';
import { exportOf, forEach, type Plan, passesOf, planApprovals, planHolds, runs } from '../operations/bulk.ts';
import { usualPass } from '../operations/operator.ts';
import { type ScheduleTarget, targetName, targetOfWorkflowId, workflowIdOf } from '../rules/workflow-ids.ts';
import { desiredSchedules } from '../schedules/rules/desired-schedules.ts';
import type { FormSubmission } from './actions.ts';
import { ConsoleFailure } from './console-failure.ts';
import type { ConsoleReader } from './readings/console-reader.ts';
import type { KnownProject, KnownSite } from './readings/facts.ts';

export const bulkVerbs = ['start', 'approve', 'hold', 'release', 'pause', 'resume'] as const;
type BulkVerb = (typeof bulkVerbs)[number];

/** What each is called, before and after it is done, and whether its question has room for a reason. */
export const bulkWords: Readonly<Record<BulkVerb, { label: string; done: string; withReason?: true }>> = {
  start: { label: 'Start', done: 'Started' },
  approve: { label: 'Approve', done: 'Approved', withReason: true },
  hold: { label: 'Hold', done: 'Held', withReason: true },
  release: { label: 'Release', done: 'Released', withReason: true },
  pause: { label: 'Pause schedules', done: 'Paused' },
  resume: { label: 'Resume schedules', done: 'Resumed' },
};

type Selected = { name: string; version: string | null } & (
  | ({ kind: 'site' } & KnownSite)
  | ({ kind: 'project' } & Omit<KnownProject, 'name'>)
  | { kind: 'schedule'; target: ScheduleTarget }
);

/** One thing that would be done, or why it is skipped. */
interface PlannedItem {
  name: string;
  /** Of the form; an approval's value names the version. */
  field: { name: Selected['kind']; value: string };
  detail: string;
  skipped: boolean;
}

const mostSelected = 1_000;
/** Why a project's schedule cannot be paused. */
const withOthers = "is refreshed with its organization's other projects, which the schedules page pauses";
const onlySites = 'only sites are approved, held and released';

/**
 * The sites, projects (`org/name`) and schedules (ids of their workflows) that a form names. Throws for one that is not
 * configured.
 */
export function selectedIn(reader: ConsoleReader, form: URLSearchParams): Selected[] {
  const pick = (kind: 'site' | 'project') =>
    form.getAll(kind).map((value): Selected => {
      const [org = '', name = '', version = null] = value.split('/');
      const site = kind === 'site' ? reader.knownSite(org, name) : null;
      if (site) return { kind: 'site', ...site, name, version };
      const project = kind === 'project' ? reader.knownProject(org, name) : null;
      if (project) return { kind: 'project', ...project, name, version };
      throw unknown();
    });
  const schedules = form.getAll('schedule').map((id): Selected => {
    const target = targetOfWorkflowId(id);
    if (target === null || !reader.knows(target)) throw unknown();
    return { kind: 'schedule', target, name: targetName(target), version: null };
  });
  const selected = [...pick('site'), ...pick('project'), ...schedules];
  if (selected.length === 0)
    throw new ConsoleFailure('NothingSelected', 'nothing is selected', 'select some lines first');
  if (selected.length > mostSelected) throw new ConsoleFailure('TooMany', `more than ${mostSelected} are selected`);
  return selected;
}

const unknown = () => new ConsoleFailure('Unknown', 'something selected is not configured', 'reload the page');

/** What would be done; nothing is done. */
export async function planBulk(
  reader: ConsoleReader,
  verb: BulkVerb,
  selected: readonly Selected[],
): Promise<PlannedItem[]> {
  const { value } = await reader.overview.get();
  const running = new Map(value.facts.live?.running?.map((work) => [work.workflowId, work]));
  const isRunning = (one: Selected) => targetsOf(one).some((target) => runs(running, target));
  const item = (one: Selected, detail: string, skipped = false): PlannedItem => {
    const value =
      one.kind === 'schedule'
        ? workflowIdOf(one.target)
        : `${one.org}/${one.name}${one.version === null ? '' : `/${one.version}`}`;
    return { name: one.name, field: { name: one.kind, value }, detail, skipped };
  };
  if (verb === 'start') {
    return selected.map((one) => {
      if (one.kind === 'project')
        return item(one, isRunning(one) ? 'joins the running pass, or starts one' : 'a pass starts');
      if (one.kind === 'schedule') return item(one, 'starts now, unless it is running');
      return isRunning(one) ? item(one, 'an export is already running', true) : item(one, 'an export starts');
    });
  }
  if (verb === 'pause' || verb === 'resume') {
    const { taskQueue, organizations } = reader.setting;
    const scheduled = new Set(desiredSchedules(taskQueue, organizations).map(({ target }) => workflowIdOf(target)));
    return selected.map((one) => {
      if (one.kind === 'project') return item(one, withOthers, true);
      const target = one.kind === 'site' ? exportOf(one) : one.target;
      if (!scheduled.has(workflowIdOf(target))) return item(one, 'has no schedule', true);
      const what = target.kind === 'export' ? 'export' : 'refresh';
      return item(one, verb === 'pause' ? `no ${what} starts by itself` : `the ${what} starts by itself again`);
    });
  }
  const sites = selected.flatMap((one) => (one.kind === 'site' ? [one] : []));
  const { installation } = reader;
  const { items, skipped }: Plan<(typeof sites)[number] & Partial<InService>> =
    verb === 'approve' ? await planApprovals(installation, sites, running) : await planHolds(installation, verb, sites);
  const detailOf = ({ version, current, held }: (typeof items)[number]) => {
    if (verb === 'hold') return `stays at what is in service, now ${current}`;
    return verb === 'release' ? `no longer held at ${held}` : `${version}`;
  };
  return [
    ...items.map((one) => item(one, detailOf(one))),
    ...skipped.map((one) => item(one.item, one.why, true)),
    ...selected.flatMap((one) => (one.kind === 'site' ? [] : [item(one, onlySites, true)])),
  ];
}

/** Carries out the plan; a failure of one stops no other. Returns a sentence about successes and failures. */
export async function runBulk(
  verb: BulkVerb,
  selected: readonly Selected[],
  { id, operator, explain }: FormSubmission,
): Promise<string> {
  const work = async (one: Selected): Promise<unknown> => {
    if (verb === 'pause' || verb === 'resume') {
      if (one.kind === 'project') throw new ConsoleFailure('NoSchedule', withOthers);
      const target = one.kind === 'site' ? exportOf(one) : one.target;
      const note = `${verb}d in the console by ${operator.actor.who}`;
      return verb === 'pause' ? operator.pauseSchedule(target, note) : operator.resumeSchedule(target, note);
    }
    if (verb === 'start') {
      if (one.kind === 'site') return operator.startExport(one, {});
      if (one.kind === 'schedule') return operator.triggerSchedule(one.target);
      return operator.startPass(one, await usualPass(await operator.installation.feedback(), one));
    }
    if (one.kind !== 'site') throw new ConsoleFailure('InvalidInput', onlySites);
    if (verb !== 'approve') return operator[verb](one);
    if (one.version === null) throw new ConsoleFailure('Incomplete', 'the form names no version');
    return operator.approve(one, one.version, `${id}:${one.domain}`);
  };
  const { ended } = await forEach(selected, work);
  const failures = ended.flatMap((one) => (one.ok ? [] : [`${one.item.name}: ${explain(one.error).message}`]));
  const done = `${bulkWords[verb].done} ${selected.length - failures.length} of ${selected.length}.`;
  return failures.length === 0 ? done : `${done} Failed: ${failures.slice(0, 20).join('; ')}`;
}

function targetsOf(one: Selected): ScheduleTarget[] {
  if (one.kind === 'schedule') return [one.target];
  return one.kind === 'site' ? [exportOf(one)] : passesOf(one);
}
