import { approveExport } from '../operations/decide-approval.ts';
import { exportHandle, exportState, startExport } from '../operations/exports.ts';
import { inBatches } from '../temporal/in-batches.ts';
import { type RunningWork, runningWork } from '../temporal/running-work.ts';
import { handoverFor } from '../temporal/temporal-connection.ts';
import type { ExportParameters } from '../exports/rules/site-export.ts';
import { cancelledRun, startedExport } from '../runs/rules/own-audit-entries.ts';
import { exportWorkflowId } from '../rules/workflow-ids.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { BulkFlags } from './bulk-flags.ts';
import { senderOf } from './sender.ts';
import { askWorker } from './ask-worker.ts';
import { requireRunning } from './running-workflow.ts';
import { type Session, withTemporal } from './session.ts';
import { selectedInBulk } from './is-bulk.ts';
import { runBulk } from './run-bulk.ts';

interface Site {
  org: string;
  domain: string;
}

const queriesAtOnce = 16;

/** Starts the exports of many sites; one that runs is joined or refused, as for one site. */
export async function startExports(
  context: CommandContext,
  flags: BulkFlags & { onRunning: 'join' | 'refuse' },
  parameters: ExportParameters,
): Promise<ExitCode> {
  return ofSites(context, flags, async ({ client, config }, sites, running) => {
    const { taskQueue } = config.temporal;
    const handover = handoverFor(config.temporal);
    return runBulk<Site>(context, config, flags, {
      kind: 'sites',
      verb: 'start the exports of',
      done: 'started',
      items: sites,
      left: [],
      lineOf: (site) => `${site.domain}${running.has(idOf(site)) ? ' (already running)' : ''}`,
      work: async (site) => {
        const start = () => startExport(client, taskQueue, { ...site, parameters, handover }, flags.onRunning);
        const { handle, joined, runId } = await askWorker(client, taskQueue, start);
        const deeds = startedExport(site.org, site.domain, runId, parameters);
        return { document: { workflowId: handle.workflowId, joined }, deeds };
      },
    });
  });
}

/** Cancels the running exports and rollbacks of many sites. */
export async function cancelExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return ofSites(context, flags, ({ client, config }, sites, running) =>
    runBulk<Site>(context, config, flags, {
      kind: 'sites',
      verb: 'cancel the exports of',
      done: 'cancelling',
      items: sites.filter((site) => running.has(idOf(site))),
      left: sites.filter((site) => !running.has(idOf(site))).map((item) => ({ item, why: 'no export runs' })),
      lineOf: ({ domain }) => domain,
      work: async ({ org, domain }) => {
        const handle = exportHandle(client, org, domain);
        const { runId } = await requireRunning(handle, `export of ${domain}`);
        await handle.cancel();
        const deeds = [cancelledRun({ kind: 'export', org, domain }, runId)];
        return { document: { workflowId: handle.workflowId, cancelRequested: true }, deeds };
      },
    }),
  );
}

/** Approves what waits at many sites: the versions of the plan, and never one that came after it. */
export async function approveExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return ofSites(context, flags, async ({ client, config }, sites, running) => {
    const { taskQueue } = config.temporal;
    const sender = senderOf(flags);
    const waits = (site: Site) => running.get(idOf(site))?.phase === 'awaiting-approval';
    const asked = await inBatches(sites.filter(waits), queriesAtOnce, async ({ org, domain }) => {
      const { approval } = await askWorker(client, taskQueue, () => exportState(client, org, domain));
      return { org, domain, version: approval?.version ?? null };
    });
    const versions = new Map(asked.map((site) => [idOf(site), site.version]));
    const known = sites.map((site) => ({ ...site, version: versions.get(idOf(site)) ?? null }));
    return runBulk(context, config, flags, {
      kind: 'sites',
      verb: 'approve the versions of',
      done: 'approved',
      items: known.filter(({ version }) => version !== null),
      left: known.filter(({ version }) => version === null).map((item) => ({ item, why: 'no version waits' })),
      lineOf: ({ domain, version }) => (version === null ? domain : `${domain}  ${version}`),
      work: async ({ org, domain, version }) => {
        if (version === null) throw new Error('only the versions shown in the plan are approved');
        await askWorker(client, taskQueue, () => approveExport(client, { org, domain, version }, sender));
        return { document: { decision: 'approved' }, deeds: [] };
      },
    });
  });
}

/** Does the work with the selected sites and what runs of them, by workflow id. */
async function ofSites(
  context: CommandContext,
  flags: BulkFlags,
  work: (session: Session, sites: Site[], running: ReadonlyMap<string, RunningWork>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const sites = selectedInBulk(config, flags, 'sites');
  return withTemporal(config, async (session) => {
    const running = await runningWork(session.client, config.temporal.taskQueue);
    return work(session, sites, new Map(running.map((found) => [found.workflowId, found])));
  });
}

const idOf = ({ org, domain }: Site): string => exportWorkflowId(org, domain);
