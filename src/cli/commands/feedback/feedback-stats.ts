import type { FeedbackStats } from '../../../feedback/figures/project-figures.ts';
import type { Count } from '../../../feedback/figures/read-report-figures.ts';
import type { PassRow } from '../../../feedback/reading/passes.ts';
import { barText, counted, countText, pagePath } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Output } from '../../context.ts';
import { type FoundProject, findProjects, projectHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { indent, printable, projectTitle, tableLines, utcText } from '../../terminal/text.ts';

export default {
  stats: (command, run) => command.argument('[project]', `${projectHelp}; default: all`).action(run(showStats)),
} satisfies CommandFile;

/** The last `count` months of UTC up to that of `now`, such as `2026-11`, oldest first. */
export function lastMonths(now: Date, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (count - 1 - index)));
    return month.toISOString().slice(0, 7);
  });
}

interface ProjectStats extends Omit<FeedbackStats, 'helpful' | 'helpfulMonths'>, FoundProject {
  /** `rate` between 0 and 1; null without any vote. */
  helpful: { yes: number; no: number; rate: number | null };
  /** The same for each of the months shown. */
  helpfulMonths: { name: string; yes: number; no: number; rate: number | null }[];
  /** Entries with a date before or after the months shown. */
  otherMonths: number;
  watermark: string | null;
  /** The latest pass; null when there was none. */
  lastSync: Pick<PassRow, 'pass' | 'startedAt' | 'finishedAt' | 'outcome'> | null;
}

const shownMonths = 12;

async function showStats(context: CommandContext, name?: string): Promise<void> {
  const config = await loadContextConfig(context);
  const wanted = findProjects(config, name);
  const projects = await withFeedbackStore(config, (store) =>
    Promise.all(
      wanted.map(async (asked): Promise<ProjectStats> => {
        const { org, project } = asked;
        const found = await store.stats(org, project);
        const watermark = await store.watermark(org, project);
        const [last] = await store.listPasses({ org, project, limit: 1 });
        return { ...asked, ...shown(found, new Date()), watermark, lastSync: last ? syncOf(last) : null };
      }),
    ),
  );
  const text = projects.map((project) => textOf(project, context.output)).join('\n\n');
  context.output.result({ projects }, text === '' ? 'no projects are configured' : text);
}

function shown(found: FeedbackStats, now: Date): Omit<ProjectStats, keyof FoundProject | 'watermark' | 'lastSync'> {
  const entriesOf = new Map(found.months.map(({ name, entries }) => [name, entries]));
  const votesOf = new Map(found.helpfulMonths.map((month) => [month.name, month]));
  const names = lastMonths(now, shownMonths);
  const months = names.map((name) => ({ name, entries: entriesOf.get(name) ?? 0 }));
  return {
    ...found,
    helpful: withRate(found.helpful),
    helpfulMonths: names.map((name) => withRate(votesOf.get(name) ?? { name, yes: 0, no: 0 })),
    months,
    otherMonths: total(found.months) - total(months),
  };
}

function syncOf({ pass, startedAt, finishedAt, outcome }: PassRow): ProjectStats['lastSync'] {
  return { pass, startedAt, finishedAt, outcome };
}

function withRate<Votes extends { yes: number; no: number }>(votes: Votes): Votes & { rate: number | null } {
  const { yes, no } = votes;
  return { ...votes, rate: yes + no === 0 ? null : yes / (yes + no) };
}

function textOf(stats: ProjectStats, output: Output): string {
  const { paint } = output;
  const { org, entries, tombstones, rejects, sources, statuses, helpful, helpfulMonths, months, paths } = stats;
  const stored = [
    counted(entries, 'entry', 'entries'),
    `${countText(rejects)} not understood`,
    `${countText(tombstones)} deleted`,
  ].join(', ');
  const lines = [`${paint.bold(projectTitle(stats))} (${org}): ${stored}`, indent(syncText(stats))];
  if (entries === 0) return lines.join('\n');
  lines.push('', indent(countTable('source', sources, output)), '', indent(countTable('status', statuses, output)));
  const { yes, no, rate } = helpful;
  if (rate !== null) {
    const text = `${percentText(rate)} found their page helpful (${countText(yes)} of ${countText(yes + no)})`;
    lines.push('', indent(output.draws ? `${paint.green(barText(rate * 100))}  ${text}` : text));
    lines.push('', indent(rateTable(helpfulMonths, output)));
  }
  lines.push('', indent(countTable('month', months, output)), indent(datesText(stats)));
  if (paths.length > 0) lines.push('', indent(pathsTable(paths, output)));
  return lines.join('\n').trimEnd();
}

function syncText({ lastSync, watermark }: ProjectStats): string {
  if (lastSync === null) return 'never synced';
  const { pass, startedAt, finishedAt, outcome } = lastSync;
  const read = watermark === null ? 'never read to the end' : `entries written up to ${utcText(watermark)} are read`;
  return `last sync: ${pass}, ${outcome} ${utcText(finishedAt ?? startedAt)}; ${read}`;
}

function datesText({ otherMonths, undated }: ProjectStats): string {
  const parts = [
    otherMonths > 0 ? `${countText(otherMonths)} in other months` : '',
    undated > 0 ? `${countText(undated)} without a readable date` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** A line for each count, with a bar relative to the greatest. */
function countTable(title: string, counts: readonly Count[], { draws, paint, surface }: Output): string {
  const greatest = Math.max(1, ...counts.map(({ entries }) => entries));
  const sum = Math.max(1, total(counts));
  return tableLines(
    [title, ...(draws ? [''] : []), 'entries', ''],
    counts.map(({ name, entries }) => [
      printable(name),
      ...(draws ? [paint.cyan(barText((entries / greatest) * 100))] : []),
      countText(entries),
      percentText(entries / sum),
    ]),
    surface.columns - 2,
  );
}

/** How many found their page helpful, month by month. */
function rateTable(months: ProjectStats['helpfulMonths'], { draws, paint, surface }: Output): string {
  return tableLines(
    ['month', ...(draws ? [''] : []), 'helpful', 'votes'],
    months.map(({ name, yes, no, rate }) => [
      name,
      ...(draws ? [paint.green(barText((rate ?? 0) * 100))] : []),
      rate === null ? '-' : percentText(rate),
      countText(yes + no),
    ]),
    surface.columns - 2,
  );
}

/** The bars show votes against, relative to the page with the most. */
function pathsTable(paths: FeedbackStats['paths'], { draws, paint, surface }: Output): string {
  const greatest = Math.max(1, ...paths.map(({ unhelpful }) => unhelpful));
  return tableLines(
    ['pages that did not help', ...(draws ? [''] : []), 'not helpful', 'helpful'],
    paths.map(({ path, unhelpful, helpful }) => [
      printable(pagePath(path)),
      ...(draws ? [paint.red(barText((unhelpful / greatest) * 100))] : []),
      countText(unhelpful),
      countText(helpful),
    ]),
    surface.columns - 2,
  );
}

function total(counts: readonly Count[]): number {
  return counts.reduce((sum, { entries }) => sum + entries, 0);
}

function percentText(share: number): string {
  return `${Math.round(share * 100)} %`;
}
