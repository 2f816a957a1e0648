import { fontSize } from './draw-chart.ts';
import { type Html, shortened, visible } from './html.ts';
import { type ColorName, colorOf } from './palette.ts';
import type { Interval } from './wilson.ts';
import { type ChartWidth, drawAllWidths } from './frame.ts';

/** A named row of a chart: consecutive bars, or a point within its interval. */
export interface ChartRow {
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

/**
 * Rows from top to bottom; in a narrow chartWidth each name is above its marks. `greatest` is the end of the scale, `ticks`
 * are texts below its beginning, middle and end.
 */
export function rowsChart(
  label: string,
  rows: readonly ChartRow[],
  greatest: number,
  ticks: readonly string[] = [],
): Html {
  return drawAllWidths(label, (chartWidth) => {
    const wide = chartWidth.kind === 'wide';
    const rowHeight = wide ? 30 : 50;
    const bottom = 3 + rows.length * rowHeight;
    const height = bottom + (ticks.length > 0 ? 24 : 3);
    const left = wide ? nameWidth : 0;
    const scale = { left, width: wide ? chartWidth.width - left - noteWidth : chartWidth.width - 2, greatest };
    const tickShapes = ticks.map((tick, index) => {
      const at = scale.left + (scale.width * index) / (ticks.length - 1);
      return text(tick, at, bottom + 12, tickAligns[index] ?? 'right', { fill: colorOf('quiet') });
    });
    return {
      height,
      option: {
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
