import { counted, countText } from '../../rules/quantities.ts';
import type { AgentPage, Excerpt, ReportFigures } from '../rules/report-figures.ts';
import { rowsChart } from './rows.ts';
import { figure } from './figure.ts';
import { type Html, html, visible } from './html.ts';
import { section } from './section.ts';

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
      figure({
        id: `${id}-agent-pages`,
        title: 'Feedback from agents by page',
        legend: [
          { name: 'open', color: 'plum' },
          { name: 'closed', color: 'stone' },
        ],
        chart: rowsChart(
          `Bars of feedback from agents on ${counted(pages.length, 'page')}, from ${countText(pages[0]?.entries ?? 0)} entries down to ${countText(pages.at(-1)?.entries ?? 0)}`,
          pages.map(({ path, entries: all, open }) => ({
            name: path,
            marks: {
              kind: 'bars',
              bars: [
                { value: open, color: 'plum' },
                { value: all - open, color: 'stone' },
              ],
            },
            note: `${countText(all)}, ${countText(open)} open`,
          })),
          Math.max(...pages.map(({ entries: all }) => all)),
        ),
        table: {
          columns: ['page', 'entries', 'open'],
          rows: pages.map(({ path, entries: all, open }) => [visible(path), countText(all), countText(open)]),
        },
      }),
      quotes(pages),
    ],
  });
}

function quotes(pages: readonly AgentPage[]): Html | null {
  const quoted = pages.filter(({ complaints }) => complaints.length > 0);
  if (quoted.length === 0) return null;
  const items = quoted.map(
    ({ path, complaints }) => html`<li><h4><bdi>${visible(path)}</bdi></h4>
${complaints.map(
  (complaint) => html`<blockquote dir="auto">${excerpt(complaint)}</blockquote>
${complaint.times > 1 && html`<p class="times">${countText(complaint.times)} times</p>`}`,
)}</li>
`,
  );
  return html`<ul class="quotes">${items}</ul>`;
}

/** A text, and how much of it is left out. */
export function excerpt({ text, cut }: Excerpt): Html {
  if (cut === 0) return html`${text}`;
  return html`${text}… <i class="cut" dir="ltr">${counted(cut, 'more character')}</i>`;
}
