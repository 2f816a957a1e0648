import { mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { sizeText } from '../../../rules/quantities.ts';
import { overviewPage, type RankedProject, ranked } from '../../../feedback/report/report-overview.ts';
import { reportPage } from '../../../feedback/report/page.ts';
import type { ReportBounds, ReportProject } from '../../../feedback/report/project-part.ts';
import type { CommandContext } from '../../context.ts';
import { writeOut } from '../../terminal/write-out.ts';

/** Whether `--out` asks for a folder: it is one, or ends as one. */
export async function isFolderName({ cwd }: CommandContext, out: string): Promise<boolean> {
  if (out.endsWith('/')) return true;
  return (await stat(resolve(cwd, out)).catch(() => null))?.isDirectory() === true;
}

/** What was written about a project. */
export interface ProjectPage extends RankedProject {
  comments: number;
  undatedLeftOut: number;
}

/**
 * Writes a page for each project and an `index.html` that ranks them. Only the figures of the ranking are kept in memory.
 * Returns the pages in their order, and the bytes of all.
 */
export async function writeReportFolder(
  context: CommandContext,
  out: string,
  { madeAt, bounds }: { madeAt: Date; bounds: ReportBounds },
  projects: AsyncIterable<ReportProject>,
): Promise<{ pages: ProjectPage[]; bytes: number }> {
  // Pages hold what people wrote, so a new folder is this user's only, as are the files.
  await mkdir(resolve(context.cwd, out, 'projects'), { recursive: true, mode: 0o700 });
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
  bytes += (await writeOut(context, join(out, 'index.html'), only(overviewPage(madeAt, pages)))) ?? 0;
  return { pages: ranked(pages), bytes };
}

/** The line for people. */
export function folderSummary(out: string, pages: readonly ProjectPage[], bytes: number): string {
  return `${join(out, 'index.html')}: ${pages.length} projects with a page each, ${sizeText(bytes)}`;
}

async function* only<Item>(item: Item): AsyncGenerator<Item, void, undefined> {
  yield item;
}
