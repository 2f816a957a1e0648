import type { Config } from '../config/config.ts';
import { type ExportResult, type RollbackResult, whyEnded } from '../exports/rules/site-export.ts';
import { type Ended, forEach, type Operator, type Plan, type RunningById } from '../operations/operator.ts';
import type { Selection } from '../operations/status.ts';
import { counted } from '../rules/text.ts';
import { runningWork } from '../temporal/runs.ts';
import { CliFailure, type CommandContext, type ExitCode, exitCodes, operationFailure } from './context.ts';
import { explainFailure } from './explain-failure.ts';
import { type BulkFlags, selectedInBulk } from './flags.ts';
import { withOperator } from './operator.ts';
import { confirm, onInterrupt } from './terminal/prompts.ts';
import { indent } from './terminal/text.ts';

/** One of many, named by `domain` or `project`. */
interface BulkItem {
  org: string;
  domain?: string;
  project?: string;
}

/** What the document says of an item that was acted on, e.g. that its export ran already and was only joined. */
export interface Answer {
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
  /** Whether the plan says that the item runs already. Temporal's list is a moment behind: work may find it ended. */
  runsAlready?(item: Item): boolean;
  /** Returns what the document says of an item besides its names. */
  work(item: Item): Promise<Begun>;
  /** With `--wait`: waits for the end of all that `work` began, and says what the document says of each then. */
  wait?(begun: readonly (Item & Begun)[], signal: AbortSignal): Promise<Ended<Item & Begun, Answer>[]>;
}

export class EndedBadly extends CliFailure {
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
  { items, skipped, failed: unread = [] }: Plan<Item>,
  { kind, verb, done, none, lineOf, runsAlready, work, wait }: BulkCommand<Item, Begun>,
): Promise<ExitCode> {
  const noun = kind.slice(0, -1);
  const lines = [
    ...items.map((item) => `${lineOf(item)}${runsAlready?.(item) ? ' (already running)' : ''}`),
    ...skipped.map(({ item, why }) => output.paintNotes.dim(`${lineOf(item)}: skipped, ${why}`)),
    ...unread.map(({ item, error }) => output.paintNotes.red(`${lineOf(item)}: ${explainFailure(error).message}`)),
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
  const { ended: acted, notBegun } = await act().finally(dispose);
  const ended = [...unread.map((one) => ({ ...one, ok: false as const })), ...acted];
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
  const selected = items.length + skipped.length + unread.length;
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
  output.result(document, items.length + unread.length === 0 ? none : [...whyFailed, summary].join('\n'));
  if (succeeded === items.length + unread.length) return exitCodes.done;
  return failed === 0 && notBegun.length === 0 ? exitCodes.stillRunning : exitCodes.failed;
}

function documentOf<Item extends BulkItem>(ended: Ended<Item, object>): object {
  if (ended.ok) return { ...ended.item, ok: true, ...ended.answer };
  const { code, message, hint } = explainFailure(ended.error);
  const result = ended.error instanceof EndedBadly ? ended.error.result : {};
  return { ...ended.item, ok: false, ...result, error: { code, message, hint } };
}

/** Acts on what the flags select. */
export async function onSelected<Kind extends keyof Selection>(
  context: CommandContext,
  flags: BulkFlags,
  kind: Kind,
  work: (operator: Operator, selected: Selection[Kind], config: Config) => Promise<ExitCode>,
): Promise<ExitCode> {
  const act = ({ config, operator }: { config: Config; operator: Operator }) =>
    work(operator, selectedInBulk(config, flags, kind), config);
  return withOperator(context, flags, act, { bulk: true });
}

/** What runs of this configuration, by workflow id. */
export async function runningNow({ installation }: Operator): Promise<RunningById> {
  const running = await runningWork(await installation.temporal(), installation.access.taskQueue);
  return new Map(running.map((work) => [work.workflowId, work]));
}

/** Whether a wait ended before what it waited for. */
export const isRunning = (error: unknown): boolean => explainFailure(error).exitCode === exitCodes.stillRunning;
