import type { Command } from 'commander';
import type { Count, FeedbackStats } from '../feedback/feedback-stats.ts';
import type { PassRow } from '../feedback/feedback-store.ts';
import { barText } from '../model/details-text.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { findProjects } from './find-configured.ts';
import { lastMonths } from './last-months.ts';
import type { Paint } from './output.ts';
import { indent, printable, tableLines, timeText } from './text.ts';

interface ProjectStats extends Omit<FeedbackStats, 'helpful'> {
  org: string;
  project: string;
  /** `rate` between 0 and 1; null without any vote. */
  helpful: { yes: number; no: number; rate: number | null };
  /** Entries with a date before or after the months shown. */
  otherMonths: number;
  watermark: string | null;
  /** The pass begun last; null when there was none. */
  lastSync: Pick<PassRow, 'pass' | 'startedAt' | 'finishedAt' | 'outcome'> | null;
}

const shownMonths = 12;

export function addFeedbackStats(parent: Command, run: RunCommand): void {
  parent
    .command('stats')
    .description('Numbers about the stored feedback: sources, statuses, months, pages that did not help')
    .argument('[project]', 'id of a configured project, or org/project; default: all')
    .action((project: string | undefined) => run((context) => stats(context, project)));
}

async function stats(context: CommandContext, name: string | undefined): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const wanted = findProjects(config, name);
  const { withFeedbackStore } = await import('./feedback-store-of.ts');
  const projects = await withFeedbackStore(config, (store) =>
    Promise.all(
      wanted.map(async ({ org, project }): Promise<ProjectStats> => {
        const found = await store.stats(org, project);
        const watermark = await store.watermark(org, project);
        const [last] = await store.listPasses({ org, project, limit: 1 });
        return { org, project, ...shown(found, new Date()), watermark, lastSync: last ? syncOf(last) : null };
      }),
    ),
  );
  const text = projects.map((project) => textOf(project, context.output.paint)).join('\n\n');
  context.output.result({ projects }, text === '' ? 'no projects are configured' : text);
  return exitCodes.done;
}

function shown(found: FeedbackStats, now: Date): Omit<ProjectStats, 'org' | 'project' | 'watermark' | 'lastSync'> {
  const { yes, no } = found.helpful;
  const entriesOf = new Map(found.months.map(({ name, entries }) => [name, entries]));
  const months = lastMonths(now, shownMonths).map((name) => ({ name, entries: entriesOf.get(name) ?? 0 }));
  return {
    ...found,
    helpful: { yes, no, rate: yes + no === 0 ? null : yes / (yes + no) },
    months,
    otherMonths: total(found.months) - total(months),
  };
}

function syncOf({ pass, startedAt, finishedAt, outcome }: PassRow): ProjectStats['lastSync'] {
  return { pass, startedAt, finishedAt, outcome };
}

function textOf(stats: ProjectStats, paint: Paint): string {
  const { org, project, entries, tombstones, rejects, sources, statuses, helpful, months, paths } = stats;
  const stored = [`${entries} entries`, `${rejects} not understood`, `${tombstones} gone`].join(', ');
  const lines = [`${paint.bold(project)} (${org}): ${stored}`, indent(syncText(stats))];
  if (entries === 0) return lines.join('\n');
  lines.push('', indent(bars('source', sources)), '', indent(bars('status', statuses)));
  const { yes, no, rate } = helpful;
  if (rate !== null) {
    const text = `${barText(rate * 100)}  ${percentText(rate)} found their page helpful (${yes} of ${yes + no})`;
    lines.push('', indent(text));
  }
  lines.push('', indent(bars('month', months)), indent(datesText(stats)));
  if (paths.length > 0) lines.push('', indent(pathsTable(paths)));
  return lines.join('\n').trimEnd();
}

function syncText({ lastSync, watermark }: ProjectStats): string {
  if (lastSync === null) return 'never synced';
  const { pass, startedAt, finishedAt, outcome } = lastSync;
  const upTo = watermark === null ? 'never read to the end' : `read up to ${timeText(watermark)}`;
  return `last sync: ${pass}, ${outcome} ${timeText(finishedAt ?? startedAt)}; ${upTo} (UTC)`;
}

function datesText({ otherMonths, undated }: ProjectStats): string {
  const parts = [
    otherMonths > 0 ? `${otherMonths} in other months` : '',
    undated > 0 ? `${undated} without a date that can be understood` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** A line for each count, its bar as long as its share of the greatest. */
function bars(title: string, counts: readonly Count[]): string {
  const greatest = Math.max(1, ...counts.map(({ entries }) => entries));
  const sum = Math.max(1, total(counts));
  return tableLines(
    [title, '', 'entries', ''],
    counts.map(({ name, entries }) => [
      printable(name),
      barText((entries / greatest) * 100),
      `${entries}`,
      percentText(entries / sum),
    ]),
  );
}

function pathsTable(paths: FeedbackStats['paths']): string {
  return tableLines(
    ['pages that did not help', 'not helpful', 'helpful'],
    paths.map(({ path, unhelpful, helpful }) => [printable(path), `${unhelpful}`, `${helpful}`]),
  );
}

function total(counts: readonly Count[]): number {
  return counts.reduce((sum, { entries }) => sum + entries, 0);
}

function percentText(share: number): string {
  return `${Math.round(share * 100)} %`;
}
