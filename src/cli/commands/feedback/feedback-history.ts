import { Option } from 'commander';
import type { PassRow } from '../../../feedback/reading/passes.ts';
import { type PassOutcome, passOutcomes } from '../../../feedback/rules/sync.ts';
import { withoutFailureType } from '../../../rules/errors.ts';
import { countText, spanText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { addListFlags, findProject, type HistoryFlags, historyFilter, projectHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { historyList, printable, timeText } from '../../terminal/text.ts';

export default {
  history: (command, run) =>
    addListFlags(
      command
        .argument('<project>', projectHelp)
        .addOption(new Option('--outcome <outcome>', 'only passes with this outcome').choices(passOutcomes)),
      'passes that began',
    ).action(run(showFeedbackHistory)),
} satisfies CommandFile;

/** Lists the passes of a project, from the store: it needs no Temporal, and outlives its retention (X4). */
async function showFeedbackHistory(
  context: CommandContext,
  name: string,
  flags: HistoryFlags<PassOutcome>,
): Promise<void> {
  const config = await loadContextConfig(context);
  const { org, project } = findProject(config, name);
  const found = await withFeedbackStore(config, (store) => store.listPasses({ org, project, ...historyFilter(flags) }));
  const { rows, more, text } = historyList(found, {
    flags,
    columns: context.output.surface.columns,
    what: `passes of ${project}`,
    headings: [
      'began (UTC)',
      'took',
      'waited',
      'pass',
      'outcome',
      'requests',
      'seen',
      'new',
      'changed',
      'deleted',
      'why',
    ],
    cells: passCells,
  });
  context.output.result({ org, project, passes: rows.map(documentOf), more }, text);
}

/** Without its position: the cursor in it is the service's. */
function documentOf({ position: _position, ...pass }: PassRow): object {
  return { ...pass, durationMs: durationOf(pass) };
}

function passCells(row: PassRow): string[] {
  const { startedAt, waitedMs, pass, outcome, requests, entries, error } = row;
  const took = durationOf(row);
  return [
    timeText(startedAt),
    took === null ? '-' : spanText(took),
    spanText(waitedMs),
    pass,
    outcome,
    ...[requests, entries.seen, entries.inserted, entries.updated, entries.tombstoned].map(countText),
    printable(withoutFailureType(error ?? ''), 200),
  ];
}

/** Null while it runs. */
function durationOf({ startedAt, finishedAt }: Pick<PassRow, 'startedAt' | 'finishedAt'>): number | null {
  return finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt);
}
