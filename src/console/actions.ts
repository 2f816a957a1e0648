import type { InService } from '../exports/store/bundle-store.ts';
import { type PassKind, passKinds } from '../feedback/rules/sync.ts';
import { waitingVersion } from '../operations/exports.ts';
import {
  exportOf,
  forEach,
  type Operator,
  type Plan,
  passesOf,
  planApprovals,
  planHolds,
  runs,
  type Site,
  usualPass,
} from '../operations/operator.ts';
import type { Trouble } from '../operations/status.ts';
import { spanText } from '../rules/text.ts';
import { type ScheduleTarget, targetName, targetOfWorkflowId, workflowIdOf } from '../rules/workflow-ids.ts';
import type { AuditEntry } from '../runs/rules/audit.ts';
import { desiredSchedules } from '../schedules/rules/desired-schedules.ts';
import { ConsoleFailure, required } from './console-failure.ts';
import type { ConsoleReader, KnownProject, KnownSite } from './readings/console-reader.ts';
import type { Sessions } from './security/sessions.ts';

/** A form that was sent, and the operator who acts for its sender. */
export interface FormSubmission {
  /** Unique to the form, however often it is sent. The browser could choose it. */
  id: string;
  form: URLSearchParams;
  operator: Operator;
  explain(error: unknown): Trouble;
}

/** A line below a question. */
export type ActionFact = readonly [name: string, value: string];

/** Something that can be done by a form. */
export interface Action<Subject> {
  /** On its button and as the title of its question; depends on the form where one action does several things. */
  label: string | ((form: URLSearchParams) => string);
  /** Asked before what cannot be undone. */
  question?(subject: Subject, form: URLSearchParams): string;
  /** Shown with the question, as they are now. */
  facts?(subject: Subject, form: URLSearchParams, installation: Operator['installation']): Promise<ActionFact[]>;
  /** Acts, and returns a sentence about the result. */
  run(subject: Subject, submission: FormSubmission): Promise<string>;
}

type Actions<Subject> = Readonly<Record<string, Action<Subject>>>;

/** What can be done with a site, by the last part of the address. Each does what the command of its name does. */
export const siteActions: Actions<KnownSite> = {
  start: {
    label: 'Start an export',
    async run(site, { form, operator }) {
      const { joined } = await operator.startExport(site, form.get('force') === 'yes' ? { force: true } : {});
      return joined ? `An export of ${site.domain} is already running.` : `The export of ${site.domain} has started.`;
    },
  },
  'poll-now': {
    label: 'Poll now',
    async run(site, { operator }) {
      await operator.pollNow(site);
      return `docferry asks the service about ${site.domain} now.`;
    },
  },
  approve: {
    label: 'Approve',
    async run(site, submission) {
      const version = required(submission.form, 'version');
      await decide(site, version, submission, () => submission.operator.approve(site, version, submission.id));
      return `Approved: ${version} goes into service.`;
    },
  },
  reject: {
    label: 'Reject',
    question: ({ domain }, form) => `${form.get('version') ?? 'The version'} of ${domain} will be removed for good.`,
    async run(site, submission) {
      const version = required(submission.form, 'version');
      await decide(site, version, submission, () => submission.operator.reject(site, version, submission.id));
      return `Rejected: ${version} is removed.`;
    },
  },
  rollback: {
    label: 'Roll back',
    question: ({ domain }) =>
      `Another version of ${domain} goes into service at every target. Then the site is held: exports put nothing else into service until a person ends the hold.`,
    async facts({ domain }, form, installation) {
      const now = await (await installation.bundles()).current(domain);
      return [
        ['in service', now?.version ?? 'nothing'],
        ['then', required(form, 'version')],
      ];
    },
    async run(site, { form, operator }) {
      const version = required(form, 'version');
      const { joined } = await operator.rollBack(site, version, 'refuse');
      return joined
        ? `This rollback of ${site.domain} is already running.`
        : `The rollback of ${site.domain} to ${version} has started.`;
    },
  },
  hold: {
    label: 'Hold',
    async run(site, { operator }) {
      const { version } = await operator.hold(site);
      return `${site.domain} is held at ${version}.`;
    },
  },
  release: {
    label: 'Release',
    async run(site, { operator }) {
      const { version, waiting } = await operator.release(site);
      const next =
        waiting === null
          ? 'The next export decides what is in service.'
          : `${waiting} waited: start an export to put what is new into service.`;
      return `${site.domain} is no longer held at ${version}. ${next}`;
    },
  },
  cancel: {
    label: (form) => `Cancel the ${runIn(form)}`,
    question: ({ domain }, form) => {
      const version = form.get('rollback');
      return `The running ${runIn(form)} of ${domain}${version === null ? '' : ` to ${version}`} ends; what is in service stays.`;
    },
    async run(site, { form, operator }) {
      await operator.cancel(exportOf(site), required(form, 'run'));
      return `Cancelling the ${runIn(form)} of ${site.domain}.`;
    },
  },
};

/** What runs of a site, by the form that cancels it: one of a rollback names its version. */
const runIn = (form: URLSearchParams): string => (form.has('rollback') ? 'rollback' : 'export');

/**
 * Decides about a version. If it no longer waits, because another person has decided or its time is over, throws a
 * failure that says so and, if the audit knows, who decided.
 */
async function decide(
  site: Site,
  version: string,
  { operator: { installation }, explain }: FormSubmission,
  send: () => Promise<void>,
): Promise<void> {
  try {
    await send();
  } catch (error) {
    const { code } = explain(error);
    const isRefused = code === 'NotRunning' || code === 'InvalidInput';
    if (!isRefused || (await waitingVersion(installation, site)) === version) throw error;
    const earlier = await decisionOn(installation, site, version).catch(() => null);
    const what =
      earlier === null
        ? `${version} of ${site.domain} no longer waits for approval`
        : `${version} of ${site.domain} was ${earlier.action === 'approve' ? 'approved' : 'rejected'} by ${earlier.who} at ${utcText(earlier.at)}`;
    const hint = 'The page of the site shows what is in service.';
    throw new ConsoleFailure('Decided', `${what}. You changed nothing.`, hint);
  }
}

/** `2026-11-22 18:07 UTC`, of UTC ISO 8601. */
const utcText = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`;

async function decisionOn(
  { feedback }: Operator['installation'],
  { org, domain }: Site,
  version: string,
): Promise<AuditEntry | null> {
  for await (const entry of (await feedback()).listAuditEntries({ org, subject: domain })) {
    const isDecision = entry.action === 'approve' || entry.action === 'reject';
    if (isDecision && JSON.parse(entry.detail).version === version) return entry;
  }
  return null;
}

/** What can be done with a project. */
export const projectActions: Actions<KnownProject> = {
  sync: {
    label: 'Sync now',
    async run(project, { form, operator }) {
      const kind = form.get('pass') ?? '';
      const pass = kind === '' ? await usualPass(await operator.installation.feedback(), project) : passOf(kind);
      await operator.startPass(project, pass);
      return `The ${pass} of ${project.project} is running.`;
    },
  },
  cancel: {
    label: (form) => `Cancel the ${form.get('pass') ?? 'pass'}`,
    question: ({ project }, form) =>
      `The running ${form.get('pass') ?? 'pass'} of ${project} ends; what it has stored stays.`,
    async run({ org, project }, { form, operator }) {
      const pass = passOf(required(form, 'pass'));
      await operator.cancel({ kind: 'sync', org, project, pass }, required(form, 'run'));
      return `Cancelling the ${pass} of ${project}.`;
    },
  },
};

function passOf(text: string): PassKind {
  const pass = passKinds.find((kind) => kind === text);
  if (pass === undefined) throw new ConsoleFailure('InvalidInput', 'unknown kind of pass');
  return pass;
}

/** What can be done with the budget of an organization. */
export const budgetActions: Actions<string> = {
  pause: {
    label: 'Pause',
    question: (org, form) => {
      const time = timeIn(form);
      const until = time === null ? '' : `for ${spanText(time)}, or `;
      return `No pass of ${org} sends requests ${until}until a person resumes the budget. Nothing is lost: passes wait.`;
    },
    async run(org, { form, operator }) {
      await operator.pauseBudget(org, { forMs: timeIn(form) });
      return `The budget of ${org} is paused.`;
    },
  },
  resume: {
    label: 'Resume',
    async run(org, { operator }) {
      await operator.pauseBudget(org, null);
      return `The budget of ${org} is resumed.`;
    },
  },
  set: {
    label: 'Override',
    async run(org, { form, operator }) {
      const limits = { ...countIn(form, 'requests'), ...countIn(form, 'reserve') };
      if (Object.keys(limits).length === 0) {
        throw new ConsoleFailure('InvalidInput', 'nothing was given', 'give requests, a reserve or both');
      }
      await operator.overrideBudget(org, { ...limits, forMs: timeIn(form) });
      return `The limits of ${org} are overridden.`;
    },
  },
  reset: {
    label: 'End the override',
    async run(org, { operator }) {
      await operator.overrideBudget(org, null);
      return `The limits of ${org} are as configured.`;
    },
  },
};

/** For how long: the choices of a form, in milliseconds; null for until ended by hand. */
export const times = [
  ['15m', '15 minutes', 900_000],
  ['1h', '1 hour', 3_600_000],
  ['8h', '8 hours', 28_800_000],
  ['1d', '1 day', 86_400_000],
  ['open', 'until ended by hand', null],
] as const;

function timeIn(form: URLSearchParams): number | null {
  const time = times.find(([name]) => name === (form.get('for') ?? 'open'));
  if (time === undefined) throw new ConsoleFailure('InvalidInput', 'unknown duration');
  return time[2];
}

function countIn(form: URLSearchParams, name: string): Record<string, number> {
  const text = (form.get(name) ?? '').trim();
  if (text === '') return {};
  if (!/^\d{1,9}$/.test(text)) throw new ConsoleFailure('InvalidInput', `${name} must be a whole number`);
  return { [name]: Number(text) };
}

/** What can be done with a schedule. */
export const scheduleActions: Actions<ScheduleTarget> = {
  pause: {
    label: 'Pause',
    async run(target, { operator }) {
      await operator.pauseSchedule(target, `paused in the console by ${operator.actor.who}`);
      return `The schedule of ${targetName(target)} is paused; what runs goes on. The table shows it in a moment.`;
    },
  },
  resume: {
    label: 'Resume',
    async run(target, { operator }) {
      await operator.resumeSchedule(target, `resumed in the console by ${operator.actor.who}`);
      return `The schedule of ${targetName(target)} is resumed. The table shows it in a moment.`;
    },
  },
  trigger: {
    label: 'Start now',
    async run(target, { operator }) {
      const { alreadyRunning } = await operator.triggerSchedule(target);
      return alreadyRunning
        ? `A scheduled run of ${targetName(target)} is already running.`
        : `The scheduled run of ${targetName(target)} has started: its page shows how it goes.`;
    },
  },
};

/** What can be done with the sessions of a login. */
export function sessionActions(sessions: Sessions): Actions<string> {
  return {
    end: {
      label: 'End sessions',
      question: (login) => `Everybody signed in as ${login} has to sign in again. Work already started continues.`,
      async run(login, { operator }) {
        const count = sessions.revoke(login);
        if (count === 0) throw new ConsoleFailure('NotSignedIn', `nobody is signed in as ${login}`);
        operator.recordEndedSessions(login, count);
        return `${count === 1 ? 'The session' : `${count} sessions`} of ${login} ended.`;
      },
    },
  };
}

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
      if (isRunning(one)) return item(one, one.kind === 'site' ? 'an export is already running' : 'runs already', true);
      return item(one, one.kind === 'site' ? 'an export starts' : 'starts now');
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
  if (verb === 'approve' && !value.facts.live?.running) {
    throw new ConsoleFailure('TemporalUnreachable', 'nobody knows what waits: Temporal does not answer', 'try again');
  }
  const {
    items,
    skipped,
    failed = [],
  }: Plan<(typeof sites)[number] & Partial<InService>> = verb === 'approve'
    ? await planApprovals(installation, sites, running)
    : await planHolds(installation, verb, sites);
  const detailOf = ({ version, current, held }: (typeof items)[number]) => {
    if (verb === 'hold') return `stays at what is in service, now ${current}`;
    return verb === 'release' ? `no longer held at ${held}` : `${version}`;
  };
  return [
    ...items.map((one) => item(one, detailOf(one))),
    ...skipped.map((one) => item(one.item, one.why, true)),
    ...failed.map((one) => item(one.item, `it cannot be asked: ${reader.setting.explain(one.error).message}`, true)),
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
  const already = ended.filter((one) => one.ok && hadBegun(one.answer)).length;
  const others = already === 0 ? '' : `, ${already} running already`;
  const done = `${bulkWords[verb].done} ${selected.length - failures.length - already} of ${selected.length}${others}.`;
  return failures.length === 0 ? done : `${done} Failed: ${failures.slice(0, 20).join('; ')}`;
}

/** Whether a start only found what was running. */
const hadBegun = (answer: unknown): boolean =>
  typeof answer === 'object' &&
  answer !== null &&
  (('joined' in answer && answer.joined === true) || ('alreadyRunning' in answer && answer.alreadyRunning === true));

function targetsOf(one: Selected): ScheduleTarget[] {
  if (one.kind === 'schedule') return [one.target];
  return one.kind === 'site' ? [exportOf(one)] : passesOf(one);
}
