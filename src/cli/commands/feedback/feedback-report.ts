import type { EntryStore } from '../../../feedback/store/entry-store.ts';
import type { FigureStore } from '../../../feedback/figures/figure-store.ts';
import { counted, sizeText } from '../../../rules/quantities.ts';
import { reportPage } from '../../../feedback/report/page.ts';
import type { ReportProject } from '../../../feedback/report/project-part.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { usageFailure } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';
import { type FoundProject, findProjects } from '../../find-configured.ts';
import { recordFilter } from '../../record-filter.ts';
import { stdoutName, writeOut } from '../../terminal/write-out.ts';
import { folderSummary, isFolderName, writeReportFolder } from './report-folder.ts';

interface ReportFlags {
  out: string;
  from?: string;
  to?: string;
  comments: number;
}

interface ReportedProject extends FoundProject {
  entries: number;
  /** Those shown. */
  comments: number;
  undatedLeftOut: number;
}

export default async function writeReport(
  context: CommandContext,
  name: string | undefined,
  flags: ReportFlags,
): Promise<ExitCode> {
  const { output } = context;
  const toStdout = flags.out === stdoutName;
  if (toStdout && output.json)
    throw usageFailure('--out - and --json would both write to stdout', 'name a file with --out');
  const { from, to } = recordFilter(flags);
  const bounds = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const config = await loadContextConfig(context);
  const names = findProjects(config, name);
  const intoFolder = name === undefined && !toStdout && (await isFolderName(context, flags.out));
  return withFeedbackStore(config, async (store) => {
    const madeAt = new Date();
    const reported: ReportedProject[] = [];
    // Hashes are not worth reading, and comments dropped now may still be stored from before.
    const comments = config.privacy.comments === 'keep' ? flags.comments : 0;
    const query = { ...bounds, comments, now: madeAt };
    const projects = readProjects(store, names, query, reported);
    if (intoFolder) {
      const { pages, bytes } = await writeReportFolder(context, flags.out, { madeAt, bounds }, projects);
      const shown = pages.map(({ figures, readUpTo: _readUpTo, ...page }) => ({ ...page, entries: figures.entries }));
      const document = { out: flags.out, bytes, from: from ?? null, to: to ?? null, projects: shown };
      output.result(document, folderSummary(flags.out, pages, bytes));
      return exitCodes.done;
    }
    const text = reportPage({ madeAt, bounds, names }, projects);
    const bytes = await writeOut(context, flags.out, text);
    if (bytes === null) return exitCodes.done;
    const summary = summaryOf(toStdout ? 'stdout' : flags.out, bytes, reported);
    const document = { out: flags.out, bytes, from: from ?? null, to: to ?? null, projects: reported };
    if (toStdout) output.note(summary);
    else output.result(document, summary);
    return exitCodes.done;
  });
}

async function* readProjects(
  store: EntryStore & FigureStore,
  names: readonly FoundProject[],
  query: { from?: string; to?: string; comments: number; now: Date },
  reported: ReportedProject[],
): AsyncGenerator<ReportProject> {
  for (const named of names) {
    const { org, project } = named;
    const readUpTo = await store.watermark(org, project);
    const figures = await store.reportFigures({ org, project, ...query });
    const { entries, recent, undatedLeftOut } = figures;
    reported.push({ ...named, entries, comments: recent.length, undatedLeftOut });
    yield { ...named, readUpTo, figures };
  }
}

function summaryOf(out: string, bytes: number, projects: readonly ReportedProject[]): string {
  const sum = (of: (project: ReportedProject) => number) => projects.reduce((all, project) => all + of(project), 0);
  const ofProjects = projects.length === 1 ? '' : ` of ${projects.length} projects`;
  const leftOut = sum(({ undatedLeftOut }) => undatedLeftOut);
  const entries = sum((project) => project.entries);
  return [
    `${out}: ${counted(entries, 'entry', 'entries')}${ofProjects}, ${sizeText(bytes)}`,
    ...(leftOut === 0 ? [] : [`${leftOut} without a date left out`]),
  ].join('; ');
}
