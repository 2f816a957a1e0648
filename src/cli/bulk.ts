import type { Config } from '../config/config.ts';
import {
  type ExportParameters,
  type ExportResult,
  endsWell,
  type RollbackResult,
  whyEnded,
} from '../exports/rules/site-export.ts';
import { type PassKind, passKinds } from '../feedback/rules/pass-bounds.ts';
import {
  type Ended,
  exportOf,
  forEach,
  type Plan,
  planApprovals,
  planCancel,
  planHolds,
  type RunningById,
  runIdOf,
  runs,
} from '../operations/bulk.ts';
import { type Operator, type Project, type Site, usualPass } from '../operations/operator.ts';
import type { Selection } from '../operations/status.ts';
import { counted } from '../rules/text.ts';
import { runningWork } from '../temporal/runs.ts';
import { type AwaitedWorkflow, waitingFor } from './commands/export/wait-for-export.ts';
import type { CommandContext } from './context.ts';
import { explainFailure } from './explain-failure.ts';
import { CliFailure, type ExitCode, exitCodes, operationFailure } from './failure.ts';
import type { WaitFlags } from './flags.ts';
import { withOperator } from './operator.ts';
import { type BulkFlags, selectedInBulk } from './selection.ts';
import type { Session } from './session.ts';
import { confirm, onInterrupt } from './terminal/prompts.ts';
import { indent } from './terminal/text.ts';
import { type SharedWait, waitTogether } from './waiting.ts';

/** One of many, named by `domain` or `project`. */
interface BulkItem {
  org: string;
  domain?: string;
  project?: string;
}

/** What the document says of an item that was acted on, e.g. that its export ran already and was only joined. */
interface Answer {
  readonly [field: string]: unknown;
  joined?: boolean;
}

/** A bulk command: its words, and its action on one item. */
interface BulkCommand<Item extends BulkItem, Begun extends Answer> {
  /** Name of the list in the document. */
  kind: 'sites' | 'projects';
  /** E.g. `start` and `started`. */
  verb: string;
  done: string;
  /** Said when the plan is empty. */
  none: string;
  /** An item of the plan, with what will be done to it. */
  lineOf(item: Item): string;
  /** Returns what the document says of an item besides its names. */
  work(item: Item): Promise<Begun>;
  /** With `--wait`: waits for the end of all that `work` began, and says what the document says of each then. */
  wait?(begun: readonly (Item & Begun)[], signal: AbortSignal): Promise<Ended<Item & Begun, Answer>[]>;
}

/** An export has ended, and not well. */
class EndedBadly extends CliFailure {
  readonly result: ExportResult | RollbackResult;

  constructor(result: ExportResult | RollbackResult) {
    super(operationFailure(result.outcome, `${result.outcome}: ${whyEnded(result)}`));
    this.result = result;
  }
}

/**
 * Shows the plan and asks (`--yes` skips that); then acts on all items, a few at a time, waits for them if asked to, and
 * prints one summary. A failure is named and stops no other item; then the exit code is 1. After Ctrl-C, items that have
 * started finish, others do not begin, and no wait goes on.
 */
export async function runBulk<Item extends BulkItem, Begun extends Answer = Answer>(
  { output }: CommandContext,
  flags: BulkFlags,
  { items, skipped }: Plan<Item>,
  { kind, verb, done, none, lineOf, work, wait }: BulkCommand<Item, Begun>,
): Promise<ExitCode> {
  const noun = kind.slice(0, -1);
  const lines = [
    ...items.map(lineOf),
    ...skipped.map(({ item, why }) => output.paintNotes.dim(`${lineOf(item)}: skipped, ${why}`)),
  ];
  const text = `${verb} ${counted(items.length, noun)}:\n${indent(lines.join('\n'))}`;
  if (items.length > 0 && flags.yes !== true) {
    const question = `${text}\n${verb} ${counted(items.length, noun)}?`;
    await confirm({ text: question, declined: 'cancelled, nothing changed' }, false);
  } else if (items.length > 0) {
    output.note(text);
  }
  const { signal, dispose } = onInterrupt();
  const say = () => output.note('interrupted: finishing what has started; press Ctrl-C again to stop now');
  signal.addEventListener('abort', say);
  const act = async () => {
    const { ended: begun, notBegun } = await forEach(items, work, signal);
    signal.removeEventListener('abort', say);
    if (wait === undefined) return { ended: begun, notBegun };
    const waited = begun.flatMap((one) => (one.ok ? [{ ...one.item, ...one.answer }] : []));
    return { ended: [...begun.filter(({ ok }) => !ok), ...(await wait(waited, signal))], notBegun };
  };
  const { ended, notBegun } = await act().finally(dispose);
  const succeeded = ended.filter(({ ok }) => ok).length;
  const failures = ended.flatMap((one) => (one.ok || isRunning(one.error) ? [] : [one]));
  const failed = failures.length;
  const running = ended.length - succeeded - failed;
  const left = [...skipped, ...notBegun.map((item) => ({ item, why: 'interrupted' }))];
  const document = {
    [kind]: ended.map(documentOf),
    left: left.map(({ item, why }) => ({ ...item, why })),
    totals: { done: succeeded, failed, left: left.length, ...(wait && { running }) },
  };
  // What ran already was only joined, unless its end was waited for.
  const joined = wait ? 0 : ended.filter((one) => one.ok && one.answer.joined === true).length;
  const selected = items.length + skipped.length;
  const all = succeeded - joined === selected ? '' : `${succeeded - joined} of `;
  const whys = [...new Set(left.map(({ why }) => why))];
  const notDone = [
    ...(failed > 0 ? [output.paint.red(`${failed} failed`)] : []),
    ...(running > 0 ? [`${running} still running`] : []),
    ...(joined > 0 ? [`${joined} running already`] : []),
    ...whys.map((why) => `${left.filter((one) => one.why === why).length} ${why}`),
  ].join(', ');
  const summary = `${done} ${all}${counted(selected, noun)}${notDone === '' ? '' : `: ${notDone}`}`;
  const whyFailed = failures.map(({ item, error }) => `${lineOf(item)}: ${explainFailure(error).message}`);
  output.result(document, items.length === 0 ? none : [...whyFailed, summary].join('\n'));
  if (succeeded === items.length) return exitCodes.done;
  return failed === 0 && notBegun.length === 0 ? exitCodes.stillRunning : exitCodes.failed;
}

function documentOf<Item extends BulkItem>(ended: Ended<Item, object>): object {
  if (ended.ok) return { ...ended.item, ok: true, ...ended.answer };
  const { code, message, hint } = explainFailure(ended.error);
  const result = ended.error instanceof EndedBadly ? ended.error.result : {};
  return { ...ended.item, ok: false, ...result, error: { code, message, hint } };
}

/** Acts on what the flags select. */
async function onSelected<Kind extends keyof Selection>(
  context: CommandContext,
  flags: BulkFlags,
  kind: Kind,
  work: (operator: Operator, selected: Selection[Kind], config: Config) => Promise<ExitCode>,
): Promise<ExitCode> {
  const act = ({ config, operator }: { config: Config; operator: Operator }) =>
    work(operator, selectedInBulk(config, flags, kind), config);
  return withOperator(context, flags, act, { bulk: true });
}

async function runningNow({ installation }: Operator): Promise<RunningById> {
  const running = await runningWork(await installation.temporal(), installation.access.taskQueue);
  return new Map(running.map((work) => [work.workflowId, work]));
}

/** Starts the exports of many sites, and waits for them if asked to; one that runs is joined or refused, as for one site. */
export async function startExports(
  context: CommandContext,
  flags: BulkFlags & Pick<WaitFlags, 'wait'> & { onRunning: 'join' | 'refuse'; timeoutMs: number | null },
  parameters: ExportParameters,
): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites, config) => {
    const running = await runningNow(operator);
    const session = { client: await operator.installation.temporal(), config };
    return runBulk<Site, BegunExport>(
      context,
      flags,
      { items: sites, skipped: [] },
      {
        kind: 'sites',
        verb: 'start the exports of',
        done: flags.wait ? 'exported' : 'started',
        none: 'no site is configured',
        lineOf: (site) => `${site.domain}${runs(running, exportOf(site)) ? ' (already running)' : ''}`,
        async work(site) {
          const { handle, joined, runId } = await operator.startExport(site, parameters, flags.onRunning);
          return { workflowId: handle.workflowId, runId: runId ?? (await handle.describe()).runId, joined };
        },
        ...(flags.wait && { wait: (begun, signal) => awaitExports(context, session, flags, begun, signal) }),
      },
    );
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

const isRunning = (error: unknown): boolean => explainFailure(error).exitCode === exitCodes.stillRunning;

/** Cancels the running exports and rollbacks of many sites. */
export async function cancelExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
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

/** Approves what waits at many sites: the versions of the plan, and never one that came after it. */
export async function approveExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planApprovals(operator.installation, sites, await runningNow(operator)), {
      kind: 'sites',
      verb: 'approve the versions of',
      done: 'approved',
      none: 'no version waits for approval',
      lineOf: ({ domain, version }) => (version === null ? domain : `${domain}  ${version}`),
      async work({ version, ...site }) {
        if (version === null) throw new Error('only the versions shown in the plan are approved');
        await operator.approve(site, version);
        return { decision: 'approved' };
      },
    }),
  );
}

/** Holds many sites at what each has in service; those held already stay as they are. */
export async function holdSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planHolds(operator.installation, 'hold', sites), {
      kind: 'sites',
      verb: 'hold',
      done: 'held',
      none: 'nothing to hold',
      lineOf: ({ domain, current }) => (current === null ? domain : `${domain}  ${current}`),
      async work(site) {
        const { version, since } = await operator.hold(site);
        return { held: version, since };
      },
    }),
  );
}

/** Ends the holds of many sites. */
export async function releaseSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planHolds(operator.installation, 'release', sites), {
      kind: 'sites',
      verb: 'release',
      done: 'released',
      none: 'nothing to release',
      lineOf: ({ domain, held }) => (held === null ? domain : `${domain}  held at ${held}`),
      work: async (site) => ({ held: null, released: await operator.release(site) }),
    }),
  );
}

interface Pass<Kind extends PassKind = PassKind> extends Project {
  pass: Kind;
}

const passOf = ({ org, project, pass }: Pass) => ({ kind: 'sync' as const, org, project, pass });
const passLine = ({ org, project, pass }: Pass): string => `${org}/${project}  ${pass}`;

/** Starts a pass of many projects; one that runs is joined. */
export async function startSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: PassKind },
  dates: { from?: string; to?: string },
): Promise<ExitCode> {
  return onSelected(context, flags, 'projects', async (operator, projects) => {
    const running = await runningNow(operator);
    const items: Pass<PassKind>[] = [];
    for (const project of projects) {
      const pass = flags.pass ?? (await usualPass(await operator.installation.feedback(), project));
      items.push({ ...project, pass });
    }
    return runBulk(
      context,
      flags,
      { items, skipped: [] },
      {
        kind: 'projects',
        verb: 'start a pass of',
        done: 'started',
        none: 'no project is configured',
        lineOf: (pass) => `${passLine(pass)}${runs(running, passOf(pass)) ? ' (already running)' : ''}`,
        async work({ pass, ...project }) {
          const { handle, joined } = await operator.startPass(project, pass, dates);
          return { workflowId: handle.workflowId, joined };
        },
      },
    );
  });
}

/** Cancels the running passes of many projects, of one kind or of all. */
export async function cancelSyncs(context: CommandContext, flags: BulkFlags & { pass?: PassKind }): Promise<ExitCode> {
  return onSelected(context, flags, 'projects', async (operator, projects) => {
    const running = await runningNow(operator);
    const kinds = flags.pass === undefined ? passKinds : [flags.pass];
    const passes = projects.flatMap((project) => kinds.map((pass): Pass => ({ ...project, pass })));
    const items = passes.filter((pass) => runs(running, passOf(pass)));
    return runBulk(
      context,
      flags,
      { items, skipped: [] },
      {
        kind: 'projects',
        verb: 'cancel the running passes of',
        done: 'cancelling',
        none: 'no pass is running',
        lineOf: passLine,
        async work(pass) {
          const { workflowId } = await operator.cancel(passOf(pass), runIdOf(running, passOf(pass)));
          return { workflowId, cancelRequested: true };
        },
      },
    );
  });
}
