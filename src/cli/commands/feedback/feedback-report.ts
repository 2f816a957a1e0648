import { type Command, InvalidArgumentError, Option } from 'commander';
import type { EntryStore } from '../../../feedback/entry-store.ts';
import type { FigureStore } from '../../../feedback/figures/figure-store.ts';
import { counted, sizeText } from '../../../model/quantities.ts';
import type { ReportProject } from '../../../report/project-part.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { usageFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findProjects } from '../../input/find-configured.ts';
import { stdoutName, writeOut } from '../../terminal/write-out.ts';
import { recordFilter } from './record-filter.ts';

interface ReportFlags {
  out: string;
  from?: string;
  to?: string;
  comments: number;
}

interface ReportedProject {
  org: string;
  project: string;
  entries: number;
  /** Those shown. */
  comments: number;
  undatedLeftOut: number;
}

const defaultComments = 200;
/** Every comment is in the page, so that it can be filtered: more would make it slow to open. */
const mostComments = 5_000;

export function addFeedbackReport(parent: Command, run: RunCommand): void {
  parent
    .command('report')
    .description('Write stored feedback as one HTML page to look at, with charts and recent comments, without contacts')
    .argument('[project]', 'id of a configured project, or org/project; default: all')
    .requiredOption('--out <file>', 'what to write, replaced once it is whole; - for stdout')
    .option('--from <date>', 'only entries created from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries created before this ISO 8601 date or date-time')
    .addOption(
      new Option(
        '--comments <number>',
        `how many of the newest comments of a project to show, up to ${mostComments}; 0: nothing of what was written`,
      )
        .argParser(commentCount)
        .default(defaultComments),
    )
    .action((project: string | undefined, flags: ReportFlags) => run((context) => report(context, project, flags)));
}

async function report(context: CommandContext, name: string | undefined, flags: ReportFlags): Promise<ExitCode> {
  const { output } = context;
  const toStdout = flags.out === stdoutName;
  if (toStdout && output.json) throw usageFailure('--out - and --json both want stdout', 'name a file with --out');
  const { from, to } = recordFilter(flags);
  const bounds = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const config = await loadContextConfig(context);
  const names = findProjects(config, name);
  // Loaded here: the library for charts is large, and no other command needs it.
  const { reportPage } = await import('../../../report/page.ts');
  const { withFeedbackStore } = await import('../../input/feedback-store-of.ts');
  return withFeedbackStore(config, async (store) => {
    const madeAt = new Date();
    const reported: ReportedProject[] = [];
    // What is hashed is nothing to look at, and dropped comments may still be there from before.
    const comments = config.privacy.comments === 'keep' ? flags.comments : 0;
    const query = { ...bounds, comments, now: madeAt };
    const projects = readProjects(store, names, query, reported);
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
  names: readonly { org: string; project: string }[],
  query: { from?: string; to?: string; comments: number; now: Date },
  reported: ReportedProject[],
): AsyncGenerator<ReportProject> {
  for (const { org, project } of names) {
    const readUpTo = await store.watermark(org, project);
    const figures = await store.reportFigures({ org, project, ...query });
    const { entries, recent, undatedLeftOut } = figures;
    reported.push({ org, project, entries, comments: recent.length, undatedLeftOut });
    yield { org, project, readUpTo, figures };
  }
}

function commentCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= mostComments) return count;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${mostComments}.`);
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
