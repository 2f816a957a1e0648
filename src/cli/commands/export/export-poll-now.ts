import { randomUUID } from 'node:crypto';
import { exportHandle, pollNow } from '../../../operations/exports.ts';
import { doneBy } from '../../../runs/rules/own-audit-entries.ts';
import type { ActorFlags } from '../../actor.ts';
import { writeAudit } from '../../audit.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findSite } from '../../selection.ts';
import { requireRunning, withTemporal } from '../../session.ts';
import { askWorker } from '../../waiting.ts';

export default async function pollAtOnce(context: CommandContext, name: string, flags: ActorFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, name);
  const { domain } = site;
  return withTemporal(config, async ({ client }) => {
    const { workflowId, runId } = await requireRunning(exportHandle(client, org, domain), `export of ${domain}`);
    const { taskQueue } = config.temporal;
    const { phase, progress } = await askWorker(client, taskQueue, () => pollNow(client, org, domain));
    await writeAudit(context, config, flags, [doneBy(randomUUID(), 'poll-now', { kind: 'export', org, domain })]);
    const document = { workflowId, runId, org, domain, phase, polls: progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${domain} now`);
    return exitCodes.done;
  });
}
