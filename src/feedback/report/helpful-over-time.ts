import type { Votes } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { fontSize } from './draw-chart.ts';
import type { Html } from './html.ts';
import { colorOf } from './palette.ts';
import { wilsonInterval } from './wilson.ts';
import { percentText } from './words.ts';
import { type ChartWidth, drawAllWidths, partsAxis, valueAxis } from './frame.ts';

const line = { top: 18, height: 190 };
const strip = { top: 236, height: 44 };
const height = strip.top + strip.height + 44;

/** The share of helpful votes with its 95 % interval as a band, and the number of votes below. */
export function helpfulOverTime(label: string, axis: TimeAxis, votes: readonly Votes[]): Html {
  return drawAllWidths(label, (chartWidth) => ({ option: option(axis, votes, chartWidth), height }));
}

function option(axis: TimeAxis, votes: readonly Votes[], chartWidth: ChartWidth) {
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
