import { counted, countText } from '../../rules/quantities.ts';
import type { ReportFigures, Votes } from '../rules/report-figures.ts';
import { helpfulOverTime } from './helpful-over-time.ts';
import { rowsChart } from './rows.ts';
import { figure, type LegendEntry } from './figure.ts';
import { type Html, html, visible } from './html.ts';
import { wilsonInterval } from './wilson.ts';
import { byUnit, partText, percentText } from './words.ts';
import { section } from './section.ts';

const voteLegend: readonly LegendEntry[] = [
  { name: 'helpful', color: 'good' },
  { name: 'not helpful', color: 'bad' },
];

/** Whether pages help: over time, by page, and where they help least. */
export function helpfulSections(figures: ReportFigures, id: string): Html[] {
  const { yes, no } = figures.helpful;
  const title = 'Do the pages help?';
  if (yes + no === 0) {
    return [section({ id: `${id}-helpful`, title, intro: 'There are no votes yet.', body: [] })];
  }
  const intro = html`${counted(yes + no, 'vote')} on ${counted(figures.votedPages, 'page')}. The band is the 95${'\u202F'}% confidence interval: the fewer votes, the wider.`;
  const body = [overTime(figures, `${id}-helpful-time`), byPage(figures, `${id}-helpful-page`)];
  return [section({ id: `${id}-helpful`, title, intro, body }), worstSection(figures, id)];
}

function overTime({ axis, helpfulOver }: ReportFigures, id: string): Html | null {
  if (axis === null) return null;
  return figure({
    id,
    title: `Share of helpful votes and number of votes, ${byUnit(axis)}`,
    legend: voteLegend,
    chart: helpfulOverTime(overTimeLabel(helpfulOver), axis, helpfulOver),
    table: {
      columns: [axis.unit, 'helpful', 'not helpful', 'share'],
      rows: helpfulOver.map((votes, index) => [partText(axis, index), ...voteCells(votes)]),
    },
  });
}

function overTimeLabel(votes: readonly Votes[]): string {
  const shares = votes.flatMap((vote) => (total(vote) === 0 ? [] : [percentText(vote.yes / total(vote))]));
  return `Line chart of the share of helpful votes, from ${shares.at(0) ?? 'none'} to ${shares.at(-1) ?? 'none'}`;
}

function byPage({ mostVoted, votedPages }: ReportFigures, id: string): Html {
  const pages = [...mostVoted].sort((a, b) => a.yes / total(a) - b.yes / total(b));
  const all = votedPages <= pages.length;
  return figure({
    id,
    title: all
      ? 'Share of helpful votes by page'
      : `Share of helpful votes on the ${pages.length} pages with the most votes`,
    chart: rowsChart(
      `Share of helpful votes on ${counted(pages.length, 'page')}, lowest first`,
      pages.map((page) => ({
        name: page.path,
        marks: { kind: 'point', at: page.yes / total(page), within: wilsonInterval(page.yes, total(page)) },
        note: `${percentText(page.yes / total(page))} of ${countText(total(page))}`,
      })),
      1,
      [0, 0.5, 1].map(percentText),
    ),
    table: {
      columns: ['page', 'helpful', 'not helpful', 'share'],
      rows: pages.map((page) => [visible(page.path), ...voteCells(page)]),
    },
  });
}

function worstSection({ worst, helpful }: ReportFigures, id: string): Html {
  const title = 'Least helpful pages';
  if (worst.length === 0) {
    return section({ id: `${id}-worst`, title, intro: 'No page has a vote against it.', body: [] });
  }
  const against = worst.reduce((sum, { no }) => sum + no, 0);
  const share = percentText(against / helpful.no);
  return section({
    id: `${id}-worst`,
    title,
    intro: `The pages with the most votes against them. These ${counted(worst.length, 'page')} drew ${share} of all such votes: fixing the first ones helps the most readers.`,
    body: [
      figure({
        id: `${id}-worst-pages`,
        title: 'Votes by page, most votes against first',
        legend: voteLegend,
        chart: rowsChart(
          `Bars of votes on ${counted(worst.length, 'page')}, from ${countText(worst[0]?.no ?? 0)} against down to ${countText(worst.at(-1)?.no ?? 0)}`,
          worst.map(({ path, yes, no }) => ({
            name: path,
            marks: {
              kind: 'bars',
              bars: [
                { value: no, color: 'bad' },
                { value: yes, color: 'good' },
              ],
            },
            note: `${countText(no)} of ${countText(yes + no)}`,
          })),
          Math.max(...worst.map(total)),
        ),
        table: {
          columns: ['page', 'helpful', 'not helpful', 'share'],
          rows: worst.map((page) => [visible(page.path), ...voteCells(page)]),
        },
      }),
    ],
  });
}

function voteCells(votes: Votes): string[] {
  const share = total(votes) === 0 ? '–' : percentText(votes.yes / total(votes));
  return [countText(votes.yes), countText(votes.no), share];
}

function total({ yes, no }: Votes): number {
  return yes + no;
}
