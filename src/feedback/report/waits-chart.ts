import type { Waits } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { fontSize } from './draw-chart.ts';
import type { Html } from './html.ts';
import { colorOf } from './palette.ts';
import { waitText } from './words.ts';
import { type ChartWidth, drawAllWidths, partsAxis, valueAxis } from './frame.ts';

const height = 250;
const hourMs = 3_600_000;

/** Median and 90th percentile of the time to close, by the time of closing. */
export function waitsChart(label: string, axis: TimeAxis, waits: readonly (Waits | null)[]): Html {
  return drawAllWidths(label, (chartWidth) => ({ option: option(axis, waits, chartWidth), height }));
}

function option(axis: TimeAxis, waits: readonly (Waits | null)[], chartWidth: ChartWidth) {
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
