import { mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import {
  overviewPage,
  type RankedProject,
  type ReportBounds,
  type ReportProject,
  ranked,
  reportPage,
} from '../../../feedback/report/report-page.ts';
import type { FeedbackStore } from '../../../feedback/store/feedback-store.ts';
import { errorCode, isThere } from '../../../files.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig, usageFailure } from '../../context.ts';
import { addOutAndDates, type FoundProject, findProjects, projectHelp, recordFilter } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { isToStdout, reportOut, writeOut } from '../../terminal/files.ts';

export default {
  report: (command, run) =>
    addOutAndDates(
      command.argument('[project]', `${projectHelp}; default: all`),
      'file to write, replaced once complete; - for stdout; without a project also a folder, named with / at its end or there already',
    )
      .addOption(
        new Option(
          '--comments <number>',
          `how many of the newest comments of a project to show, up to ${mostComments}; 0 shows none`,
        )
          .argParser(commentCount)
          .default(200),
      )
      .action(run(writeReport)),
} satisfies CommandFile;

/** Every comment is in the page, so that it can be filtered: more would make it slow to open. */
const mostComments = 5_000;

function commentCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= mostComments) return count;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${mostComments}.`);
}

/** Whether `--out` asks for a folder: it is one, or ends as one. */
async function isFolderName({ cwd }: CommandContext, out: string): Promise<boolean> {
  if (out.endsWith('/')) return true;
  return (await stat(resolve(cwd, out)).catch(() => null))?.isDirectory() === true;
}

/** Level by level: all at once, Node tries for ever where a file system has no new folders, as `/proc`. */
async function makeFolder(path: string): Promise<void> {
  if (await isThere(path)) return;
  await makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 });
}

/** What was written about a project. */
interface ProjectPage extends RankedProject {
  comments: number;
  undatedLeftOut: number;
}

/** Writes a page for each project and an `index.html` that ranks them; returns the pages in order, and all bytes. */
async function writeReportFolder(
  context: CommandContext,
  out: string,
  { madeAt, bounds }: { madeAt: Date; bounds: ReportBounds },
  projects: AsyncIterable<ReportProject>,
): Promise<{ pages: ProjectPage[]; bytes: number }> {
  // Pages hold what people wrote, so a new folder is this user's only, as are the files.
  await makeFolder(resolve(context.cwd, out, 'projects')).catch((error: unknown) => {
    throw usageFailure(
      `--out names ${out}: it cannot be made (${errorCode(error) ?? 'unknown error'})`,
      'name another',
    );
  });
  const pages: ProjectPage[] = [];
  let bytes = 0;
  for await (const project of projects) {
    const { org, project: id, name, readUpTo, figures } = project;
    const { entries, helpful, open, waits, recent, undatedLeftOut } = figures;
    const page = `projects/${encodeURIComponent(id)}.html`;
    const names = [{ org, project: id, ...(name !== undefined && { name }) }];
    const text = reportPage({ madeAt, bounds, names, overview: '../index.html' }, only(project));
    bytes += (await writeOut(context, join(out, page), text)) ?? 0;
    pages.push({
      ...names[0],
      org,
      project: id,
      page,
      readUpTo,
      figures: { entries, helpful, open, waits },
      comments: recent.length,
      undatedLeftOut,
    });
  }
  bytes += (await writeOut(context, join(out, 'index.html'), only(await overviewPage(madeAt, pages)))) ?? 0;
  return { pages: ranked(pages), bytes };
}

async function* only<Item>(item: Item): AsyncGenerator<Item, void, undefined> {
  yield item;
}

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

async function writeReport(context: CommandContext, name: string | undefined, flags: ReportFlags): Promise<void> {
  const { output } = context;
  const toStdout = isToStdout(flags.out, output);
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
      const index = join(flags.out, 'index.html');
      output.result(document, `${index}: ${counted(pages.length, 'project')} with a page each, ${sizeText(bytes)}`);
      return;
    }
    const text = reportPage({ madeAt, bounds, names }, projects);
    const bytes = await writeOut(context, flags.out, text);
    if (bytes === null) return;
    const summary = summaryOf(toStdout ? 'stdout' : flags.out, bytes, reported);
    const document = { out: flags.out, bytes, from: from ?? null, to: to ?? null, projects: reported };
    reportOut(output, flags.out, document, summary);
  });
}

async function* readProjects(
  store: FeedbackStore,
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
