import type { Config, SiteConfig } from '../../../config/config.ts';
import { observedText } from '../../../exports/rules/rollout-steps.ts';
import {
  allReasons,
  changesText,
  type EndDetail,
  type ExportProgress,
  type ExportState,
  reasonText,
  transferFacts,
  whyEnded,
} from '../../../exports/rules/site-export.ts';
import type { ObservedTarget, SiteHold } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { FeedbackStoreUnavailable } from '../../../feedback/store/feedback-store-unavailable.ts';
import type { ExportRunRow, RunFilter } from '../../../feedback/store/run-records.ts';
import { describeWorkflow, exportHandle, exportState, withFailedStart } from '../../../operations/exports.ts';
import { withoutFailureType } from '../../../rules/errors.ts';
import { clockTime, counted, countText, ignoredFacts, spanText } from '../../../rules/text.ts';
import { type Retry, retriesIn, triedAgain } from '../../../temporal/connection.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Surface } from '../../context.ts';
import { explainFailure } from '../../explain-failure.ts';
import { findSite, siteHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { type Session, withTemporal } from '../../session.ts';
import { holdText } from '../../terminal/progress.ts';
import { factLines, indent, tableLines, timeText, withIsoMoments, wrapped } from '../../terminal/text.ts';
import { answersOrNull } from '../../waiting.ts';

export default {
  status: (command, run) => command.argument('<domain>', siteHelp).action(run(showExportStatus)),
} satisfies CommandFile;

const shownRuns = 5;

interface Status {
  org: string;
  domain: string;
  workflowId: string;
  runId: string | null;
  /** Temporal's word for the latest run, e.g. `RUNNING`; null when it knows of none. */
  status: string | null;
  /** Of the running export; null when none runs or no worker answers. */
  state: ExportState | null;
  /** Steps of the running export that failed and are tried again. */
  retries: Retry[];
  /** Null when the site is not held or the bundle store is unavailable. */
  hold: SiteHold | null;
  /** What the organization's watch has read back of each target; empty when the bundle store is unavailable. */
  targets: (ObservedTarget & { target: string })[];
  /** Of the feedback store; empty when it is away. */
  runs: ExportRunRow[];
  /** Why the runs could not be read, or null. */
  runsUnread: string | null;
}

async function showExportStatus(context: CommandContext, domain: string): Promise<void> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  return withTemporal(config, async (session) => {
    const running = await readRunning(session, org, site.domain);
    const runs = await runsOf(context, config, { org, domain: site.domain, limit: shownRuns });
    if (running.status === 'RUNNING' && running.state === null) {
      context.output.warn('no worker answers, so the phase is unknown: start one with `docferry worker`');
    }
    const stored = await storedOf(context, config, site);
    const found: Status = { org, domain: site.domain, ...running, ...stored, ...runs };
    context.output.result(documentOf(found), textOf(found, context.output.surface));
  });
}

/** Status works without either store too. */
async function runsOf(
  { output }: CommandContext,
  config: Config,
  filter: RunFilter,
): Promise<Pick<Status, 'runs' | 'runsUnread'>> {
  try {
    return { runs: await withFeedbackStore(config, (store) => store.listExportRuns(filter)), runsUnread: null };
  } catch (error) {
    if (!(error instanceof FeedbackStoreUnavailable)) throw error;
    output.warn(`the records of earlier runs could not be read: ${error.message}`);
    return { runs: [], runsUnread: error.message };
  }
}

/** The hold, and what the configured targets run. */
async function storedOf(
  context: CommandContext,
  config: Config,
  { domain, rollout }: SiteConfig,
): Promise<Pick<Status, 'hold' | 'targets'>> {
  try {
    const store = await openBundleStore(config.store.bundles);
    const [hold, seen] = await Promise.all([store.holds.of(domain), store.observed(domain)]);
    const targets = rollout.flatMap(({ name }) => (seen[name] ? [{ target: name, ...seen[name] }] : []));
    return { hold, targets };
  } catch (error) {
    const problem = explainFailure(error).message;
    context.output.warn(`whether ${domain} is held, and what its targets run, is unknown: ${problem}`);
    return { hold: null, targets: [] };
  }
}

async function readRunning(
  { client, config }: Session,
  org: string,
  domain: string,
): Promise<Pick<Status, 'workflowId' | 'runId' | 'status' | 'state' | 'retries'>> {
  const handle = exportHandle(client, org, domain);
  const description = await describeWorkflow(handle);
  const running = description?.status.name === 'RUNNING' ? [domain] : [];
  const [state = null] = await answersOrNull(client, config.temporal.taskQueue, running, () =>
    exportState(client, org, domain),
  );
  const { workflowId } = handle;
  const retries = withFailedStart(description === null ? [] : await retriesIn(client, description), state);
  return { workflowId, runId: description?.runId ?? null, status: description?.status.name ?? null, state, retries };
}

function documentOf({ state, runs, ...status }: Status): object {
  return withIsoMoments({
    ...status,
    // A failed start is one of the retries.
    state: state && { ...state, failedStart: undefined, progress: state.progress && shownProgress(state.progress) },
    runs: runs.map((run) => ({ ...run, detail: JSON.parse(run.detail) })),
  });
}

/** Without the fields that only the workflow needs. */
function shownProgress({ samples: _samples, storeId: _storeId, ignored: _ignored, ...progress }: ExportProgress) {
  return progress;
}

function textOf(
  { domain, workflowId, status, state, retries, hold, targets, runs, runsUnread }: Status,
  { paint, columns }: Surface,
): string {
  const lines = [`${paint.bold(domain)}: ${status === 'RUNNING' ? paint.yellow('running') : 'nothing runs'}`];
  if (state !== null) lines.push(indent(factLines(stateFacts(state, workflowId, domain))));
  const failing = retries.map((retry): [string, string] => [
    retry.activity,
    `${triedAgain(retry)}: ${withoutFailureType(retry.reason)}`,
  ]);
  if (failing.length > 0) lines.push(indent(factLines(failing)));
  if (hold !== null) lines.push(indent(holdText(hold)));
  const seen = targets.map((one): [string, string] => [
    one.target,
    `${observedText(one)}, since ${timeText(one.since)} UTC`,
  ]);
  if (seen.length > 0) lines.push(indent(factLines(seen)));
  if (runsUnread !== null) lines.push(`latest run: ${status?.toLowerCase() ?? 'none that Temporal knows of'}`);
  else if (runs.length === 0) lines.push(`no export of ${domain} has ended yet`);
  else lines.push('', runsTable(runs, columns), ...runs.flatMap(reasonsOf));
  return wrapped(lines.join('\n'), columns);
}

function stateFacts(
  { phase, progress, nextPoll, download, version, approval, parameters, ignored }: ExportState,
  workflowId: string,
  domain: string,
): [string, string][] {
  const facts: [string, string][] = [
    ['workflow', workflowId],
    ['phase', phase],
  ];
  if (progress) {
    const { percent, pageCount, polls, jobId, startedAt, possibleDuplicates } = progress;
    facts.push(['running for', spanText(Date.now() - startedAt)]);
    facts.push(['job', jobText(jobId, polls)]);
    if (possibleDuplicates > 0) {
      facts.push([
        'possible duplicates',
        `${possibleDuplicates}: the answer to a start was lost or unreadable, so another job may be running`,
      ]);
    }
    if (percent !== null) facts.push(['progress', `${Math.floor(percent)} %`]);
    if (pageCount !== null) facts.push(['pages', countText(pageCount)]);
  }
  if (download) facts.push(['download', transferFacts(download).join(', ')]);
  if (nextPoll) facts.push(['next poll', `${clockTime(nextPoll.at)} (${nextPoll.reason})`]);
  if (parameters.rollback !== undefined) facts.push(['rollback', `to ${parameters.rollback}`]);
  else if (version !== null) facts.push(['version', version]);
  if (approval) {
    facts.push(['approval', `waits until ${timeText(new Date(approval.expiresAt).toISOString())} UTC`]);
    facts.push(...approval.asks.map((reason): [string, string] => ['because', reasonText(reason)]));
    facts.push(['changes', changesText(approval.changes)]);
    facts.push(['decide', `docferry export approve ${domain} ${approval.version}, or reject`]);
  }
  facts.push(...ignoredFacts(ignored));
  return facts;
}

function jobText(jobId: string | null, polls: number): string {
  if (jobId === null) return 'none yet';
  return `${jobId}, ${polls === 0 ? 'not polled yet' : `polled ${counted(polls, 'time')}`}`;
}

/** The reasons of a run that has several: its row gives the first. */
function reasonsOf({ finishedAt, outcome, detail }: ExportRunRow): string[] {
  const reasons = allReasons(JSON.parse(detail) as EndDetail);
  return reasons.length === 0 ? [] : ['', `${timeText(finishedAt)} ${outcome}:`, indent(reasons.join('\n'))];
}

function runsTable(runs: readonly ExportRunRow[], columns: number): string {
  return tableLines(
    ['ended (UTC)', 'outcome', 'version', 'polls', 'why'],
    runs.map(({ finishedAt, outcome, version, polls, detail }) => [
      timeText(finishedAt),
      outcome,
      version ?? '-',
      `${polls}`,
      whyEnded(JSON.parse(detail) as EndDetail),
    ]),
    columns,
    ['polls'],
  );
}
