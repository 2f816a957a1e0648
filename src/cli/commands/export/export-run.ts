import type { ExportParameters } from '../../../exports/rules/site-export.ts';
import { exportOf } from '../../../operations/bulk.ts';
import { runningExport } from '../../../operations/operator.ts';
import { cancelExports, startExports } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { addWaitFlags, duration, onRunning, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { type ActorFlags, addActorFlag, withOperator } from '../../operator.ts';
import { addBulkFlags, type BulkFlags, findSite, isBulk } from '../../selection.ts';
import { startInterruptibly } from '../../terminal/prompts.ts';
import { type AwaitedWorkflow, waitForExport } from './wait-for-export.ts';

export default {
  start: (command, run) =>
    addActorFlag(addBulkFlags(addWaitFlags(command.argument('[domain]', siteHelp)), 'sites'))
      .option('--site-version <label>', 'label of the export; default: the latest published content')
      .option('--path <path...>', 'export only these pages; the result does not become current')
      .option('--promote', 'let an export limited by --path become current anyway')
      .option('--force', 'publish and roll out even if nothing changed')
      .addOption(onRunning('when an export of the domain is already running', ['join', 'refuse']))
      .action(run(startOrJoinExport)),
  watch: (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .option('--timeout <duration>', 'watch no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'))
      .action(run(watchExport)),
  cancel: (command, run) =>
    addActorFlag(addBulkFlags(command.argument('[domain]', siteHelp), 'sites')).action(run(cancelExport)),
  'poll-now': (command, run) => addActorFlag(command.argument('<domain>', siteHelp)).action(run(pollAtOnce)),
} satisfies CommandFile;

interface StartFlags extends WaitFlags, BulkFlags {
  siteVersion?: string;
  path?: string[];
  promote?: boolean;
  force?: boolean;
  onRunning: 'join' | 'refuse';
}

async function startOrJoinExport(
  context: CommandContext,
  name: string | undefined,
  flags: StartFlags,
): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) {
    return startExports(context, { ...flags, timeoutMs: waitTimeout(flags) }, parametersOf(flags));
  }
  const timeoutMs = waitTimeout(flags);
  const { output } = context;
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const client = await operator.installation.temporal();
    const { started, interrupt } = await startInterruptibly(output, () =>
      operator.startExport({ org, domain }, parametersOf(flags), flags.onRunning),
    );
    const { handle, joined, runId } = started;
    const { workflowId } = handle;
    if (joined) output.note(`joined the export of ${domain} that is already running`);
    if (!flags.wait) {
      const document = { workflowId, runId: runId ?? (await handle.describe()).runId, org, domain, joined };
      const follow = `follow it with \`docferry export watch ${domain}\``;
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\n${follow}`);
      interrupt.dispose();
      return exitCodes.done;
    }
    return waitForExport(context, { config, client }, { org, domain, handle, joined, timeoutMs, interrupt });
  });
}

function parametersOf({ siteVersion, path, promote, force }: StartFlags): ExportParameters {
  return {
    ...(siteVersion === undefined ? {} : { siteVersion }),
    ...(path === undefined ? {} : { paths: path }),
    ...(promote === true ? { promote } : {}),
    ...(force === true ? { force } : {}),
  };
}

async function watchExport(
  context: CommandContext,
  name: string,
  flags: Pick<WaitFlags, 'timeout'>,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout({ ...flags, wait: true });
  return withOperator(context, {}, async ({ config, operator: { installation } }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const client = await installation.temporal();
    const { workflowId, runId } = await runningExport(installation, { org, domain });
    // This run: a schedule may start the next one as soon as it ends.
    const handle = client.workflow.getHandle<AwaitedWorkflow>(workflowId, runId);
    return waitForExport(context, { config, client }, { org, domain, handle, timeoutMs });
  });
}

async function cancelExport(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return cancelExports(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const { workflowId, runId } = await operator.cancel(exportOf({ org, domain }));
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}

async function pollAtOnce(context: CommandContext, name: string, flags: ActorFlags): Promise<ExitCode> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const { workflowId, runId, state } = await operator.pollNow({ org, domain });
    const document = { workflowId, runId, org, domain, phase: state.phase, polls: state.progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${domain} now`);
    return exitCodes.done;
  });
}
