import type { Series, TimeAxis, Votes, Waits } from '../rules/report-figures.ts';
import {
  type ChartWidth,
  type ColorName,
  colorOf,
  drawAllWidths,
  fontSize,
  type Html,
  partsAxis,
  seriesColors,
  shortened,
  valueAxis,
  visible,
} from './figure.ts';
import { type Interval, percentText, waitText, wilsonInterval } from './report-words.ts';

const line = { top: 18, height: 190 };
const strip = { top: 236, height: 44 };
const helpfulHeight = strip.top + strip.height + 44;

/** The share of helpful votes with its 95 % interval as a band, and the number of votes below. */
export function helpfulOverTime(label: string, axis: TimeAxis, votes: readonly Votes[]): Html {
  return drawAllWidths(label, helpfulHeight, (chartWidth) => helpfulOption(axis, votes, chartWidth));
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

interface Shape {
  type: string;
  shape?: object;
  style: object;
  x?: number;
  y?: number;
}

/** Approximate width of a letter of the font. */
const letterWidth = 6.7;
const nameWidth = 268;
const noteWidth = 104;

type Align = 'left' | 'center' | 'right';
const tickAligns: readonly Align[] = ['left', 'center', 'right'];

/** Rows, on narrow charts below their names. `greatest` ends the scale; `ticks` stand at its start, middle and end. */
export function rowsChart(
  label: string,
  rows: readonly ChartRow[],
  greatest: number,
  ticks: readonly string[] = [],
): Html {
  const rowHeightOf = ({ kind }: ChartWidth) => (kind === 'wide' ? 30 : 50);
  const bottomOf = (chartWidth: ChartWidth) => 3 + rows.length * rowHeightOf(chartWidth);
  const heightOf = (chartWidth: ChartWidth) => bottomOf(chartWidth) + (ticks.length > 0 ? 24 : 3);
  return drawAllWidths(label, heightOf, (chartWidth) => {
    const wide = chartWidth.kind === 'wide';
    const [rowHeight, bottom] = [rowHeightOf(chartWidth), bottomOf(chartWidth)];
    const left = wide ? nameWidth : 0;
    const scale = { left, width: wide ? chartWidth.width - left - noteWidth : chartWidth.width - 2, greatest };
    const tickShapes = ticks.map((tick, index) => {
      const at = scale.left + (scale.width * index) / (ticks.length - 1);
      return text(tick, at, bottom + 12, tickAligns[index] ?? 'right', { fill: colorOf('quiet') });
    });
    return {
      grid: { left: 0, right: 0, top: 3, bottom: 3 },
      xAxis: { type: 'value', show: false, min: 0, max: greatest },
      yAxis: { type: 'category', show: false, inverse: true, data: rows.map((_, index) => index) },
      series: {
        type: 'custom',
        silent: true,
        data: rows.map((_, index) => [0, index]),
        renderItem: ({ dataIndex }: { dataIndex: number }) => ({
          type: 'group',
          children: [
            ...rowShapes(rows[dataIndex], 3 + dataIndex * rowHeight, rowHeight, scale, chartWidth),
            ...(dataIndex === 0 ? tickShapes : []),
          ],
        }),
      },
    };
  });
}

interface Scale {
  left: number;
  width: number;
  greatest: number;
}

function rowShapes(
  row: ChartRow | undefined,
  top: number,
  rowHeight: number,
  scale: Scale,
  chartWidth: ChartWidth,
): Shape[] {
  if (row === undefined) return [];
  const wide = chartWidth.kind === 'wide';
  const nameRoom = wide ? nameWidth - 14 : chartWidth.width - noteWidth;
  const name = shortened(visible(row.name), Math.floor(nameRoom / letterWidth));
  const middle = wide ? top + rowHeight / 2 : top + 32;
  const textY = wide ? middle : top + 11;
  const end = chartWidth.width - 2;
  return [
    text(name, 0, textY, 'left', { fill: colorOf('ink') }),
    text(row.note, end, textY, 'right', { fill: colorOf('quiet') }),
    ...marks(row, middle, scale),
  ];
}

function marks({ marks: drawn }: ChartRow, middle: number, { left, width, greatest }: Scale): Shape[] {
  const x = (value: number) => left + (greatest === 0 ? 0 : (value / greatest) * width);
  if (drawn.kind === 'bars') {
    let from = 0;
    return drawn.bars.flatMap(({ value, color }) => {
      const begin = x(from);
      from += value;
      const size = x(from) - begin;
      if (value === 0) return [];
      return [rectangle(begin, middle - 7, Math.max(1.5, size - 1), 14, colorOf(color))];
    });
  }
  const { at, within } = drawn;
  return [
    rectangle(left, middle - 0.5, width, 1, colorOf('rule')),
    { ...rectangle(x(within.low), middle - 4, x(within.high) - x(within.low), 8, colorOf('good'), 0.24) },
    { type: 'circle', shape: { cx: x(at), cy: middle, r: 5 }, style: { fill: colorOf('good') } },
  ];
}

function rectangle(x: number, y: number, width: number, height: number, fill: string, opacity = 1): Shape {
  return { type: 'rect', shape: { x, y, width, height }, style: { fill, opacity } };
}

function text(value: string, x: number, y: number, align: Align, style: object): Shape {
  return { type: 'text', x, y, style: { text: value, align, verticalAlign: 'middle', fontSize, ...style } };
}

const volumeHeight = 250;
/** Above, below and between the strips of a chart. */
const volumeEdges = { top: 12, bottom: 44, between: 22 };

/** Counts over time as stacked bars, the first kind at the bottom; each list of kinds has a strip of its own. */
export function volumeChart(label: string, axis: TimeAxis, ...strips: (readonly Series[])[]): Html {
  return drawAllWidths(label, volumeHeight, (chartWidth) => volumeOption(axis, strips, chartWidth));
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
  return drawAllWidths(label, waitsHeight, (chartWidth) => waitsOption(axis, waits, chartWidth));
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
