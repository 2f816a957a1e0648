import { endedRuns, endedText } from '../../operations/history.ts';
import { spanText } from '../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { addSelectionFlags, duration, type SelectionFlags, selected } from '../flags.ts';
import { withFeedbackStore } from '../operator.ts';
import { tableLines, timeText } from '../terminal/text.ts';

const dayMs = 86_400_000;

export default {
  history: (command, run) =>
    addSelectionFlags(command, 'those')
      .option('--since <duration>', 'what ended within this time; default: 24h', duration('--since'))
      .option('--failed', 'only what failed, was refused, or failed at a target')
      .addHelpText('after', '\nReads the feedback store alone; see `export history` and `feedback history` for one.')
      .action(run(showHistory)),
} satisfies CommandFile;

interface HistoryFlags extends SelectionFlags {
  /** Milliseconds. */
  since?: number;
  failed?: boolean;
}

/** Lists ended runs of all sites and projects: failed ones first, each group newest first. */
async function showHistory(context: CommandContext, flags: HistoryFlags): Promise<void> {
  const config = await loadContextConfig(context);
  const { sites, projects } = selected(config, flags);
  // What `refresh` reads belongs to no single project.
  const refreshes = flags.match === undefined ? projects.map(({ org }) => ({ org })) : [];
  const { since: sinceMs = dayMs } = flags;
  const since = new Date(Date.now() - sinceMs).toISOString();
  const { runs: found } = await withFeedbackStore(config, (store) =>
    endedRuns(store, since, [...sites, ...projects, ...refreshes]),
  );
  const failed = found.filter(({ bad }) => bad);
  const shown = flags.failed === true ? failed : found;
  const { paint, columns } = context.output.surface;
  const several = new Set(shown.map(({ org }) => org)).size > 1;
  const rows = shown.map(({ org, domain, project, pass, outcome, bad, version, startedAt, finishedAt, reason }) => [
    `${several ? `${org}/` : ''}${domain ?? project ?? 'all projects'}`,
    bad ? paint.red(outcome) : outcome,
    timeText(finishedAt),
    spanText(Date.parse(finishedAt) - Date.parse(startedAt)),
    version ?? pass ?? '-',
    reason ?? '',
  ]);
  const header = ['name', 'outcome', 'ended (UTC)', 'took', 'version or pass', 'why'];
  // Of a fleet's weeks it is long to lay out, and for a document nobody needs it.
  const table =
    rows.length === 0 || context.output.json
      ? []
      : [tableLines(header, rows, columns, ['took', 'version or pass']), ''];
  const totals = { ended: found.length, failed: failed.length };
  context.output.result({ since, ended: shown, totals }, [...table, endedText(found, sinceMs)].join('\n'));
}
