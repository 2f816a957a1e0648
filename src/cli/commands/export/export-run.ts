import type { Client, WorkflowHandle } from '@temporalio/client';
import {
  type ExportInput,
  type ExportParameters,
  type ExportResult,
  type ExportState,
  endsWell,
  type RollbackInput,
  type RollbackResult,
} from '../../../exports/rules/site-export.ts';
import { exportState } from '../../../operations/exports.ts';
import {
  type Ended,
  exportOf,
  forEach,
  planCancel,
  runIdOf,
  runningExport,
  runs,
  type Site,
} from '../../../operations/operator.ts';
import { type Answer, EndedBadly, isRunning, onSelected, runBulk, runningNow } from '../../bulk.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  type Paint,
} from '../../context.ts';
import {
  type ActorFlags,
  addActorFlag,
  addBulkFlags,
  addWaitFlags,
  type BulkFlags,
  duration,
  findSite,
  isBulk,
  onRunning,
  siteHelp,
  type WaitFlags,
  waitTimeout,
} from '../../flags.ts';
import { withInstallation, withOperator } from '../../operator.ts';
import { refusedKey, type Session } from '../../session.ts';
import { exportResultText, exportStep, rollbackResultText } from '../../terminal/progress.ts';
import { type Interrupt, startInterruptibly } from '../../terminal/prompts.ts';
import { type SharedWait, type Waiting, waitShowing, waitTogether } from '../../waiting.ts';

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
    const { org, domain } = findSite(config, name);
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
  const config = await loadContextConfig(context);
  const { org, domain } = findSite(config, name);
  return withInstallation(config, async (installation) => {
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
    const { org, domain } = findSite(config, name);
    const { workflowId, runId } = await operator.cancel(exportOf({ org, domain }));
    const document = { workflowId, runId, org, domain, cancelRequested: true };
    context.output.result(document, `cancelling the export of ${domain}`);
    return exitCodes.done;
  });
}

async function pollAtOnce(context: CommandContext, name: string, flags: ActorFlags): Promise<void> {
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, domain } = findSite(config, name);
    const { workflowId, runId, state } = await operator.pollNow({ org, domain });
    const document = { workflowId, runId, org, domain, phase: state.phase, polls: state.progress?.polls ?? 0 };
    context.output.result(document, `asking for the job of ${domain} now`);
  });
}

/** What runs under the id of a site's exports. */
type AwaitedWorkflow = (input: ExportInput & RollbackInput) => Promise<ExportResult | RollbackResult>;

interface Awaited {
  org: string;
  domain: string;
  handle: WorkflowHandle<AwaitedWorkflow>;
  /** Null waits as long as it takes. */
  timeoutMs: number | null;
  /** Whether it ran before the command that started it; absent where none did. */
  joined?: boolean;
}

/** Shows the progress of a site's export or rollback until it ends, then its result; returns the exit code. */
export async function waitForExport(
  { output }: CommandContext,
  session: Session,
  { interrupt, ...awaited }: Awaited & { interrupt?: Interrupt },
): Promise<ExitCode> {
  const waiting = await waitingFor(session.client, awaited, output.paintNotes);
  const result = await waitShowing(output, session, { ...waiting, interrupt });
  const { paint } = output;
  output.result(result, 'previous' in result ? rollbackResultText(result, paint) : exportResultText(result, paint));
  // A failure too, though its result is printed.
  return endsWell(result.outcome) ? exitCodes.done : exitCodes.failed;
}

/** What a wait for a site's export or rollback asks and shows; a refused key ends it while the export continues. */
async function waitingFor(
  client: Client,
  { org, domain, handle, timeoutMs, joined }: Awaited,
  paint: Paint,
): Promise<Waiting<AwaitedWorkflow, ExportState>> {
  const readState = () => exportState(client, org, domain);
  const refusedOf = ({ unauthorized }: ExportState) => unauthorized?.nextTryAt ?? null;
  const refusal = joined === undefined ? null : await refusedKey(client, { org, joined, read: readState, refusedOf });
  const cancel = `docferry export cancel ${domain}`;
  return {
    handle,
    label: domain,
    readState,
    stepOf: (state) => exportStep(state, Date.now(), paint),
    ...(refusal && { troubleOf: (state) => refusal(state, cancel) }),
    timeoutMs,
    follow: `docferry export watch ${domain}`,
    cancel,
  };
}

/** Starts the exports of many sites, and waits for them if asked to; one that runs is joined or refused, as for one site. */
async function startExports(
  context: CommandContext,
  flags: BulkFlags & Pick<WaitFlags, 'wait'> & { onRunning: 'join' | 'refuse'; timeoutMs: number | null },
  parameters: ExportParameters,
): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites, config) => {
    const running = await runningNow(operator);
    const session = { client: await operator.installation.temporal(), config };
    const plan = { items: sites, skipped: [] };
    return runBulk<Site, BegunExport>(context, flags, plan, {
      kind: 'sites',
      verb: 'start the exports of',
      done: flags.wait ? 'exported' : 'started',
      none: 'no site is configured',
      lineOf: ({ domain }) => domain,
      runsAlready: (site) => runs(running, exportOf(site)),
      async work(site) {
        const { handle, joined, runId } = await operator.startExport(site, parameters, flags.onRunning);
        return { workflowId: handle.workflowId, runId: runId ?? (await handle.describe()).runId, joined };
      },
      ...(flags.wait && { wait: (begun, signal) => awaitExports(context, session, flags, begun, signal) }),
    });
  });
}

type BegunExport = { workflowId: string; runId: string; joined: boolean };

/** Shows the progress of exports until all have ended, or until nobody waits any more: then says how to look at them. */
async function awaitExports(
  { output }: CommandContext,
  session: Session,
  { timeoutMs, org, match }: Pick<BulkFlags, 'org' | 'match'> & { timeoutMs: number | null },
  begun: readonly (Site & BegunExport)[],
  interrupted: AbortSignal,
): Promise<Ended<Site & BegunExport, Answer>[]> {
  const { client } = session;
  const paint = output.paintNotes;
  const awaitOne = async (wait: SharedWait, { workflowId, runId, ...site }: Site & BegunExport) => {
    const handle = client.workflow.getHandle<AwaitedWorkflow>(workflowId, runId);
    try {
      const result = await wait.until(await waitingFor(client, { ...site, handle, timeoutMs }, paint));
      if (!endsWell(result.outcome)) throw new EndedBadly(result);
      wait.live.ended(site.domain, [paint.green(result.outcome), result.version ?? ''].join('  ').trimEnd());
      return { ...result };
    } catch (error) {
      if (!isRunning(error))
        wait.live.ended(site.domain, paint.red(error instanceof EndedBadly ? error.code : 'failed'));
      throw error;
    }
  };
  const { ended } = await waitTogether(output, session, interrupted, (wait) => {
    // In the order of the plan, whichever answers first.
    for (const { domain } of begun) wait.live.show(domain, { key: 'starting', text: 'starting' });
    return forEach(begun, (one) => awaitOne(wait, one), undefined, begun.length);
  });
  if (ended.some((one) => !one.ok && isRunning(one.error))) {
    const selection = [org === undefined ? '' : ` --org ${org}`, match === undefined ? '' : ` --match '${match}'`].join(
      '',
    );
    output.note(
      `what still runs goes on: look at it with \`docferry status${selection}\`, ` +
        `cancel it with \`docferry export cancel${selection || ' --all'}\``,
    );
  }
  return ended;
}

/** Cancels the running exports and rollbacks of many sites. */
async function cancelExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) => {
    const running = await runningNow(operator);
    return runBulk(context, flags, planCancel(sites, running), {
      kind: 'sites',
      verb: 'cancel the exports of',
      done: 'cancelling',
      none: 'no export is running',
      lineOf: ({ domain }) => domain,
      async work(site) {
        // The run of the plan, and none that began since.
        const { workflowId } = await operator.cancel(exportOf(site), runIdOf(running, exportOf(site)));
        return { workflowId, cancelRequested: true };
      },
    });
  });
}
