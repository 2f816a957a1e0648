import { counted, countText } from '../../rules/quantities.ts';
import type { ReportFigures, Series } from '../rules/report-figures.ts';
import { isCutShort, type TimeAxis } from '../rules/time-axis.ts';
import { volumeChart } from './volume-chart.ts';
import { figure, type LegendEntry } from './figure.ts';
import { type Html, visible } from './html.ts';
import { seriesColors } from './palette.ts';
import { byUnit, dayText, nameText, partText, percentText } from './words.ts';
import { section } from './section.ts';

/** Entries by source and by status. */
export function volumeSection(figures: ReportFigures, id: string): Html | null {
  const { axis, entries, sources, open } = figures;
  if (axis === null) return null;
  const [first] = sources;
  const share = first === undefined ? '' : percentText(first.entries / entries);
  const most = first === undefined ? '' : `Most of it, ${share}, is ${visible(nameText(first.name))}. `;
  const waiting = `In total, ${counted(open.entries, 'entry', 'entries')} ${open.entries === 1 ? 'is' : 'are'} still open.`;
  return section({
    id: `${id}-volume`,
    title: 'Incoming feedback',
    intro: `${most}${waiting}`,
    body: [
      volume(`${id}-sources`, `Entries ${byUnit(axis)} and source`, axis, entries, figures.sources),
      volume(`${id}-statuses`, `The same entries, by status`, axis, entries, figures.statuses, noteOn(figures, axis)),
    ],
  });
}

function volume(
  id: string,
  title: string,
  axis: TimeAxis,
  entries: number,
  series: readonly Series[],
  note: string | null = null,
): Html {
  const names = series.map(({ name }) => visible(nameText(name)));
  const colors = seriesColors(series.map(({ name }) => name));
  const legend = series.map(
    (one, index): LegendEntry => ({
      name: names[index] ?? '',
      color: colors[index] ?? 'stone',
      detail: `${countText(one.entries)} · ${percentText(one.entries / entries)}`,
    }),
  );
  return figure({
    id,
    title,
    legend,
    chart: volumeChart(`Stacked bars of entries ${byUnit(axis)}: ${names.join(', ')}`, axis, series),
    note,
    table: {
      columns: [axis.unit, ...names, 'all'],
      rows: axis.starts.map((_, part) => {
        const counts = series.map(({ over }) => over[part] ?? 0);
        return [partText(axis, part), ...counts.map(countText), countText(counts.reduce((a, b) => a + b, 0))];
      }),
    },
  });
}

function noteOn({ outsideAxis, undated }: ReportFigures, axis: TimeAxis): string | null {
  const notes = [
    isCutShort(axis) ? `The last ${axis.unit} is incomplete.` : '',
    outsideAxis > 0
      ? `${counted(outsideAxis, 'entry', 'entries')} before ${dayText(axis.starts[0] ?? axis.end)} or in the future: in the totals, not in the bars.`
      : '',
    undated > 0
      ? `${counted(undated, 'entry', 'entries')} without a readable date: in the totals, not in the bars.`
      : '',
  ].filter((text) => text !== '');
  return notes.length === 0 ? null : notes.join(' ');
}
