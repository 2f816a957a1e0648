import { budgetView } from '../../../budget/client.ts';
import { standstillText, untouchedView } from '../../../budget/rules/window-view.ts';
import type { OrganizationConfig, PrivacyConfig } from '../../../config/config.ts';
import type { StoredProject } from '../../../feedback/figures/project-figures.ts';
import type { PassRow } from '../../../feedback/reading/passes.ts';
import {
  delaysText,
  delayText,
  firstReadingText,
  measuredText,
  type ProjectDelays,
} from '../../../feedback/rules/refresh/expected.ts';
import { type PassKind, passKinds, type SyncState } from '../../../feedback/rules/sync.ts';
import { describeWorkflow } from '../../../operations/exports.ts';
import { syncHandle, syncState } from '../../../operations/syncs.ts';
import { withoutFailureType } from '../../../rules/errors.ts';
import { counted, countText } from '../../../rules/text.ts';
import { searchAttributes, workflowTypes } from '../../../rules/workflow-ids.ts';
import { type Retry, retriesIn, triedAgain } from '../../../temporal/connection.ts';
import { runningWork } from '../../../temporal/runs.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Paint, type Surface } from '../../context.ts';
import { type FoundProject, findProjects, projectHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { type Session, withTemporal } from '../../session.ts';
import { syncStep } from '../../terminal/progress.ts';
import {
  indent,
  printable,
  projectTitle,
  tableLines,
  timeText,
  utcText,
  withIsoMoments,
  wrapped,
} from '../../terminal/text.ts';
import { answersOrNull } from '../../waiting.ts';
import { privacyText } from '../config/config-check.ts';

export default {
  status: (command, run) =>
    command.argument('[project]', `${projectHelp}; default: all`).action(run(showFeedbackStatus)),
} satisfies CommandFile;

interface RunningPass {
  org: string;
  project: string;
  workflowId: string;
  runId: string;
  pass: PassKind;
  /** Its steps that fail or are paused; read where a single project is shown. */
  retries: readonly Retry[];
  /** Null when no worker answers. */
  state: SyncState | null;
}

type ListedPass = Omit<RunningPass, 'state'>;

/** The running passes, with what they say; one project's are described, since Temporal's list is a moment behind. */
async function runningPasses(session: Session, projects: readonly FoundProject[]): Promise<RunningPass[]> {
  const { client, config } = session;
  const [only, ...others] = projects;
  const found =
    only && others.length === 0 ? await describedPasses(session, only) : await listedPasses(session, projects);
  const states = await answersOrNull(client, config.temporal.taskQueue, found, (pass) => syncState(client, pass));
  return found.map((pass, place) => ({ ...pass, state: states[place] ?? null }));
}

async function describedPasses({ client }: Session, { org, project }: FoundProject): Promise<ListedPass[]> {
  const described = await Promise.all(
    passKinds.map(async (pass): Promise<ListedPass[]> => {
      const handle = syncHandle(client, { org, project, pass });
      const description = await describeWorkflow(handle);
      if (description?.status.name !== 'RUNNING') return [];
      const retries = await retriesIn(client, description);
      return [{ org, project, workflowId: handle.workflowId, runId: description.runId, pass, retries }];
    }),
  );
  return described.flat();
}

/** The steps of the running refresh that fail or are paused. */
async function refreshRetries({ client }: Session, org: string): Promise<Retry[]> {
  const query = `${searchAttributes.org} = "${org}" AND WorkflowType = "${workflowTypes.refreshFeedback}" AND ExecutionStatus = "Running"`;
  for await (const { workflowId } of client.workflow.list({ query })) {
    const description = await describeWorkflow(client.workflow.getHandle(workflowId));
    if (description !== null) return retriesIn(client, description);
  }
  return [];
}

async function listedPasses({ client, config }: Session, projects: readonly FoundProject[]): Promise<ListedPass[]> {
  const wanted = new Set(projects.map(({ org, project }) => JSON.stringify([org, project])));
  const running = await runningWork(client, config.temporal.taskQueue);
  return running
    .flatMap(({ target, workflowId, runId }): ListedPass[] => {
      if (target.kind !== 'sync' || !wanted.has(JSON.stringify([target.org, target.project]))) return [];
      const { org, project, pass } = target;
      return [{ org, project, workflowId, runId, pass, retries: [] }];
    })
    .sort((a, b) => passKinds.indexOf(a.pass) - passKinds.indexOf(b.pass));
}

const shownPasses = 5;

interface ProjectStatus extends FoundProject, StoredProject, ProjectDelays {
  running: RunningPass[];
  /** Of its organization, where a single project is shown. */
  refresh: readonly Retry[];
  /** Why nothing of its organization is read now; null while the window alone decides. */
  standstill: string | null;
}

async function showFeedbackStatus(context: CommandContext, name?: string): Promise<void> {
  const config = await loadContextConfig(context);
  const wanted = findProjects(config, name);
  const organizations = config.organizations.filter(({ id }) => wanted.some(({ org }) => org === id));
  const [running, windows, refresh] = await withTemporal(config, (session) => {
    const windowOf = ({ id }: OrganizationConfig) => budgetView(session.client, id);
    const windows = answersOrNull(session.client, config.temporal.taskQueue, organizations, windowOf);
    const [only, ...others] = wanted;
    const retries = only && others.length === 0 ? refreshRetries(session, only.org) : [];
    return Promise.all([runningPasses(session, wanted), windows, retries]);
  });
  const delays = new Map<string, ReadonlyMap<string, ProjectDelays>>();
  const standstills = new Map<string, string | null>();
  const stored = await withFeedbackStore(config, async (store) => {
    for (const [place, organization] of organizations.entries()) {
      const window = windows[place] ?? untouchedView(organization.budget);
      delays.set(organization.id, await store.refreshDelays(organization, window, Date.now()));
      standstills.set(organization.id, standstillText(window, Date.now()));
    }
    return store.storedProjects(wanted, shownPasses);
  });
  const statuses = stored.map((project, place): ProjectStatus => {
    const isMine = (pass: RunningPass) => pass.org === project.org && pass.project === project.project;
    const late = delays.get(project.org)?.get(project.project) ?? { expected: null, measured: null };
    const standstill = standstills.get(project.org) ?? null;
    return { ...wanted[place], ...project, ...late, standstill, running: running.filter(isMine), refresh };
  });
  if (statuses.some(({ running }) => running.some(({ state }) => state === null))) {
    context.output.warn(
      'no worker answers, so the progress of a running pass is unknown: start one with `docferry worker`',
    );
  }
  const { contacts, comments, retentionMs } = config.privacy;
  const { surface } = context.output;
  const text =
    statuses.length > 1
      ? statusTable(statuses, surface)
      : statuses.map((project) => textOf(project, config.privacy, surface)).join('');
  context.output.result(
    { privacy: { contacts, comments, retentionMs }, projects: statuses.map(documentOf) },
    text === '' ? 'no projects are configured' : text,
  );
}

function documentOf(status: ProjectStatus): object {
  const { running, passes: ended, refresh: _refresh, hasWholeRejects: _whole, ...project } = status;
  return withIsoMoments({
    ...project,
    running: running.map(({ workflowId, runId, pass, state }) => ({
      workflowId,
      runId,
      pass,
      phase: state?.phase ?? null,
      progress: state?.progress ?? null,
      waiting: state?.waiting ?? null,
      forecast: state?.forecast ?? null,
    })),
    // Only the pass itself can use its position, and the cursor in it is the service's.
    passes: ended.map(({ position: _position, ...pass }) => pass),
  });
}

/** A line for each project: what is stored, what runs, how the last pass ended. */
function statusTable(statuses: readonly ProjectStatus[], { paint, columns }: Surface): string {
  return tableLines(
    [
      'project',
      'organization',
      'entries',
      'complete as of (UTC)',
      'new ones after',
      'now',
      'last pass',
      'started (UTC)',
      'why',
    ],
    statuses.map(({ running, passes: [last], ...project }) => [
      projectTitle(project),
      project.org,
      countText(project.entries),
      timeText(project.verifiedUpTo),
      newAfterText(project),
      running.map(({ pass, state }) => (state === null ? pass : `${pass}, ${state.phase}`)).join('; ') ||
        (project.standstill !== null ? 'stands still' : project.firstReading === null ? 'idle' : 'first reading'),
      last === undefined ? 'none yet' : outcomeText(last, paint),
      timeText(last?.startedAt ?? null),
      printable(project.standstill ?? last?.error ?? '', 80),
    ]),
    columns,
    ['started (UTC)', 'why', 'complete as of (UTC)', 'organization', 'new ones after'],
  );
}

/** How late new entries are stored on average. */
function newAfterText({ expected, measured }: ProjectDelays): string {
  const planned = expected?.newMs == null ? '-' : delayText(expected.newMs);
  return measured === null ? planned : `${planned} (was ${delayText(measured.newMs)})`;
}

function outcomeText({ pass, outcome }: PassRow, paint: Paint): string {
  const text = `${pass} ${outcome}`;
  return outcome === 'failed' ? paint.red(text) : text;
}

function textOf(project: ProjectStatus, privacy: PrivacyConfig, { paint, columns }: Surface): string {
  const { org, entries, rejects, tombstones, watermark, verifiedUpTo, running, refresh, passes: last } = project;
  const read = watermark === null ? 'never read to the end' : `entries written up to ${utcText(watermark)} are read`;
  const stored = [
    counted(entries, 'entry', 'entries'),
    rejects > 0 ? `${countText(rejects)} not understood` : '',
    tombstones > 0 ? `${countText(tombstones)} deleted` : '',
    verifiedUpTo === null ? read : `complete as of ${utcText(verifiedUpTo)}`,
  ].filter((part) => part !== '');
  const lines = [`${paint.bold(projectTitle(project))} (${org}): ${stored.join(', ')}`];
  if (project.standstill !== null) lines.push(indent(paint.yellow(`stands still: ${project.standstill}`)));
  if (project.expected !== null) lines.push(indent(`expected: ${delaysText(project.expected)}`));
  if (project.measured !== null) lines.push(indent(`measured: ${measuredText(project.measured)}`));
  if (project.firstReading !== null) lines.push(indent(`first reading: ${firstReadingText(project.firstReading)}`));
  const personal = privacyText(privacy);
  if (personal !== null) lines.push(indent(`personal data: ${personal}${sinceText(project)}`));
  const troubles = (retries: readonly Retry[], of = '') =>
    retries.map((retry) => indent(`${of}${retry.activity} ${triedAgain(retry)}: ${withoutFailureType(retry.reason)}`));
  for (const { pass, state, retries } of running) {
    const step = state === null ? paint.yellow('running') : syncStep(state, Date.now(), paint).text;
    lines.push(indent(`${pass}: ${step}`), ...troubles(retries));
  }
  lines.push(...troubles(refresh, 'refresh: '));
  if (last.length > 0) lines.push(indent(passesTable(last, columns - 2)));
  return wrapped(lines.join('\n'), columns);
}

function sinceText({ personalSince, hasWholeRejects }: ProjectStatus): string {
  if (personalSince !== null) return `; oldest stored ${utcText(personalSince)}`;
  return hasWholeRejects ? '; stored only in entries not understood' : '; none stored';
}

function passesTable(rows: readonly PassRow[], columns: number): string {
  return tableLines(
    ['started (UTC)', 'pass', 'outcome', 'pages', 'seen', 'new', 'changed', 'deleted', 'rejected', 'why'],
    rows.map(({ startedAt, pass, outcome, pages, entries, error }) => [
      timeText(startedAt),
      pass,
      outcome,
      ...[pages, entries.seen, entries.inserted, entries.updated, entries.tombstoned, entries.rejected].map(countText),
      error ?? '',
    ]),
    columns,
  );
}
