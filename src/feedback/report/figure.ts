import { type Html, html } from './html.ts';
import { type ColorName, colorOf } from './palette.ts';

export interface LegendEntry {
  name: string;
  color: ColorName;
  /** More about it, such as a total. */
  detail?: string;
}

export interface NumbersTable {
  columns: readonly string[];
  /** The first cell names its row. */
  rows: readonly (readonly (string | number)[])[];
}

export interface Figure {
  id: string;
  title: string;
  legend?: readonly LegendEntry[];
  chart: Html;
  note?: string | null;
  table: NumbersTable;
}

/** A chart with its title, and its numbers as a table to open. */
export function figure({ id, title, legend = [], chart, note = null, table }: Figure): Html {
  return html`<figure aria-labelledby="${id}">
<figcaption id="${id}">${title}</figcaption>
${legend.length > 0 && legendList(legend)}
${chart}
${note !== null && html`<p class="note">${note}</p>`}
${tableBehind(title, table)}
</figure>`;
}

function legendList(entries: readonly LegendEntry[]): Html {
  const items = entries.map(
    ({ name, color, detail }) =>
      html`<li><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="1.5" fill="${colorOf(color)}"/></svg><bdi>${name}</bdi>${detail !== undefined && html` <b>${detail}</b>`}</li>`,
  );
  return html`<ul class="legend">${items}</ul>`;
}

function tableBehind(title: string, { columns, rows }: NumbersTable): Html {
  const head = columns.map((column) => html`<th scope="col"><bdi>${column}</bdi></th>`);
  const body = rows.map(([name = '', ...cells]) => {
    const numbers = cells.map((cell) => html`<td>${cell}</td>`);
    return html`<tr><th scope="row"><bdi>${name}</bdi></th>${numbers}</tr>\n`;
  });
  return html`<details class="numbers"><summary>Numbers<span class="unseen"> of “${title}” as a table</span></summary>
<div class="scroll" role="region" tabindex="0" aria-label="${title}, as a table">
<table><thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table>
</div></details>`;
}
