import { type Command, Option } from 'commander';
import type { Config } from '../../../config/config.ts';
import type { EntryStore } from '../../../feedback/entry-store.ts';
import type { PassKind } from '../../../model/sync/pass-kind.ts';
import { boundsProblem } from '../../../model/sync/pass-plan.ts';
import type { SyncInput, SyncState } from '../../../model/sync/sync.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { usageFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findProject } from '../../input/find-configured.ts';
import { type WaitFlags, waitTimeout } from '../../input/wait-options.ts';
import { onInterrupt } from '../../terminal/signals.ts';
import { syncStep } from './sync-step.ts';
import { syncResultText } from './sync-text.ts';

interface SyncFlags extends WaitFlags {
  pass?: PassKind;
  from?: string;
  to?: string;
  plan?: boolean;
}

export function addFeedbackSync(parent: Command, run: RunCommand): void {
  parent
    .command('sync')
    .description("Read a project's feedback into the store, under the organization's budget")
    .argument('<project>', 'id of a configured project, or org/project')
    .addOption(
      new Option('--pass <kind>', 'what to read; default: incremental, or sweep when never swept').choices([
        'incremental',
        'review',
        'sweep',
      ]),
    )
    .option('--from <date>', 'only entries from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries before this ISO 8601 date or date-time')
    .option('--plan', 'only say what it would read and how many requests that takes; nothing is asked or started')
    .option('--wait', 'wait for the end and show how it goes; Ctrl-C stops the waiting only')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)')
    .action((project: string, flags: SyncFlags) => run((context) => sync(context, project, flags)));
}

async function sync(context: CommandContext, name: string, flags: SyncFlags): Promise<ExitCode> {
  checkFlags(flags);
  const timeoutMs = waitTimeout(flags);
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  if (flags.plan) return plan(context, config, { org, project: project.id }, flags);
  const { startSync, syncHandle, syncState } = await import('../../../client/syncs.ts');
  const { refusedKey } = await import('../../temporal/refused-key.ts');
  const { describeWorkflow } = await import('../../temporal/running-workflow.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { withFeedbackStore } = await import('../../input/feedback-store-of.ts');
  const { output } = context;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const pass = flags.pass ?? (await withFeedbackStore(config, (store) => defaultPass(store, org, project.id)));
    const input: SyncInput = { org, project: project.id, pass, class: 'on-demand', ...boundsOf(flags) };
    const before = await describeWorkflow(syncHandle(client, input));
    const joined = before?.status.name === 'RUNNING';
    const refusal = await refusedKey(client, { org, joined, read: () => syncState(client, input), refusedOf });
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const handle = await startSync(client, config.temporal.taskQueue, input);
    const { workflowId } = handle;
    if (joined) output.note(`joined the ${pass} of ${project.id} that already runs, with its own dates`);
    const follow = `docferry feedback status ${name}`;
    if (!flags.wait) {
      const document = { workflowId, runId: handle.firstExecutionRunId, org, project: project.id, pass, joined };
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\nfollow it with \`${follow}\``);
      return exitCodes.done;
    }
    const cancel = `docferry feedback cancel ${name} --pass ${pass}`;
    const { waitShowing } = await import('../../temporal/waiting.ts');
    const result = await waitShowing(output, session, {
      handle,
      label: `${pass} of ${project.id}`,
      readState: () => syncState(client, input),
      stepOf: (state) => syncStep(state, Date.now(), output.paintNotes),
      troubleOf: (state) => refusal(state, cancel),
      timeoutMs,
      interrupt,
      follow,
      cancel,
    });
    output.result(result, syncResultText(result, output.paint));
    return exitCodes.done;
  });
}

/** When a refused key is tried next; null while it works. */
const refusedOf = ({ waiting }: SyncState): number | null =>
  waiting?.reason === 'unauthorized' ? waiting.until : null;

/** What a pass would do, without the service and without Temporal. */
async function plan(
  { output }: CommandContext,
  config: Config,
  { org, project }: { org: string; project: string },
  flags: SyncFlags,
): Promise<ExitCode> {
  const { withFeedbackStore } = await import('../../input/feedback-store-of.ts');
  const { planFor } = await import('../../../feedback/pass/plan-for.ts');
  const { planDocument, planText } = await import('./feedback-plan.ts');
  return withFeedbackStore(config, async (store) => {
    const pass = flags.pass ?? (await defaultPass(store, org, project));
    const question = { org, project, pass, ...boundsOf(flags) };
    const planned = await planFor(store, question);
    output.result(planDocument(question, planned), planText(question, planned, output.paint));
    return exitCodes.done;
  });
}

async function defaultPass(store: EntryStore, org: string, project: string): Promise<PassKind> {
  return (await store.everSwept(org, project)) ? 'incremental' : 'sweep';
}

function checkFlags(flags: SyncFlags): void {
  const wrong = boundsProblem(boundsOf(flags));
  if (wrong) throw usageFailure(`--${wrong.field} held ${JSON.stringify(wrong.held)}: it ${wrong.problem}`);
  if (flags.plan && flags.wait) throw usageFailure('--plan starts nothing, so there is nothing to --wait for');
}

function boundsOf({ from, to }: { from?: string | undefined; to?: string | undefined }): {
  from?: string;
  to?: string;
} {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}
