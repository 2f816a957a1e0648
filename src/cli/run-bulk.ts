import { inBatches } from '../temporal/in-batches.ts';
import type { Config } from '../config/config.ts';
import type { OwnDeed } from '../runs/rules/own-audit-entries.ts';
import { counted } from '../rules/quantities.ts';
import type { CommandContext } from './context.ts';
import type { Failure } from './cli-failure.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { explainFailure } from './explain-failure.ts';
import type { BulkFlags } from './bulk-flags.ts';
import { DeedKeeper } from './audit.ts';
import { confirm } from './terminal/confirm.ts';
import { onInterrupt } from './terminal/signals.ts';
import { indent } from './terminal/text.ts';

/** At a time. */
const atOnce = 16;

/** One of many, named by `domain` or `project`. */
export interface BulkItem {
  org: string;
  domain?: string;
  project?: string;
}

/** What a bulk command would do, and how. */
export interface BulkPlan<Item extends BulkItem> {
  /** Name of the list in the document. */
  kind: 'sites' | 'projects';
  /** E.g. `start` and `started`. */
  verb: string;
  done: string;
  items: readonly Item[];
  /** What was selected and needs nothing. */
  left: readonly { item: Item; why: string }[];
  /** An item in the plan, with what will be done to it. */
  lineOf(item: Item): string;
  /** Does it to one. */
  work(item: Item): Promise<BulkAnswer>;
}

export interface BulkAnswer {
  /** What the document says of an item besides its names. */
  document: object;
  /** What the audit keeps; none where the workflow that is reached sees to that. */
  deeds: readonly OwnDeed[];
}

type Ended<Item> = { item: Item } & ({ answer: BulkAnswer; failure: null } | { answer: null; failure: Failure });

/**
 * Shows what will be done and asks, unless told not to; then does it to all, a few at a time, and prints one summary. What
 * fails for one is named and stops no other; then the exit code is 1.
 */
export async function runBulk<Item extends BulkItem>(
  context: CommandContext,
  config: Config,
  flags: BulkFlags,
  plan: BulkPlan<Item>,
): Promise<ExitCode> {
  const { output } = context;
  const { kind, verb, done, items, left, lineOf } = plan;
  const count = counted(items.length, kind.slice(0, -1));
  const lines = [
    ...items.map(lineOf),
    ...left.map(({ item, why }) => output.paintNotes.dim(`${lineOf(item)}: left out, ${why}`)),
  ];
  const text = `${verb} ${count}:\n${indent(lines.join('\n'))}`;
  if (items.length > 0 && flags.yes !== true) {
    await confirm({ text: `${text}\n${verb} ${count}?`, declined: 'nothing was done' }, false);
  } else if (items.length > 0) {
    output.note(text);
  }
  const { ended, notBegun } = await workOff(plan, new DeedKeeper(context, config, flags), () =>
    output.note('interrupted: what has begun ends, nothing else begins; again to stop at once'),
  );
  const failed = ended.filter(({ failure }) => failure !== null);
  const leftOut = [...left, ...notBegun.map((item) => ({ item, why: 'interrupted' }))];
  const document = {
    [kind]: ended.map(documentOf),
    left: leftOut.map(({ item, why }) => ({ ...item, why })),
    totals: { done: ended.length - failed.length, failed: failed.length, left: leftOut.length },
  };
  const summary = [
    `${notBegun.length > 0 ? 'interrupted: ' : ''}${done} ${ended.length - failed.length} of ${count}`,
    ...(leftOut.length > 0 ? [`${leftOut.length} left out`] : []),
    ...(failed.length > 0 ? [output.paint.red(`${failed.length} failed`)] : []),
  ].join(', ');
  const failures = failed.map(({ item, failure }) => `${lineOf(item)}: ${failure?.message}`);
  output.result(document, items.length === 0 ? `nothing to ${verb}` : [...failures, summary].join('\n'));
  return failed.length === 0 && notBegun.length === 0 ? exitCodes.done : exitCodes.failed;
}

/**
 * Does the work, and keeps each deed once it is done: a command that is killed in the middle loses what it did last. After
 * Ctrl-C what has begun goes on to its end and nothing else begins.
 */
async function workOff<Item extends BulkItem>(
  plan: BulkPlan<Item>,
  keeper: DeedKeeper,
  onInterrupted: () => void,
): Promise<{ ended: Ended<Item>[]; notBegun: Item[] }> {
  const { signal, dispose } = onInterrupt();
  signal.addEventListener('abort', onInterrupted);
  try {
    const all = await inBatches(plan.items, atOnce, async (item) => {
      if (signal.aborted) return { item, begun: false as const };
      const ended = await attempt(plan, item);
      const deeds = ended.answer?.deeds ?? [];
      keeper.keep(deeds.map((deed) => ({ ...deed, detail: { bulk: true, ...deed.detail } })));
      return { ...ended, begun: true as const };
    });
    const ended = all.filter((found) => found.begun);
    return { ended, notBegun: all.filter((found) => !found.begun).map(({ item }) => item) };
  } finally {
    await keeper.end();
    dispose();
  }
}

async function attempt<Item extends BulkItem>({ work }: BulkPlan<Item>, item: Item): Promise<Ended<Item>> {
  try {
    return { item, answer: await work(item), failure: null };
  } catch (error) {
    return { item, answer: null, failure: explainFailure(error) };
  }
}

function documentOf<Item extends BulkItem>({ item, answer, failure }: Ended<Item>): object {
  if (failure === null) return { ...item, ok: true, ...answer.document };
  const { code, message, hint } = failure;
  return { ...item, ok: false, error: { code, message, hint } };
}
