import { html } from 'hono/html';
import type { Series, TimeAxis, Votes, Waits } from '../rules/report-figures.ts';
import {
  type ChartWidth,
  type ColorName,
  colorOf,
  drawAllWidths,
  drawCharts,
  fontSize,
  type Html,
  type Interval,
  partsAxis,
  percentText,
  seriesColors,
  shortened,
  valueAxis,
  visible,
  waitText,
  wilsonInterval,
} from './figure.ts';

const line = { top: 18, height: 190 };
const strip = { top: 236, height: 44 };
const helpfulHeight = strip.top + strip.height + 44;

/** The share of helpful votes with its 95 % interval as a band, and the number of votes below. */
export function helpfulOverTime(label: string, axis: TimeAxis, votes: readonly Votes[]): Html {
  return drawCharts(label, helpfulHeight, (chartWidth) => helpfulOption(axis, votes, chartWidth));
}

function helpfulOption(axis: TimeAxis, votes: readonly Votes[], chartWidth: ChartWidth) {
  const all = votes.map(({ yes, no }) => yes + no);
  const rate = votes.map(({ yes, no }) => (yes + no === 0 ? null : yes / (yes + no)));
  const bands = votes.map(({ yes, no }) => (yes + no === 0 ? null : wilsonInterval(yes, yes + no)));
  const last = rate.findLastIndex((share) => share !== null);
  const sides = { left: 44, right: 44 };
  const quiet = { silent: true, symbol: 'none', lineStyle: { opacity: 0 }, xAxisIndex: 0, yAxisIndex: 0 };
  return {
    grid: [
      { ...sides, ...line },
      { ...sides, ...strip },
    ],
    xAxis: [
      partsAxis(axis, chartWidth, {
        gridIndex: 0,
        boundaryGap: true,
        axisLabel: { show: false },
        axisLine: { show: false },
      }),
      partsAxis(axis, chartWidth, { gridIndex: 1 }),
    ],
    yAxis: [
      valueAxis({
        gridIndex: 0,
        min: 0,
        max: 1,
        interval: 0.25,
        axisLabel: { color: colorOf('quiet'), fontSize, formatter: percentText },
      }),
      valueAxis({
        gridIndex: 1,
        splitLine: { show: false },
        minInterval: 1,
        max: Math.max(1, ...all),
        interval: Math.max(1, ...all),
        axisLabel: { color: colorOf('quiet'), fontSize },
      }),
    ],
    series: [
      { ...quiet, type: 'line', stack: 'band', data: bands.map((band) => band?.low ?? null) },
      {
        ...quiet,
        type: 'line',
        stack: 'band',
        data: bands.map((band) => (band === null ? null : band.high - band.low)),
        areaStyle: { color: colorOf('good'), opacity: 0.16 },
      },
      {
        type: 'line',
        silent: true,
        xAxisIndex: 0,
        yAxisIndex: 0,
        connectNulls: true,
        symbol: 'circle',
        symbolSize: 6,
        itemStyle: { color: colorOf('good') },
        lineStyle: { color: colorOf('good'), width: 2.5 },
        label: { position: 'right', color: colorOf('ink'), fontSize: fontSize + 1, fontWeight: 700, distance: 6 },
        data: rate.map((share, index) =>
          index === last && share !== null
            ? { value: share, label: { show: true, formatter: percentText(share) } }
            : share,
        ),
      },
      ...(['yes', 'no'] as const).map((side) => ({
        type: 'bar',
        silent: true,
        stack: 'votes',
        xAxisIndex: 1,
        yAxisIndex: 1,
        barCategoryGap: '22%',
        itemStyle: { color: colorOf(side === 'yes' ? 'good' : 'bad') },
        data: votes.map((vote) => vote[side]),
      })),
    ],
  };
}

/** A named row of a chart: consecutive bars, or a point within its interval. */
interface ChartRow {
  name: string;
  marks:
    | { kind: 'bars'; bars: { value: number; color: ColorName }[] }
    | { kind: 'point'; at: number; within: Interval };
  /** At the right end. */
  note: string;
}

/** Approximate width of a letter of the font. */
const letterWidth = 6.7;
const nameWidth = 268;
const noteWidth = 104;

/** Rows, on narrow charts below their names. `greatest` ends the scale; `ticks` stand at its start, middle and end. */
export function rowsChart(
  label: string,
  rows: readonly ChartRow[],
  greatest: number,
  ticks: readonly string[] = [],
): Html {
  return drawAllWidths(label, ({ kind, width }) => {
    const wide = kind === 'wide';
    const rowHeight = wide ? 30 : 50;
    const left = wide ? nameWidth : 0;
    const scale = { left, width: wide ? width - left - noteWidth : width - 2, greatest };
    const bottom = 3 + rows.length * rowHeight;
    const nameRoom = wide ? nameWidth - 14 : width - noteWidth;
    const drawnRows = rows.map((row, index) => {
      const top = 3 + index * rowHeight;
      const middle = wide ? top + rowHeight / 2 : top + 32;
      const textY = wide ? middle : top + 11;
      const name = shortened(visible(row.name), Math.floor(nameRoom / letterWidth));
      return html`${text(name, 0, textY, 'start', 'ink')}${text(row.note, width - 2, textY, 'end', 'quiet')}${marks(row, middle, scale)}
`;
    });
    const drawnTicks = ticks.map((tick, index) => {
      const at = scale.left + (scale.width * index) / (ticks.length - 1);
      return text(tick, at, bottom + 12, anchors[index] ?? 'end', 'quiet');
    });
    return { height: bottom + (ticks.length > 0 ? 24 : 3), drawing: html`${drawnRows}${drawnTicks}` };
  });
}

interface Scale {
  left: number;
  width: number;
  greatest: number;
}

function marks({ marks: drawn }: ChartRow, middle: number, { left, width, greatest }: Scale): Html | Html[] {
  const x = (value: number) => left + (greatest === 0 ? 0 : (value / greatest) * width);
  if (drawn.kind === 'bars') {
    let from = 0;
    return drawn.bars.flatMap(({ value, color }) => {
      const begin = x(from);
      from += value;
      if (value === 0) return [];
      return [rectangle(begin, middle - 7, Math.max(1.5, x(from) - begin - 1), 14, color)];
    });
  }
  const { at, within } = drawn;
  const band = rectangle(x(within.low), middle - 4, x(within.high) - x(within.low), 8, 'good', 0.24);
  return html`${rectangle(left, middle - 0.5, width, 1, 'rule')}${band}<circle cx="${exact(x(at))}" cy="${middle}" r="5" fill="${colorOf('good')}"/>`;
}

function rectangle(x: number, y: number, width: number, height: number, color: ColorName, opacity = 1): Html {
  return html`<rect x="${exact(x)}" y="${y}" width="${exact(width)}" height="${height}" fill="${colorOf(color)}" fill-opacity="${opacity}"/>`;
}

const anchors = ['start', 'middle', 'end'] as const;

function text(value: string, x: number, y: number, anchor: (typeof anchors)[number], color: ColorName): Html {
  return html`<text x="${exact(x)}" y="${y}" text-anchor="${anchor}" dominant-baseline="central" font-size="${fontSize}" fill="${colorOf(color)}">${value}</text>`;
}

/** To a hundredth of a pixel. */
const exact = (pixels: number): number => Math.round(pixels * 100) / 100;

const volumeHeight = 250;
/** Above, below and between the strips of a chart. */
const volumeEdges = { top: 12, bottom: 44, between: 22 };

/** Counts over time as stacked bars, the first kind at the bottom; each list of kinds has a strip of its own. */
export function volumeChart(label: string, axis: TimeAxis, ...strips: (readonly Series[])[]): Html {
  return drawCharts(label, volumeHeight, (chartWidth) => volumeOption(axis, strips, chartWidth));
}

function volumeOption(axis: TimeAxis, strips: readonly (readonly Series[])[], chartWidth: ChartWidth) {
  const { top, bottom, between } = volumeEdges;
  const height = (volumeHeight - top - bottom - between * (strips.length - 1)) / strips.length;
  const colors = seriesColors(strips.flat().map(({ name }) => name));
  return {
    grid: strips.map((_, strip) => ({ left: 44, right: 8, top: top + strip * (height + between), height })),
    xAxis: strips.map((_, gridIndex) =>
      partsAxis(axis, chartWidth, { gridIndex, ...(gridIndex < strips.length - 1 && { axisLabel: { show: false } }) }),
    ),
    yAxis: strips.map((_, gridIndex) => valueAxis({ gridIndex, minInterval: 1 })),
    series: strips.flatMap((kinds, strip) =>
      kinds.map((kind) => ({
        type: 'bar',
        silent: true,
        stack: `strip ${strip}`,
        xAxisIndex: strip,
        yAxisIndex: strip,
        barCategoryGap: '22%',
        barMaxWidth: 40,
        // A paper-coloured line separates neighbours even without colours.
        itemStyle: {
          color: colorOf(colors[strips.flat().indexOf(kind)] ?? 'stone'),
          borderColor: colorOf('paper'),
          borderWidth: 1,
        },
        data: kind.over.map((entries) => (entries === 0 ? null : entries)),
      })),
    ),
  };
}

const waitsHeight = 250;
const hourMs = 3_600_000;

/** Median and 90th percentile of the time to close, by the time of closing. */
export function waitsChart(label: string, axis: TimeAxis, waits: readonly (Waits | null)[]): Html {
  return drawCharts(label, waitsHeight, (chartWidth) => waitsOption(axis, waits, chartWidth));
}

function waitsOption(axis: TimeAxis, waits: readonly (Waits | null)[], chartWidth: ChartWidth) {
  const greatest = Math.max(0, ...waits.map((wait) => wait?.p90Ms ?? 0));
  const unitMs = greatest < 48 * hourMs ? hourMs : 24 * hourMs;
  const last = waits.findLastIndex((wait) => wait !== null);
  const series = (of: 'medianMs' | 'p90Ms', color: string, width: number) => ({
    type: 'line',
    silent: true,
    connectNulls: true,
    symbol: 'circle',
    symbolSize: 6,
    itemStyle: { color: of === 'medianMs' ? color : colorOf('paper'), borderColor: color, borderWidth: 2 },
    lineStyle: { color, width, type: of === 'medianMs' ? 'solid' : [5, 4] },
    label: { position: 'right', color: colorOf('ink'), fontSize, distance: 6 },
    data: waits.map((wait, index) => {
      if (wait === null) return null;
      const value = wait[of] / unitMs;
      return index === last ? { value, label: { show: true, formatter: waitText(wait[of]) } } : value;
    }),
  });
  return {
    grid: { left: 44, right: 76, top: 30, bottom: 44 },
    xAxis: partsAxis(axis, chartWidth),
    yAxis: valueAxis({
      name: unitMs === hourMs ? 'hours' : 'days',
      nameTextStyle: { color: colorOf('quiet'), fontSize, align: 'right', padding: [0, 8, 0, 0] },
      nameGap: 12,
    }),
    series: [series('p90Ms', colorOf('ochre'), 2), series('medianMs', colorOf('blue'), 2.5)],
  };
}
