import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { html, raw } from 'hono/html';
import { countText, invisible } from '../../rules/text.ts';
import { type AxisUnit, isCutShort, type TimeAxis } from '../rules/report-figures.ts';

/** A part of a page, made by the template `html`. */
export type Html = ReturnType<typeof html>;

/** The text of a page or of a part of one. Characters that HTML or UTF-8 cannot hold become U+FFFD. */
export async function htmlText(part: Html): Promise<string> {
  return (await part).toString().replaceAll(/[^\P{Cc}\t\n\r]|\p{Cs}/gu, '\uFFFD');
}

/** Foreign text in a line of ours, such as a path: invisible characters, and those that reverse it, become U+FFFD. */
export function visible(text: string): string {
  return text.replaceAll(invisible, '\uFFFD');
}

/** Cut in the middle to at most `longest` characters: paths differ at both ends. */
export function shortened(text: string, longest: number): string {
  const characters = [...text];
  if (characters.length <= longest) return text;
  const head = Math.ceil((longest - 1) / 2);
  const tail = longest - 1 - head;
  return `${characters.slice(0, head).join('')}…${tail === 0 ? '' : characters.slice(-tail).join('')}`;
}

/** The report's colours by the name of their CSS variable. `test/feedback/report/page.test.ts` computes their contrasts. */
export const light = {
  paper: '#fcfbf8',
  wash: '#f3f0e9',
  ink: '#1d1c1a',
  quiet: '#5d5952',
  rule: '#dcd7cd',
  focus: '#1f5f99',
  good: '#1a7a6c',
  bad: '#b54524',
  blue: '#2b6597',
  ochre: '#b0761b',
  plum: '#7d4a96',
  moss: '#5c7d3a',
  rose: '#ab3f6d',
  slate: '#4d5d8a',
  stone: '#8a857b',
};

export type ColorName = keyof typeof light;
export type Palette = Readonly<Record<ColorName, string>>;

export const dark: Palette = {
  paper: '#15171a',
  wash: '#1f2226',
  ink: '#ece8e1',
  quiet: '#aaa59b',
  rule: '#383b40',
  focus: '#8cc2f2',
  good: '#4fb5a5',
  bad: '#f08b66',
  blue: '#6aaade',
  ochre: '#dfb05c',
  plum: '#bd8fda',
  moss: '#98bd72',
  rose: '#e889b0',
  slate: '#9caade',
  stone: '#928e86',
};

/** A colour for charts and styles, which follows the colour scheme. */
export function colorOf(name: ColorName): string {
  return `var(--${name})`;
}

export function variables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

const knownColors: Readonly<Record<string, ColorName>> = {
  contextual: 'blue',
  thumbs_only: 'ochre',
  agent: 'plum',
  code_snippet: 'moss',
  pending: 'bad',
  in_progress: 'ochre',
  resolved: 'good',
  dismissed: 'stone',
  helpful: 'good',
  'not helpful': 'bad',
  comments: 'blue',
};
const otherColors: readonly ColorName[] = ['rose', 'slate', 'moss', 'plum', 'blue', 'ochre'];

/** A colour for each source or status, the same in every chart; `null` stands for all others. */
export function seriesColors(names: readonly (string | null)[]): ColorName[] {
  const known = names.map((name) => (name === null ? undefined : knownColors[name]));
  const free = otherColors.filter((color) => !known.includes(color));
  return names.map((name, index) => known[index] ?? (name === null ? 'stone' : (free.shift() ?? 'stone')));
}

export interface LegendEntry {
  name: string;
  color: ColorName;
  /** More about it, such as a total. */
  detail?: string;
}

interface NumbersTable {
  columns: readonly string[];
  /** The first cell names its row. */
  rows: readonly (readonly (string | number)[])[];
}

interface Figure {
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

use([BarChart, LineChart, GridComponent, SVGRenderer]);

/** Font size in charts, in their own pixels. */
export const fontSize = 13;

let drawn = 0;

/** Draws a chart without `<svg>` tag, styles and equal ids, as a strict policy asks, in colours of both schemes. */
function drawChart(option: EChartsCoreOption, width: number, height: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: 'inherit', fontSize, color: colorOf('quiet') },
      ...option,
    });
    drawn += 1;
    return standalone(chart.renderToSVGString(), `c${drawn}`);
  } finally {
    // Otherwise a timer of the chart keeps the process alive.
    chart.dispose();
  }
}

/** The renderer escapes every `<`, `>` and `"` of a text, so whatever is between `<` and `>` is one of its tags. */
function standalone(svg: string, prefix: string): string {
  return svg
    .replaceAll(/<style[^<>]*>(?:[^<]|<!)*<\/style>/g, '')
    .replaceAll(/<rect [^<>]*><\/rect>/g, (rect) => (rect.includes('fill="none"') ? '' : rect))
    .replaceAll(/<\w[^<>]*>/g, (tag) => plainTag(tag, prefix))
    .replaceAll(/\n+/g, '\n')
    .replaceAll(/^<svg[^<>]*>|<\/svg>$/g, '');
}

function plainTag(tag: string, prefix: string): string {
  return tag
    .replaceAll(/ (?:class|pointer-events|ecmeta_\w+|xml:space)="[^"]*"/g, '')
    .replaceAll(/ style="([^"]*)"/g, (_, style: string) => presentation(style))
    .replaceAll(/(id="|url\(#)zr\d+-/g, `$1${prefix}-`)
    .replaceAll(/(\d\.\d{2})\d+/g, '$1');
}

/** Declarations as attributes; the font comes from the page. */
function presentation(style: string): string {
  return style
    .split(';')
    .map((declaration) => declaration.split(':'))
    .filter(([name]) => name === 'font-size' || name === 'font-weight')
    .map(([name = '', value = '']) => ` ${name}="${value.trim()}"`)
    .join('');
}

/** Every chart is drawn for wide and narrow screens: text must stay readable on a phone. */
export interface ChartWidth {
  kind: 'wide' | 'narrow';
  width: number;
  /** Labels of an axis that fit side by side. */
  mostLabels: number;
}

const widths: readonly ChartWidth[] = [
  { kind: 'wide', width: 760, mostLabels: 14 },
  { kind: 'narrow', width: 336, mostLabels: 6 },
];

/** The drawings of a chart for all widths; `label` describes them in words. */
export function drawAllWidths(
  label: string,
  draw: (chartWidth: ChartWidth) => { height: number; drawing: Html },
): Html {
  return html`${widths.map((chartWidth) => {
    const { height, drawing } = draw(chartWidth);
    return html`<svg class="${chartWidth.kind}" role="img" aria-label="${label}" viewBox="0 0 ${chartWidth.width} ${height}">${drawing}</svg>`;
  })}`;
}

/** Like `drawAllWidths`, drawn by ECharts. */
export function drawCharts(
  label: string,
  height: number,
  optionOf: (chartWidth: ChartWidth) => EChartsCoreOption,
): Html {
  return drawAllWidths(label, (chartWidth) => ({
    height,
    drawing: html`${raw(drawChart(optionOf(chartWidth), chartWidth.width, height))}`,
  }));
}

export function partsAxis(axis: TimeAxis, chartWidth: ChartWidth, more: object = {}) {
  return {
    type: 'category',
    data: axisLabels(axis, chartWidth.mostLabels),
    axisTick: { show: false },
    axisLine: { lineStyle: { color: colorOf('quiet'), width: 1 } },
    axisLabel: { interval: 0, color: colorOf('quiet'), fontSize, lineHeight: 17, hideOverlap: false },
    ...more,
  };
}

export function valueAxis(more: object = {}) {
  return {
    type: 'value',
    splitNumber: 3,
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: colorOf('rule'), width: 1 } },
    axisLabel: { color: colorOf('quiet'), fontSize },
    ...more,
  };
}

/** The style of key figures and charts, which the console shows too: one column on a phone, text beside charts on a desk. */
export const figureStyle = `
.lead{font:400 clamp(1.25rem,1.1rem + .8vw,1.625rem)/1.4 var(--serif);max-width:44rem;text-wrap:pretty}
.key-figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));border-top:1px solid var(--ink);margin-bottom:1rem}
.key-figures div{padding:.875rem 1rem 1.125rem 0;border-bottom:1px solid var(--rule);display:flex;flex-direction:column}
.key-figures dt{font-size:.875rem;color:var(--quiet)}
.key-figures strong{display:block;font:500 clamp(1.75rem,1.4rem + 1.6vw,2.5rem)/1.2 var(--serif);font-variant-numeric:lining-nums;letter-spacing:-.01em}
.key-figures dd span{display:block;font-size:.875rem;line-height:1.4;color:var(--quiet)}
.part,.words{padding:2.75rem 0 3rem;border-top:1px solid var(--rule)}
.key-figures+.part{border-top:0}
.part h3,.words h3{font:500 1.625rem/1.2 var(--serif);letter-spacing:-.005em;margin-bottom:.625rem;text-wrap:balance}
.part>header p,.words>header p{color:var(--quiet);font-size:.9375rem;max-width:36rem;text-wrap:pretty}
.figures{display:grid;gap:3rem;margin-top:1.75rem;min-width:0}
.figures:empty{display:none}
figure{min-width:0}
figcaption{font-weight:600;font-size:.9375rem;line-height:1.4;margin-bottom:.625rem;text-wrap:balance}
figure>svg{display:block;width:100%;height:auto;font-family:var(--sans)}
figure>svg.wide{display:none}
svg text{font-variant-numeric:tabular-nums}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;font-size:.875rem;color:var(--ink);margin-bottom:.75rem}
.legend b{font-weight:400;color:var(--quiet)}
.legend .key{width:.7em;height:.7em;margin-inline-end:.45em}
.note{color:var(--quiet);font-size:.875rem;margin-top:.5rem}
.numbers{margin-top:.75rem;font-size:.875rem}
.numbers summary{cursor:pointer;color:var(--quiet);width:fit-content;padding:.25rem .5rem .25rem 0}
.numbers summary:hover{color:var(--ink)}
@media (min-width:35rem){
figure>svg.wide{display:block}
figure>svg.narrow{display:none}
}
@media (min-width:48rem){
.key-figures{grid-template-columns:repeat(4,minmax(0,1fr));border-bottom:1px solid var(--rule)}
.key-figures div{border-bottom:0}
.key-figures div+div{padding-left:1.25rem;border-left:1px solid var(--rule)}
}
@media (min-width:64rem){
.part{display:grid;grid-template-columns:16rem minmax(0,1fr);gap:2.5rem}
.part>header{align-self:start;position:sticky;top:2rem}
.figures{margin-top:.25rem}
}
`;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const narrowSpace = '\u202F';

const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** `42 %` of a share between 0 and 1. */
export function percentText(share: number): string {
  return `${Math.round(share * 100)}${narrowSpace}%`;
}

/** `40 minutes`, `5.5 hours`, `3.4 days`: changes are not observed more precisely than two digits. */
export function waitText(ms: number): string {
  const of = (value: number, unit: string) => {
    const text = value < 10 ? oneDigit.format(value) : countText(Math.round(value));
    return `${text} ${unit}${text === '1' ? '' : 's'}`;
  };
  if (ms < hourMs) return of(Math.max(1, Math.round(ms / minuteMs)), 'minute');
  return ms < 2 * dayMs ? of(ms / hourMs, 'hour') : of(ms / dayMs, 'day');
}

const months = 'January February March April May June July August September October November December'.split(' ');

/** `21 November 2026` of an ISO 8601 moment, in UTC. */
export function dayText(iso: string): string {
  const { day, month, year } = partsOf(iso);
  return `${day} ${month} ${year}`;
}

/** `21 November 2026, 08:05 UTC`. */
export function momentText(iso: string): string {
  return `${dayText(iso)}, ${iso.slice(11, 16)} UTC`;
}

/** A part of an axis in a sentence or a table: `week of 2 November 2026`, `November 2026`. */
export function partText(axis: TimeAxis, index: number): string {
  const { day, month, monthNumber, year } = partsOf(axis.starts[index] ?? axis.end);
  const soFar = index === axis.starts.length - 1 && isCutShort(axis) ? ' (so far)' : '';
  const texts: Record<AxisUnit, string> = {
    day: `${day} ${month} ${year}`,
    week: `week of ${day} ${month} ${year}`,
    month: `${month} ${year}`,
    quarter: `quarter ${Math.floor(monthNumber / 3) + 1} of ${year}`,
    year: `${year}`,
  };
  return texts[axis.unit] + soFar;
}

/** Short labels below an axis, at most `most` and empty ones between them; the first of each year also has the year. */
export function axisLabels({ unit, starts }: TimeAxis, most: number): string[] {
  const step = Math.ceil(starts.length / most);
  let labelled: number | null = null;
  return starts.map((start, index) => {
    if (index % step !== 0) return '';
    const { day, month, monthNumber, year } = partsOf(start);
    const texts: Record<AxisUnit, string> = {
      day: `${day} ${month.slice(0, 3)}`,
      week: `${day} ${month.slice(0, 3)}`,
      month: month.slice(0, 3),
      quarter: `Q${Math.floor(monthNumber / 3) + 1}`,
      year: `${year}`,
    };
    const newYear = unit !== 'year' && year !== labelled;
    labelled = year;
    return newYear ? `${texts[unit]}\n${year}` : texts[unit];
  });
}

/** `by month` */
export function byUnit({ unit }: TimeAxis): string {
  return `by ${unit}`;
}

function partsOf(iso: string): { day: number; month: string; monthNumber: number; year: number } {
  const monthNumber = Number(iso.slice(5, 7)) - 1;
  return {
    day: Number(iso.slice(8, 10)),
    month: months[monthNumber] ?? '',
    monthNumber,
    year: Number(iso.slice(0, 4)),
  };
}

/** Names for the interface's values; others keep theirs. */
const names: ReadonlyMap<string, string> = new Map([
  ['contextual', 'page comment'],
  ['thumbs_only', 'page rating'],
  ['agent', 'agent comment'],
  ['code_snippet', 'code snippet note'],
  ['in_progress', 'in progress'],
]);

/** A source or status in words; null stands for all others. */
export function nameText(name: string | null): string {
  return name === null ? 'others' : (names.get(name) ?? name);
}

/** Many of a source, in words. */
export const severalText = (source: string | null): string =>
  source !== null && names.has(source) ? `${nameText(source)}s` : nameText(source);

/** Two-sided normal quantile of 95 %. */
const z = 1.96;

export interface Interval {
  low: number;
  high: number;
}

/** The 95 % score interval of `yes` of `votes` (E. B. Wilson, 1927): right for few votes and near 0 and 1 too. */
export function wilsonInterval(yes: number, votes: number): Interval {
  if (votes === 0) return { low: 0, high: 1 };
  const share = yes / votes;
  const scale = 1 + z ** 2 / votes;
  const middle = (share + z ** 2 / (2 * votes)) / scale;
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / votes + z ** 2 / (4 * votes ** 2));
  return { low: Math.max(0, middle - reach), high: Math.min(1, middle + reach) };
}

/** Whether two shares differ significantly at 95 % (test of two proportions). */
export function sharesDiffer(a: { yes: number; no: number }, b: { yes: number; no: number }): boolean {
  const [of, from] = [a.yes + a.no, b.yes + b.no];
  const pooled = (a.yes + b.yes) / (of + from);
  const spread = Math.sqrt(pooled * (1 - pooled) * (1 / of + 1 / from));
  return spread > 0 && Math.abs(a.yes / of - b.yes / from) > z * spread;
}
