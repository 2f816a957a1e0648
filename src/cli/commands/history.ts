import { type EndDetail, isBadEnd, whyEnded } from '../../exports/rules/site-export.ts';
import type { PassRow } from '../../feedback/reading/pass-store.ts';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { counted, spanText } from '../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { duration } from '../flags.ts';
import { addSelectionFlags, type SelectionFlags, selected } from '../selection.ts';
import { withFeedbackStore } from '../stores.ts';
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

/** A run or pass that has ended; neither of a site nor of a project where a refresh was cut off or failed. */
interface Ended {
  org: string;
  domain?: string;
  project?: string;
  pass?: string;
  outcome: string;
  /** Whether a person should look at it. */
  bad: boolean;
  version?: string | null;
  startedAt: string;
  finishedAt: string;
  reason: string | null;
}

/** Lists ended runs of all sites and projects: failed ones first, each group newest first. */
async function showHistory(context: CommandContext, flags: HistoryFlags): Promise<void> {
  const config = await loadContextConfig(context);
  const { sites, projects } = selected(config, flags);
  // What `refresh` reads belongs to no single project.
  const refreshes = flags.match === undefined ? projects.map(({ org }) => ({ org })) : [];
  const wanted = new Set([...sites, ...projects, ...refreshes].map((one) => nameOf(one)));
  const { since: sinceMs = dayMs } = flags;
  const since = new Date(Date.now() - sinceMs).toISOString();
  const all = await withFeedbackStore(config, async (store) => {
    const filter = { endedSince: since };
    const [runs, passes] = [await store.listExportRuns(filter), await store.listPasses(filter)];
    return [...runs.map(endedRun), ...passes.flatMap(endedPass)];
  });
  const found = all.filter((one) => wanted.has(nameOf(one)));
  const shown = found
    .filter(({ bad }) => bad || flags.failed !== true)
    .sort((a, b) => Number(b.bad) - Number(a.bad) || b.finishedAt.localeCompare(a.finishedAt));
  const totals = { ended: found.length, failed: found.filter(({ bad }) => bad).length };
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
  const count = `${counted(totals.ended, 'run')} ended in the last ${spanText(sinceMs)}, ${totals.failed} failed`;
  const header = ['name', 'outcome', 'ended (UTC)', 'took', 'version or pass', 'why'];
  const table = rows.length === 0 ? [] : [tableLines(header, rows, columns, ['took', 'version or pass']), ''];
  context.output.result({ since, ended: shown, totals }, [...table, count].join('\n'));
}

function endedRun({ org, domain, outcome, version, startedAt, finishedAt, detail }: ExportRunRow): Ended {
  const end = JSON.parse(detail) as EndDetail;
  const bad = isBadEnd(outcome, end);
  return { org, domain, outcome, bad, version, startedAt, finishedAt, reason: whyEnded(end) || null };
}

function endedPass({ org, project, pass, outcome, startedAt, finishedAt, error }: PassRow): Ended[] {
  if (finishedAt === null) return [];
  const reason = error === null ? null : withoutFailureType(error);
  return [
    {
      org,
      ...(project !== '' && { project }),
      pass,
      outcome,
      bad: outcome === 'failed',
      startedAt,
      finishedAt,
      reason,
    },
  ];
}

const nameOf = ({ org, domain, project }: { org: string; domain?: string; project?: string }): string =>
  JSON.stringify([org, domain ?? null, project ?? null]);
