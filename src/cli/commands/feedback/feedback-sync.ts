import { Option } from 'commander';
import type { PassQuestion, PlannedPass } from '../../../feedback/reading/pass-facts.ts';
import type { PlannedSlice } from '../../../feedback/rules/slice.ts';
import { type PassKind, passKinds, type SyncResult, type SyncState } from '../../../feedback/rules/sync.ts';
import { describeWorkflow } from '../../../operations/exports.ts';
import { type Project, runIdOf, runs, usualPass } from '../../../operations/operator.ts';
import { syncHandle, syncState } from '../../../operations/syncs.ts';
import { counted, countText, spanText } from '../../../rules/text.ts';
import { onSelected, runBulk, runningNow } from '../../bulk.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  type Paint,
  type Surface,
  usageFailure,
} from '../../context.ts';
import {
  addActorFlag,
  addBulkFlags,
  addWaitFlags,
  type BulkFlags,
  dateRange,
  findProject,
  isBulk,
  projectHelp,
  refuseInBulk,
  type WaitFlags,
  waitTimeout,
} from '../../flags.ts';
import { withFeedbackStore, withOperator } from '../../operator.ts';
import { refusedKey } from '../../session.ts';
import { syncStep } from '../../terminal/progress.ts';
import { startInterruptibly } from '../../terminal/prompts.ts';
import { factLines, indent, projectTitle, tableLines, timeText, utcText } from '../../terminal/text.ts';
import { waitShowing } from '../../waiting.ts';

export default {
  sync: (command, run) => {
    command
      .argument('[project]', projectHelp)
      .addOption(
        new Option(
          '--pass <kind>',
          'what to read; default: incremental, or sweep if the project was never swept',
        ).choices(['incremental', 'review', 'sweep']),
      )
      .option('--from <date>', 'only entries from this ISO 8601 date or date-time on')
      .option('--to <date>', 'only entries before this ISO 8601 date or date-time')
      .option('--plan', 'only show what would be read and how many requests that takes; sends and starts nothing');
    addActorFlag(addBulkFlags(addWaitFlags(command), 'projects')).action(run(syncFeedback));
  },
  cancel: (command, run) => {
    command
      .argument('[project]', projectHelp)
      .addOption(new Option('--pass <kind>', 'which pass; with several projects, all by default').choices(passKinds));
    addActorFlag(addBulkFlags(command, 'projects')).action(run(cancelPass));
  },
} satisfies CommandFile;

/** What `feedback sync --plan` prints as JSON. */
function planDocument({ org, project, pass }: PassQuestion, planned: PlannedPass): object {
  const { bounds, reason, slices, expectedRequests, mostRequests } = planned;
  const { dateFrom, dateTo } = bounds;
  return { org, project, pass, dateFrom, dateTo, reason, expectedRequests, mostRequests, slices };
}

/** What `feedback sync --plan` prints for people. */
function planText({ project, pass }: PassQuestion, planned: PlannedPass, { paint, columns }: Surface): string {
  const { bounds, reason, slices, expectedRequests, mostRequests } = planned;
  const facts: [string, string][] = [
    ['reads', reason],
    ['dates', bounds.reason],
    ['requests', expectedRequests === null ? 'unknown: nothing has been read yet' : `${expectedRequests}`],
  ];
  if (mostRequests !== null) facts.push(['at most', `${mostRequests}, including the ranges that look for changes`]);
  return `${paint.bold(`${pass} of ${project}`)}, nothing has been asked yet\n${indent(factLines(facts))}\n${indent(table(slices, columns - 2))}`;
}

function table(slices: readonly PlannedSlice[], columns: number): string {
  return tableLines(
    ['slice', 'from (UTC)', 'to (UTC)', 'only', 'requests'],
    slices.map(({ stage, dateFrom, dateTo, source, statuses, expectedPages }) => [
      stage,
      timeText(dateFrom),
      timeText(dateTo),
      [source, statuses?.join(', ')].filter((part) => part).join(' ') || '-',
      expectedPages === null ? '?' : String(expectedPages),
    ]),
    columns,
  );
}

/** The result of a pass for people. */
function syncResultText(result: SyncResult, paint: Paint): string {
  const { pass, project, pages, requests, throttled, waitedMs, entries, watermark, verifiedUpTo } = result;
  const { seen, inserted, updated, unchanged, rejected, tombstoned } = entries;
  const facts: [string, string][] = [
    [
      'entries',
      `${countText(seen)} seen: ${countText(inserted)} new, ${countText(updated)} changed, ${countText(unchanged)} unchanged`,
    ],
    [
      'requests',
      `${countText(requests)} for ${counted(pages, 'page')}${throttled > 0 ? `, ${countText(throttled)} refused with 429` : ''}`,
    ],
    ['waited', `${spanText(waitedMs)} for the budget`],
    ['watermark', watermark === null ? 'none yet' : utcText(watermark)],
    ['complete', verifiedUpTo === null ? 'not yet' : `as of ${utcText(verifiedUpTo)}`],
  ];
  if (tombstoned > 0) facts.splice(1, 0, ['deleted', `${countText(tombstoned)}, kept with deleted_at`]);
  if (rejected > 0)
    facts.splice(1, 0, ['not understood', `${countText(rejected)}, kept in feedback_rejects with the reason`]);
  return `${paint.green('completed')} the ${pass} of ${project}\n${indent(factLines(facts))}`;
}

interface SyncFlags extends WaitFlags, BulkFlags {
  pass?: PassKind;
  from?: string;
  to?: string;
  plan?: boolean;
}

async function syncFeedback(context: CommandContext, name: string | undefined, flags: SyncFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'project')) {
    refuseInBulk({ '--wait': flags.wait, '--timeout': flags.timeout, '--plan': flags.plan }, 'project');
    return startSyncs(context, flags, dateRange(flags));
  }
  dateRange(flags);
  if (flags.plan && flags.wait) throw usageFailure('--plan starts nothing, so there is nothing to --wait for');
  const timeoutMs = waitTimeout(flags);
  if (flags.plan) return plan(context, name, flags);
  const { output } = context;
  return withOperator(context, flags, async ({ config, operator }) => {
    const found = findProject(config, name);
    const { org, project } = found;
    const title = projectTitle(found);
    const client = await operator.installation.temporal();
    const pass = flags.pass ?? (await usualPass(await operator.installation.feedback(), { org, project }));
    const input = { org, project, pass };
    const before = await describeWorkflow(syncHandle(client, input));
    const running = before?.status.name === 'RUNNING';
    const refusal = await refusedKey(client, { org, joined: running, read: () => syncState(client, input), refusedOf });
    const { started, interrupt } = await startInterruptibly(output, () =>
      operator.startPass(input, pass, dateRange(flags)),
    );
    const { handle, joined, runId } = started;
    const { workflowId } = handle;
    if (joined) output.note(`joined the ${pass} of ${title} that is already running, with its own dates`);
    const follow = `docferry feedback status ${name}`;
    if (!flags.wait) {
      const { runId: running } = runId === null ? await handle.describe() : { runId };
      const document = { workflowId, runId: running, org, project, pass, joined };
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\nfollow it with \`${follow}\``);
      interrupt.dispose();
      return exitCodes.done;
    }
    const cancel = `docferry feedback cancel ${name} --pass ${pass}`;
    const result = await waitShowing(
      output,
      { config, client },
      {
        handle,
        label: `${pass} of ${title}`,
        readState: () => syncState(client, input),
        stepOf: (state) => syncStep(state, Date.now(), output.paintNotes),
        troubleOf: (state) => refusal(state, cancel),
        timeoutMs,
        interrupt,
        follow,
        cancel,
      },
    );
    output.result(result, syncResultText(result, output.paint));
    return exitCodes.done;
  });
}

/** When a refused key is tried again; null while it works. */
const refusedOf = ({ waiting }: SyncState): number | null =>
  waiting?.reason === 'unauthorized' ? waiting.until : null;

/** What a pass would do, without asking the service or Temporal. */
async function plan(context: CommandContext, name: string, flags: SyncFlags): Promise<ExitCode> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  return withFeedbackStore(config, async (store) => {
    const pass = flags.pass ?? (await usualPass(store, { org, project }));
    const question = { org, project, pass, ...dateRange(flags) };
    const planned = await store.planPass(question);
    output.result(planDocument(question, planned), planText(question, planned, output.surface));
    return exitCodes.done;
  });
}

async function cancelPass(
  context: CommandContext,
  name: string | undefined,
  flags: BulkFlags & { pass?: PassKind },
): Promise<ExitCode> {
  if (isBulk(name, flags, 'project')) return cancelSyncs(context, flags);
  const { pass } = flags;
  if (pass === undefined) throw usageFailure('name the pass to cancel: --pass <kind>');
  return withOperator(context, flags, async ({ config, operator }) => {
    const found = findProject(config, name);
    const { org, project } = found;
    const { workflowId, runId } = await operator.cancel({ kind: 'sync', org, project, pass });
    const document = { workflowId, runId, org, project, pass, cancelRequested: true };
    context.output.result(document, `cancelling the ${pass} of ${projectTitle(found)}`);
    return exitCodes.done;
  });
}

interface Pass extends Project {
  pass: PassKind;
}

const passOf = ({ org, project, pass }: Pass) => ({ kind: 'sync' as const, org, project, pass });
const passLine = ({ org, project, pass }: Pass): string => `${org}/${project}  ${pass}`;

/** Starts a pass of many projects; one that runs is joined. */
async function startSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: PassKind },
  dates: { from?: string; to?: string },
): Promise<ExitCode> {
  return onSelected(context, flags, 'projects', async (operator, projects) => {
    const running = await runningNow(operator);
    const items: Pass[] = [];
    for (const project of projects) {
      const pass = flags.pass ?? (await usualPass(await operator.installation.feedback(), project));
      items.push({ ...project, pass });
    }
    const plan = { items, skipped: [] };
    return runBulk(context, flags, plan, {
      kind: 'projects',
      verb: 'start a pass of',
      done: 'started',
      none: 'no project is configured',
      lineOf: passLine,
      runsAlready: (pass) => runs(running, passOf(pass)),
      async work({ pass, ...project }) {
        const { handle, joined } = await operator.startPass(project, pass, dates);
        return { workflowId: handle.workflowId, joined };
      },
    });
  });
}

/** Cancels the running passes of many projects, of one kind or of all. */
async function cancelSyncs(context: CommandContext, flags: BulkFlags & { pass?: PassKind }): Promise<ExitCode> {
  return onSelected(context, flags, 'projects', async (operator, projects) => {
    const running = await runningNow(operator);
    const kinds = flags.pass === undefined ? passKinds : [flags.pass];
    const passes = projects.flatMap((project) => kinds.map((pass): Pass => ({ ...project, pass })));
    const plan = { items: passes.filter((pass) => runs(running, passOf(pass))), skipped: [] };
    return runBulk(context, flags, plan, {
      kind: 'projects',
      verb: 'cancel the running passes of',
      done: 'cancelling',
      none: 'no pass is running',
      lineOf: passLine,
      async work(pass) {
        const { workflowId } = await operator.cancel(passOf(pass), runIdOf(running, passOf(pass)));
        return { workflowId, cancelRequested: true };
      },
    });
  });
}
