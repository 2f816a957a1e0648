import { startOrJoinSync, syncHandle, syncState } from '../../../operations/syncs.ts';
import { handoverFor } from '../../../temporal/temporal-connection.ts';
import type { Config } from '../../../config/config.ts';
import type { EntryStore } from '../../../feedback/store/entry-store.ts';
import { planPass } from '../../../feedback/reading/plan-pass.ts';
import { startedPass } from '../../../runs/rules/own-audit-entries.ts';
import type { PassKind } from '../../../feedback/rules/pass-kind.ts';
import type { SyncInput, SyncState } from '../../../feedback/rules/sync.ts';
import { startSyncs } from '../../bulk-syncs.ts';
import { isBulk, refuseInBulk } from '../../is-bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { usageFailure } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import type { BulkFlags } from '../../bulk-flags.ts';
import { dateRange } from '../../date-range.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';
import { findProject } from '../../find-configured.ts';
import { keepDeeds } from '../../audit.ts';
import { type WaitFlags, waitTimeout } from '../../wait-options.ts';
import { refusedKey } from '../../refused-key.ts';
import { describeWorkflow } from '../../running-workflow.ts';
import { withTemporal } from '../../session.ts';
import { waitShowing } from '../../waiting.ts';
import { onInterrupt } from '../../terminal/signals.ts';
import { syncStep } from '../../terminal/sync-step.ts';
import { projectTitle } from '../../terminal/text.ts';
import { planDocument, planText } from './feedback-plan.ts';
import { syncResultText } from './sync-text.ts';

interface SyncFlags extends WaitFlags, BulkFlags {
  pass?: PassKind;
  from?: string;
  to?: string;
  plan?: boolean;
}

export default async function syncFeedback(
  context: CommandContext,
  name: string | undefined,
  flags: SyncFlags,
): Promise<ExitCode> {
  if (isBulk(name, flags, 'project')) {
    refuseInBulk({ '--wait': flags.wait, '--timeout': flags.timeout, '--plan': flags.plan });
    return startSyncs(context, flags, dateRange(flags), defaultPass);
  }
  dateRange(flags);
  if (flags.plan && flags.wait) throw usageFailure('--plan starts nothing, so there is nothing to --wait for');
  const timeoutMs = waitTimeout(flags);
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  const title = projectTitle({ project: project.id, name: project.name });
  if (flags.plan) return plan(context, config, { org, project: project.id }, flags);
  const { output } = context;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const pass = flags.pass ?? (await withFeedbackStore(config, (store) => defaultPass(store, org, project.id)));
    const handover = handoverFor(config.temporal);
    const input: SyncInput = { org, project: project.id, pass, class: 'on-demand', ...dateRange(flags), handover };
    const before = await describeWorkflow(syncHandle(client, input));
    const running = before?.status.name === 'RUNNING';
    const refusal = await refusedKey(client, { org, joined: running, read: () => syncState(client, input), refusedOf });
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const { handle, joined, runId } = await startOrJoinSync(client, config.temporal.taskQueue, input);
    await keepDeeds(context, config, flags, startedPass(input, runId));
    const { workflowId } = handle;
    if (joined) output.note(`joined the ${pass} of ${title} that is already running, with its own dates`);
    const follow = `docferry feedback status ${name}`;
    if (!flags.wait) {
      const { runId: running } = runId === null ? await handle.describe() : { runId };
      const document = { workflowId, runId: running, org, project: project.id, pass, joined };
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\nfollow it with \`${follow}\``);
      return exitCodes.done;
    }
    const cancel = `docferry feedback cancel ${name} --pass ${pass}`;
    const result = await waitShowing(output, session, {
      handle,
      label: `${pass} of ${title}`,
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

/** When a refused key is tried again; null while it works. */
const refusedOf = ({ waiting }: SyncState): number | null =>
  waiting?.reason === 'unauthorized' ? waiting.until : null;

/** What a pass would do, without asking the service or Temporal. */
async function plan(
  { output }: CommandContext,
  config: Config,
  { org, project }: { org: string; project: string },
  flags: SyncFlags,
): Promise<ExitCode> {
  return withFeedbackStore(config, async (store) => {
    const pass = flags.pass ?? (await defaultPass(store, org, project));
    const question = { org, project, pass, ...dateRange(flags) };
    const planned = await planPass(store, question);
    output.result(planDocument(question, planned), planText(question, planned, output.surface));
    return exitCodes.done;
  });
}

async function defaultPass(store: EntryStore, org: string, project: string): Promise<PassKind> {
  return (await store.everSwept(org, project)) ? 'incremental' : 'sweep';
}
