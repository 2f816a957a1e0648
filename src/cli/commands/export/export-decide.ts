import { approveExport, rejectExport } from '../../../operations/decide-approval.ts';
import { exportHandle, exportState } from '../../../operations/exports.ts';
import { approveExports } from '../../bulk-exports.ts';
import { isBulk } from '../../is-bulk.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { operationFailure } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import type { BulkFlags } from '../../bulk-flags.ts';
import { findSite } from '../../find-configured.ts';
import { senderOf } from '../../sender.ts';
import { askWorker } from '../../ask-worker.ts';
import { requireRunning } from '../../running-workflow.ts';
import { withTemporal } from '../../session.ts';

/** Tells the running export of a site what a person decided; `reason` is that of a rejection. */
export default async function decideExport(
  context: CommandContext,
  decision: 'approved' | 'rejected',
  name: string | undefined,
  asked: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  // A person may approve many versions at once, but each rejection needs its own reason.
  if (decision === 'approved' && isBulk(name, flags, 'domain')) return approveExports(context, flags);
  const reason = flags.reason ?? '';
  const sender = senderOf(flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name ?? '');
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const { workflowId, runId } = await requireRunning(exportHandle(client, org, domain), `export of ${domain}`);
    const answer = <Answer>(ask: () => Promise<Answer>) => askWorker(client, config.temporal.taskQueue, ask);
    const version = asked ?? (await answer(() => exportState(client, org, domain))).approval?.version;
    if (version === undefined) throw operationFailure('InvalidInput', 'no version waits for approval');
    if (asked === undefined) context.output.note(`${version} waits`);
    const ask = { org, domain, version };
    await answer(() =>
      decision === 'approved' ? approveExport(client, ask, sender) : rejectExport(client, { ...ask, reason }, sender),
    );
    const document = { workflowId, runId, org, domain, version, decision };
    if (decision === 'approved') context.output.result(document, `approved: ${version} goes into service`);
    else context.output.result({ ...document, reason }, `rejected: ${version} is removed`);
    return exitCodes.done;
  });
}
