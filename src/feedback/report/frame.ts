import type { TimeAxis } from '../rules/time-axis.ts';
import { type ChartSize, drawChart, fontSize } from './draw-chart.ts';
import { type Html, html } from './html.ts';
import { colorOf } from './palette.ts';
import { axisLabels } from './words.ts';

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
  chart: (chartWidth: ChartWidth) => { option: Parameters<typeof drawChart>[0]; height: number },
): Html {
  const drawings = widths.map((chartWidth) => {
    const { option, height } = chart(chartWidth);
    const size: ChartSize = { width: chartWidth.width, height };
    return drawChart(option, size, html`class="${chartWidth.kind}" role="img" aria-label="${label}"`);
  });
  return html`${drawings}`;
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
