import { html } from 'hono/html';
import { counted, countText, pagePath } from '../../rules/text.ts';
import {
  type AgentPage,
  type Excerpt,
  isCutShort,
  type RecentComment,
  type ReportFigures,
  type Series,
  type TimeAxis,
  type Votes,
} from '../rules/report-figures.ts';
import type { TrendPart } from '../search/feedback-search.ts';
import { helpfulOverTime, rowsChart, volumeChart, waitsChart } from './charts.ts';
import {
  byUnit,
  dayText,
  figure,
  type Html,
  type LegendEntry,
  nameText,
  partText,
  percentText,
  seriesColors,
  severalText,
  visible,
  waitText,
  wilsonInterval,
} from './figure.ts';

interface Section {
  id: string;
  title: string;
  /** A sentence or two about the figures. */
  intro: Html | string;
  body: readonly (Html | null)[];
}

/** A part of a project's report: heading and text on one side, figures on the other. */
export function section({ id, title, intro, body }: Section): Html {
  return html`<section class="part" id="${id}" aria-labelledby="${id}-title">
<header><h3 id="${id}-title">${title}</h3>
<p>${intro}</p></header>
<div class="figures">${body}</div>
</section>
`;
}

/** What agents complain about, by page, in their own words. */
export function agentsSection({ agents }: ReportFigures, id: string): Html {
  const title = 'What agents stumble over';
  const { entries, paths, pages } = agents;
  if (entries === 0) {
    return section({ id: `${id}-agents`, title, intro: 'No agent has left feedback.', body: [] });
  }
  const shown = paths > pages.length ? `; the ${pages.length} with the most are shown` : '';
  return section({
    id: `${id}-agents`,
    title,
    intro: `AI agents left ${counted(entries, 'entry', 'entries')} on ${counted(paths, 'page')}${shown}. They take examples literally: what trips them trips newcomers too.`,
    body: [
      barsFigure({
        id: `${id}-agent-pages`,
        title: 'Feedback from agents by page',
        label: `Bars of feedback from agents on ${counted(pages.length, 'page')}, from ${countText(pages[0]?.entries ?? 0)} entries down to ${countText(pages.at(-1)?.entries ?? 0)}`,
        legend: [
          { name: 'open', color: 'plum' },
          { name: 'closed', color: 'stone' },
        ],
        columns: ['entries', 'open'],
        rows: pages.map(({ path, entries: all, open }) => ({
          path,
          values: [open, all - open],
          note: `${countText(all)}, ${countText(open)} open`,
          cells: [countText(all), countText(open)],
        })),
      }),
      quotes(pages),
    ],
  });
}

interface Bars extends Pick<Shares, 'id' | 'title' | 'label'> {
  /** The bars of each row, in their order. */
  legend: readonly LegendEntry[];
  /** Heads of the columns beside the pages. */
  columns: readonly string[];
  rows: readonly { path: string; values: readonly number[]; note: string; cells: readonly string[] }[];
}

/** A row of bars for each page. */
function barsFigure({ id, title, label, legend, columns, rows }: Bars): Html {
  return figure({
    id,
    title,
    legend,
    chart: rowsChart(
      label,
      rows.map(({ path, values, note }) => ({
        name: pagePath(path),
        marks: { kind: 'bars', bars: values.map((value, bar) => ({ value, color: legend[bar]?.color ?? 'stone' })) },
        note,
      })),
      Math.max(...rows.map(({ values }) => values.reduce((sum, value) => sum + value, 0))),
    ),
    table: {
      columns: ['page', ...columns],
      rows: rows.map(({ path, cells }) => [visible(pagePath(path)), ...cells]),
    },
  });
}

function quotes(pages: readonly AgentPage[]): Html | null {
  const quoted = pages.filter(({ complaints }) => complaints.length > 0);
  if (quoted.length === 0) return null;
  const items = quoted.map(
    ({ path, complaints }) => html`<li><h4><bdi>${visible(pagePath(path))}</bdi></h4>
${complaints.map(
  (complaint) => html`<blockquote dir="auto">${excerpt(complaint)}</blockquote>
${complaint.times > 1 && html`<p class="times">${countText(complaint.times)} times</p>`}`,
)}</li>
`,
  );
  return html`<ul class="quotes">${items}</ul>`;
}

/** A text, and how much of it is left out. */
function excerpt({ text, cut }: Excerpt): Html {
  if (cut === 0) return html`${text}`;
  return html`${text}… <i class="cut" dir="ltr">${counted(cut, 'more character')}</i>`;
}

/** The newest comments. The filters need the page's script; without it there is only the list. */
export function commentsSection({ recent, commented }: ReportFigures, id: string): Html {
  const all =
    recent.length < commented
      ? `The newest ${countText(recent.length)} of ${countText(commented)} comments.`
      : `All ${counted(commented, 'comment')}, newest first.`;
  return html`<section class="words" id="${id}-comments" aria-labelledby="${id}-comments-title">
<header><h3 id="${id}-comments-title">In their words</h3>
<p>${commented === 0 ? 'There are no comments.' : recent.length === 0 ? 'Comments were left out.' : all}</p></header>
${
  recent.length > 0 &&
  html`<div>
${filters(recent, id)}
<ol class="comments" id="${id}-list">
${recent.map(item)}</ol>
</div>`
}
</section>
`;
}

function filters(recent: readonly RecentComment[], id: string): Html {
  return html`<form class="filters" data-list="${id}-list" aria-label="Filter comments" hidden>
${choice(`${id}-source`, 'Source', 'source', frequencies(recent.map(({ source }) => source)))}
${choice(`${id}-status`, 'Status', 'status', frequencies(recent.map(({ status }) => status)))}
<p><label for="${id}-page">Page contains</label><input id="${id}-page" name="page" type="search" autocomplete="off" spellcheck="false"></p>
<p><label for="${id}-text">Text contains</label><input id="${id}-text" name="text" type="search" autocomplete="off" spellcheck="false"></p>
<p class="end"><button type="reset">Clear</button></p>
<output class="shown" for="${id}-source ${id}-status ${id}-page ${id}-text">${counted(recent.length, 'comment')}</output>
</form>`;
}

function choice(id: string, label: string, name: string, values: readonly [string, number][]): Html {
  const options = values.map(
    ([value, count]) => html`<option value="${value}">${visible(nameText(value))} (${count})</option>`,
  );
  return html`<p><label for="${id}">${label}</label><select id="${id}" name="${name}"><option value="">any</option>${options}</select></p>`;
}

function frequencies(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

function item(comment: RecentComment): Html {
  const { source, status, helpful, createdAt } = comment;
  const path = visible(pagePath(comment.path));
  const date = createdAt === null ? 'no date' : html`<time datetime="${createdAt}">${dayText(createdAt)}</time>`;
  const vote =
    helpful !== null &&
    html` <span class="${helpful ? 'vote yes' : 'vote no'}">${helpful ? 'helpful' : 'not helpful'}</span>`;
  return html`<li data-source="${source}" data-status="${status}" data-page="${path}">
<p class="of"><bdi class="path">${path}</bdi><span class="facts">${date} · <bdi>${visible(nameText(source))}</bdi> · <bdi>${visible(nameText(status))}</bdi>${vote}</span></p>
<blockquote dir="auto">${excerpt(comment)}</blockquote></li>
`;
}

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

/** How people took a page: votes and comments in each part of the axis. */
export function trendFigure(axis: TimeAxis, trend: readonly TrendPart[]): Html {
  const kinds = ['helpful', 'not helpful', 'comments'] as const;
  const counts = { helpful: 'yes', 'not helpful': 'no', comments: 'comments' } as const;
  const strips = kinds.map((name): Series => {
    const over = trend.map((part) => part[counts[name]]);
    return { name, over, entries: over.reduce((all, one) => all + one, 0) };
  });
  const title = `The last ${axis.starts.length} ${axis.unit}s of this page`;
  const told = strips.map(({ name, entries }) =>
    name === 'comments' ? counted(entries, 'comment') : `${countText(entries)} ${name}`,
  );
  return figure({
    id: 'trend',
    title,
    legend: strips.map(({ name, entries }, index) => ({
      name: name ?? '',
      color: seriesColors(kinds)[index] ?? 'stone',
      detail: countText(entries),
    })),
    chart: volumeChart(`Bars ${byUnit(axis)}: ${told.join(', ')}`, axis, strips.slice(0, 2), strips.slice(2)),
    table: {
      columns: [axis.unit, ...kinds],
      rows: trend.map((part, index) => [partText(axis, index), ...kinds.map((name) => countText(part[counts[name]]))]),
    },
  });
}

function overTimeLabel(votes: readonly Votes[]): string {
  const shares = votes.flatMap((vote) => (total(vote) === 0 ? [] : [percentText(vote.yes / total(vote))]));
  return `Line chart of the share of helpful votes, from ${shares.at(0) ?? 'none'} to ${shares.at(-1) ?? 'none'}`;
}

function byPage({ mostVoted, votedPages }: ReportFigures, id: string): Html {
  const pages = mostVoted.map((page) => ({ ...page, name: pagePath(page.path) }));
  const all = votedPages <= pages.length;
  return sharesFigure({
    id,
    title: all
      ? 'Share of helpful votes by page'
      : `Share of helpful votes on the ${pages.length} pages with the most votes`,
    label: `Share of helpful votes on ${counted(pages.length, 'page')}, lowest first`,
    column: 'page',
    rows: pages.sort((a, b) => a.yes / total(a) - b.yes / total(b)),
  });
}

interface Shares {
  id: string;
  title: string;
  /** The chart in words. */
  label: string;
  /** Head of the column of names. */
  column: string;
  /** Each with a vote. */
  rows: readonly (Votes & { name: string })[];
}

/** The share of helpful votes of each row, with its interval. */
export function sharesFigure({ id, title, label, column, rows }: Shares): Html {
  return figure({
    id,
    title,
    chart: rowsChart(
      label,
      rows.map((row) => ({
        name: row.name,
        marks: { kind: 'point', at: row.yes / total(row), within: wilsonInterval(row.yes, total(row)) },
        note: `${percentText(row.yes / total(row))} of ${countText(total(row))}`,
      })),
      1,
      [0, 0.5, 1].map(percentText),
    ),
    table: {
      columns: [column, 'helpful', 'not helpful', 'share'],
      rows: rows.map((row) => [visible(row.name), ...voteCells(row)]),
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
      barsFigure({
        id: `${id}-worst-pages`,
        title: 'Votes by page, most votes against first',
        label: `Bars of votes on ${counted(worst.length, 'page')}, from ${countText(worst[0]?.no ?? 0)} against down to ${countText(worst.at(-1)?.no ?? 0)}`,
        legend: [...voteLegend].reverse(),
        columns: ['helpful', 'not helpful', 'share'],
        rows: worst.map((page) => ({
          path: page.path,
          values: [page.no, page.yes],
          note: `${countText(page.no)} of ${countText(total(page))}`,
          cells: voteCells(page),
        })),
      }),
    ],
  });
}

function voteCells(votes: Votes): string[] {
  const share = total(votes) === 0 ? '–' : percentText(votes.yes / total(votes));
  return [countText(votes.yes), countText(votes.no), share];
}

export function total({ yes, no }: Votes): number {
  return yes + no;
}

/** Entries by source and by status. */
export function volumeSection(figures: ReportFigures, id: string): Html | null {
  const { axis, entries, sources, open } = figures;
  if (axis === null || entries === 0) return null;
  const [first] = sources;
  const share = first === undefined ? '' : percentText(first.entries / entries);
  const most = first === undefined ? '' : `The largest share, ${share}, is ${visible(severalText(first.name))}. `;
  const waiting = `In total, ${counted(open.entries, 'entry', 'entries')} ${open.entries === 1 ? 'is' : 'are'} still open.`;
  return section({
    id: `${id}-volume`,
    title: 'Incoming feedback',
    intro: `${most}${waiting}`,
    body: [
      volume(`${id}-sources`, `Entries ${byUnit(axis)} and source`, axis, entries, figures.sources),
      volume(`${id}-statuses`, `The same entries, by status`, axis, entries, figures.statuses, noteOn(figures, axis)),
    ],
  });
}

function volume(
  id: string,
  title: string,
  axis: TimeAxis,
  entries: number,
  series: readonly Series[],
  note: string | null = null,
): Html {
  const names = series.map(({ name }) => visible(nameText(name)));
  const colors = seriesColors(series.map(({ name }) => name));
  const legend = series.map(
    (one, index): LegendEntry => ({
      name: names[index] ?? '',
      color: colors[index] ?? 'stone',
      detail: `${countText(one.entries)} · ${percentText(one.entries / entries)}`,
    }),
  );
  return figure({
    id,
    title,
    legend,
    chart: volumeChart(`Stacked bars of entries ${byUnit(axis)}: ${names.join(', ')}`, axis, series),
    note,
    table: {
      columns: [axis.unit, ...names, 'all'],
      rows: axis.starts.map((_, part) => {
        const counts = series.map(({ over }) => over[part] ?? 0);
        return [partText(axis, part), ...counts.map(countText), countText(counts.reduce((a, b) => a + b, 0))];
      }),
    },
  });
}

function noteOn({ outsideAxis, undated }: ReportFigures, axis: TimeAxis): string | null {
  const notes = [
    isCutShort(axis) ? `The last ${axis.unit} is incomplete.` : '',
    outsideAxis > 0
      ? `${counted(outsideAxis, 'entry', 'entries')} before ${dayText(axis.starts[0] ?? axis.end)} or in the future: in the totals, not in the bars.`
      : '',
    undated > 0
      ? `${counted(undated, 'entry', 'entries')} without a readable date: in the totals, not in the bars.`
      : '',
  ].filter((text) => text !== '');
  return notes.length === 0 ? null : notes.join(' ');
}

/** How long entries stay open. */
export function waitsSection({ waits, waitsOver, axis }: ReportFigures, id: string): Html {
  const title = 'Time to close';
  if (waits === null || axis === null) {
    return section({
      id: `${id}-waits`,
      title,
      intro:
        'No sync has seen an entry change to closed yet. Reviews and sweeps record every change of status; this section then shows how long entries stay open.',
      body: [],
    });
  }
  const label = `Line chart of the median and 90th percentile of the time to close, overall ${waitText(waits.medianMs)} and ${waitText(waits.p90Ms)}`;
  return section({
    id: `${id}-waits`,
    title,
    intro: `Of ${counted(waits.closed, 'entry', 'entries')} that were resolved or dismissed, half were closed within ${waitText(waits.medianMs)} and 90${'\u202F'}% within ${waitText(waits.p90Ms)}. A change is dated by the sync that first saw it.`,
    body: [
      figure({
        id: `${id}-waits-time`,
        title: `Time from creation to closing, ${byUnit(axis)} of closing`,
        legend: [
          { name: 'median', color: 'blue' },
          { name: '90th percentile', color: 'ochre' },
        ],
        chart: waitsChart(label, axis, waitsOver),
        table: {
          columns: [axis.unit, 'closed', 'median', '90th percentile'],
          rows: waitsOver.map((wait, index) =>
            wait === null
              ? [partText(axis, index), '0', '–', '–']
              : [partText(axis, index), countText(wait.closed), waitText(wait.medianMs), waitText(wait.p90Ms)],
          ),
        },
      }),
    ],
  });
}
