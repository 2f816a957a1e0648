import { Option } from 'commander';
import { type EndDetail, type RunOutcome, runOutcomes, whyEnded } from '../../../exports/rules/site-export.ts';
import type { ExportRunRow } from '../../../feedback/store/run-records.ts';
import { spanText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { addListFlags, findSite, type HistoryFlags, historyFilter, siteHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { historyList, printable, timeText } from '../../terminal/text.ts';

export default {
  history: (command, run) =>
    addListFlags(
      command
        .argument('<domain>', siteHelp)
        .addOption(new Option('--outcome <outcome>', 'only runs with this outcome').choices(runOutcomes)),
      'runs that began',
    ).action(run(showExportHistory)),
} satisfies CommandFile;

/** Lists the ended runs of a site, from the store: it needs no Temporal, and outlives its retention (X4). */
async function showExportHistory(
  context: CommandContext,
  name: string,
  flags: HistoryFlags<RunOutcome>,
): Promise<void> {
  const config = await loadContextConfig(context);
  const { org, domain } = findSite(config, name);
  const found = await withFeedbackStore(config, (store) =>
    store.listExportRuns({ org, domain, ...historyFilter(flags) }),
  );
  const { rows, more, text } = historyList(found, {
    flags,
    columns: context.output.surface.columns,
    what: `runs of ${domain}`,
    headings: ['began (UTC)', 'took', 'job', 'outcome', 'version', 'polls', 'why'],
    cells: runCells,
  });
  context.output.result({ org, domain, runs: rows.map(documentOf), more }, text);
}

function documentOf(run: ExportRunRow): object {
  return { ...run, detail: detailOf(run), durationMs: durationOf(run), reason: reasonOf(run) };
}

function runCells(run: ExportRunRow): string[] {
  return [
    timeText(run.startedAt),
    spanText(durationOf(run)),
    run.jobMs === null ? '-' : spanText(run.jobMs),
    run.outcome,
    run.version ?? '-',
    `${run.polls}`,
    printable(reasonOf(run) ?? '', 200),
  ];
}

const detailOf = ({ detail }: ExportRunRow): EndDetail => JSON.parse(detail);
const durationOf = ({ startedAt, finishedAt }: ExportRunRow): number => Date.parse(finishedAt) - Date.parse(startedAt);
const reasonOf = (run: ExportRunRow): string | null => whyEnded(detailOf(run)) || null;
