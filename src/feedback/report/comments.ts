import { counted, countText } from '../../rules/quantities.ts';
import type { RecentComment, ReportFigures } from '../rules/report-figures.ts';
import { type Html, html, visible } from './html.ts';
import { dayText, nameText } from './words.ts';
import { excerpt } from './agents.ts';

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
  const { path, source, status, helpful, createdAt } = comment;
  const date = createdAt === null ? 'no date' : html`<time datetime="${createdAt}">${dayText(createdAt)}</time>`;
  const vote =
    helpful !== null &&
    html` <span class="${helpful ? 'vote yes' : 'vote no'}">${helpful ? 'helpful' : 'not helpful'}</span>`;
  return html`<li data-source="${source}" data-status="${status}" data-page="${path}">
<p class="of"><bdi class="path">${visible(path)}</bdi><span class="facts">${date} · <bdi>${visible(nameText(source))}</bdi> · <bdi>${visible(nameText(status))}</bdi>${vote}</span></p>
<blockquote dir="auto">${excerpt(comment)}</blockquote></li>
`;
}
