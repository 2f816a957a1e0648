import type { Series } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import type { Html } from './html.ts';
import { colorOf, seriesColors } from './palette.ts';
import { type ChartWidth, drawAllWidths, partsAxis, valueAxis } from './frame.ts';

const height = 250;

/** Entries over time as stacked bars, the most frequent kind at the bottom. */
export function volumeChart(label: string, axis: TimeAxis, series: readonly Series[]): Html {
  return drawAllWidths(label, (chartWidth) => ({ option: option(axis, series, chartWidth), height }));
}

function option(axis: TimeAxis, series: readonly Series[], chartWidth: ChartWidth) {
  const colors = seriesColors(series.map(({ name }) => name));
  return {
    grid: { left: 44, right: 8, top: 12, bottom: 44 },
    xAxis: partsAxis(axis, chartWidth),
    yAxis: valueAxis({ minInterval: 1 }),
    series: series.map(({ over }, index) => ({
      type: 'bar',
      silent: true,
      stack: 'all',
      barCategoryGap: '22%',
      barMaxWidth: 40,
      // A paper-coloured line separates neighbours even without colours.
      itemStyle: { color: colorOf(colors[index] ?? 'stone'), borderColor: colorOf('paper'), borderWidth: 1 },
      data: over.map((entries) => (entries === 0 ? null : entries)),
    })),
  };
}
