import { syncHandle, syncState } from '../../../client/syncs.ts';
import type { PrivacyConfig } from '../../../config/config.ts';
import type { EntryStore } from '../../../feedback/entry-store.ts';
import type { PassRow, PassStore } from '../../../feedback/pass/pass-store.ts';
import type { PrivacyStore } from '../../../feedback/privacy/privacy-store.ts';
import { counted, countText } from '../../../model/quantities.ts';
import { type ReadingKind, readingKinds } from '../../../model/sync/pass-kind.ts';
import type { SyncState } from '../../../model/sync/sync.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { withFeedbackStore } from '../../input/feedback-store-of.ts';
import { findProjects } from '../../input/find-configured.ts';
import { describeWorkflow } from '../../temporal/running-workflow.ts';
import { type Session, withTemporal } from '../../temporal/session.ts';
import { answerOrNull } from '../../temporal/worker-watch.ts';
import type { Paint } from '../../terminal/output.ts';
import { indent, isoTime, tableLines, timeText, utcText } from '../../terminal/text.ts';
import { forecastDocument } from '../budget/budget-view.ts';
import { privacyText } from '../config/privacy-text.ts';
import { syncStep } from './sync-step.ts';

const shownPasses = 5;

interface RunningPass {
  workflowId: string;
  runId: string;
  pass: ReadingKind;
  /** Null when no worker answers. */
  state: SyncState | null;
}

interface ProjectStatus {
  org: string;
  project: string;
  entries: number;
  rejects: number;
  tombstones: number;
  watermark: string | null;
  /** The store was complete as of this moment: all entries were as at the service; null while that is not known. */
  verifiedUpTo: string | null;
  /** The same for each stretch of dates, and for entries without a date. */
  verified: Awaited<ReturnType<EntryStore['verifiedRanges']>>;
  everSwept: boolean;
  /** The oldest date of an entry with personal data; null if no dated entry has any. */
  personalSince: string | null;
  running: RunningPass[];
  /** Newest first. */
  passes: PassRow[];
}

export default async function showFeedbackStatus(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const wanted = findProjects(config, name);
  const statuses = await withTemporal(config, (session) =>
    withFeedbackStore(config, (store) => Promise.all(wanted.map((ids) => readStatus(session, store, ids)))),
  );
  if (statuses.some(({ running }) => running.some(({ state }) => state === null))) {
    context.output.warn(
      'no worker answers, so the progress of a running pass is unknown: start one with `docferry worker`',
    );
  }
  const { contacts, comments, retentionMs } = config.privacy;
  const text = statuses.map((project) => textOf(project, config.privacy, context.output.paint)).join('\n\n');
  context.output.result(
    { privacy: { contacts, comments, retentionMs }, projects: statuses.map(documentOf) },
    text === '' ? 'no projects are configured' : text,
  );
  return exitCodes.done;
}

async function readStatus(
  session: Session,
  store: PassStore & EntryStore & PrivacyStore,
  ids: { org: string; project: string },
): Promise<ProjectStatus> {
  const { org, project } = ids;
  const running = await Promise.all(readingKinds.map((pass) => readRunning(session, { ...ids, pass })));
  return {
    ...ids,
    ...(await store.countEntries(org, project)),
    watermark: await store.watermark(org, project),
    verifiedUpTo: await store.verifiedUpTo(org, project),
    verified: await store.verifiedRanges(org, project),
    everSwept: await store.everSwept(org, project),
    personalSince: await store.personalSince(project),
    running: running.filter((pass) => pass !== null),
    passes: await store.listPasses({ ...ids, limit: shownPasses }),
  };
}

async function readRunning(
  { client, config }: Session,
  input: { org: string; project: string; pass: ReadingKind },
): Promise<RunningPass | null> {
  const handle = syncHandle(client, input);
  const description = await describeWorkflow(handle);
  if (description?.status.name !== 'RUNNING') return null;
  const state = await answerOrNull(client, config.temporal.taskQueue, () => syncState(client, input));
  return { workflowId: handle.workflowId, runId: description.runId, pass: input.pass, state };
}

function documentOf({ running, passes: ended, ...project }: ProjectStatus): object {
  return {
    ...project,
    running: running.map(({ state, ...pass }) => ({
      ...pass,
      phase: state?.phase ?? null,
      progress: state?.progress ?? null,
      waiting: state?.waiting ? { ...state.waiting, until: isoTime(state.waiting.until) } : null,
      forecast: state ? forecastDocument(state.forecast) : null,
    })),
    // Only the pass itself can use its position, and the cursor in it is the service's.
    passes: ended.map(({ position: _position, ...pass }) => pass),
  };
}

function textOf(project: ProjectStatus, privacy: PrivacyConfig, paint: Paint): string {
  const { org, entries, rejects, tombstones, watermark, verifiedUpTo, running, passes: last } = project;
  const stored = [
    counted(entries, 'entry', 'entries'),
    rejects > 0 ? `${countText(rejects)} not understood` : '',
    tombstones > 0 ? `${countText(tombstones)} deleted` : '',
    watermark === null ? 'never read to the end' : `read up to ${utcText(watermark)}`,
    verifiedUpTo === null ? '' : `complete as of ${utcText(verifiedUpTo)}`,
  ].filter((part) => part !== '');
  const lines = [`${paint.bold(project.project)} (${org}): ${stored.join(', ')}`];
  const personal = privacyText(privacy);
  if (personal !== null) lines.push(indent(`personal data: ${personal}${sinceText(project)}`));
  for (const { pass, state } of running) {
    const step = state === null ? paint.yellow('running') : syncStep(state, Date.now(), paint).text;
    lines.push(indent(`${pass}: ${step}`));
  }
  if (last.length > 0) lines.push(indent(passesTable(last)));
  return lines.join('\n');
}

function sinceText({ personalSince }: ProjectStatus): string {
  return personalSince === null ? '; none stored' : `; oldest stored ${utcText(personalSince)}`;
}

function passesTable(rows: readonly PassRow[]): string {
  return tableLines(
    ['started (UTC)', 'pass', 'outcome', 'pages', 'seen', 'new', 'changed', 'deleted', 'rejected', 'why'],
    rows.map(({ startedAt, pass, outcome, pages, entries, error }) => [
      timeText(startedAt),
      pass,
      outcome,
      ...[pages, entries.seen, entries.inserted, entries.updated, entries.tombstoned, entries.rejected].map(countText),
      error ?? '',
    ]),
  );
}
