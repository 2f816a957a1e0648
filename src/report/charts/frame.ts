import type { TimeAxis } from '../../model/report/time-axis.ts';
import { type ChartSize, drawChart, fontSize } from '../draw-chart.ts';
import { type Html, html } from '../html.ts';
import { colorOf } from '../palette.ts';
import { axisLabels } from '../words.ts';

/** Every chart is drawn for wide and narrow screens: text must stay readable on a phone. */
export interface Room {
  kind: 'wide' | 'narrow';
  width: number;
  /** Labels of an axis that fit side by side. */
  mostLabels: number;
}

const rooms: readonly Room[] = [
  { kind: 'wide', width: 760, mostLabels: 14 },
  { kind: 'narrow', width: 336, mostLabels: 6 },
];

/** The drawings of a chart for all rooms; `label` describes them in words. */
export function drawForAllRooms(
  label: string,
  chart: (room: Room) => { option: Parameters<typeof drawChart>[0]; height: number },
): Html {
  const drawings = rooms.map((room) => {
    const { option, height } = chart(room);
    const size: ChartSize = { width: room.width, height };
    return drawChart(option, size, html`class="${room.kind}" role="img" aria-label="${label}"`);
  });
  return html`${drawings}`;
}

export function partsAxis(axis: TimeAxis, room: Room, more: object = {}) {
  return {
    type: 'category',
    data: axisLabels(axis, room.mostLabels),
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
