import { type Command, Option } from 'commander';
import type { ExportParameters, ExportState } from '../../../model/export/site-export.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { type WaitFlags, waitTimeout } from '../../input/wait-options.ts';
import { onInterrupt } from '../../terminal/signals.ts';

interface StartFlags extends WaitFlags {
  siteVersion?: string;
  path?: string[];
  promote?: boolean;
  force?: boolean;
  onRunning: 'join' | 'refuse';
}

export function addExportStart(parent: Command, run: RunCommand): void {
  parent
    .command('start')
    .description('Export a site: start a job, fetch and verify the bundle, publish it, roll it out')
    .argument('<domain>', 'domain of a configured site')
    .option('--wait', 'wait for the end and show how it goes; Ctrl-C stops the waiting only')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)')
    .option('--site-version <label>', 'label of the export; default: the latest published content')
    .option('--path <path...>', 'export these pages only; the result does not become current')
    .option('--promote', 'let an export limited by --path become current all the same')
    .option('--force', 'publish and roll out even if nothing changed')
    .addOption(
      new Option('--on-running <how>', 'when an export of the domain already runs')
        .choices(['join', 'refuse'])
        .default('join'),
    )
    .action((domain: string, flags: StartFlags) => run((context) => start(context, domain, flags)));
}

async function start(context: CommandContext, domain: string, flags: StartFlags): Promise<ExitCode> {
  const timeoutMs = waitTimeout(flags);
  const config = await loadContextConfig(context);
  const { org, site } = findSite(config, domain);
  const { exportState, startExport } = await import('../../../client/exports.ts');
  const { askWorker } = await import('../../temporal/ask-worker.ts');
  const { refusedKey } = await import('../../temporal/refused-key.ts');
  const { withTemporal } = await import('../../temporal/session.ts');
  const { output } = context;
  return withTemporal(config, async (session) => {
    const { client } = session;
    const input = { org, domain: site.domain, parameters: parametersOf(flags) };
    const interrupt = flags.wait ? onInterrupt() : undefined;
    const { taskQueue } = config.temporal;
    // Whether a running one has the same parameters, its worker tells.
    const start = () => startExport(client, taskQueue, input, flags.onRunning);
    const { handle, joined } = await askWorker(client, taskQueue, start);
    const { workflowId } = handle;
    if (joined) output.note(`joined the export of ${site.domain} that already runs`);
    const follow = `docferry export watch ${site.domain}`;
    if (!flags.wait) {
      const { runId } = await handle.describe();
      const document = { workflowId, runId, org, domain: site.domain, joined };
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\nfollow it with \`${follow}\``);
      return exitCodes.done;
    }
    const read = () => exportState(client, org, site.domain);
    const refusal = await refusedKey(client, { org, joined, read, refusedOf });
    const cancel = `docferry export cancel ${site.domain}`;
    const { watchExport } = await import('./watch-export.ts');
    return watchExport(context, session, {
      org,
      domain: site.domain,
      handle,
      timeoutMs,
      interrupt,
      troubleOf: (state) => refusal(state, cancel),
    });
  });
}

/** When a refused key is tried next; null while it works. */
const refusedOf = ({ unauthorized }: ExportState): number | null => unauthorized?.nextTryAt ?? null;

function parametersOf({ siteVersion, path, promote, force }: StartFlags): ExportParameters {
  return {
    ...(siteVersion === undefined ? {} : { siteVersion }),
    ...(path === undefined ? {} : { paths: path }),
    ...(promote === true ? { promote } : {}),
    ...(force === true ? { force } : {}),
  };
}
