import { counted, countText } from '../../rules/quantities.ts';
import type { ReportFigures } from '../rules/report-figures.ts';
import { waitsChart } from './waits-chart.ts';
import { figure } from './figure.ts';
import type { Html } from './html.ts';
import { byUnit, partText, waitText } from './words.ts';
import { section } from './section.ts';

/** How long entries stay open. */
export function waitsSection({ waits, waitsOver, axis }: ReportFigures, id: string): Html {
  const title = 'Time to close';
  if (waits === null || axis === null) {
    return section({
      id: `${id}-waits`,
      title,
      intro:
        'No sync has seen an entry change to closed yet. Reviews and sweeps record every change of status; this section then shows how long entries stay open.',
      body: [],
    });
  }
  const label = `Line chart of the median and 90th percentile of the time to close, overall ${waitText(waits.medianMs)} and ${waitText(waits.p90Ms)}`;
  return section({
    id: `${id}-waits`,
    title,
    intro: `Of ${counted(waits.closed, 'entry', 'entries')} that were resolved or dismissed, half were closed within ${waitText(waits.medianMs)} and 90${'\u202F'}% within ${waitText(waits.p90Ms)}. A change is dated by the sync that first saw it.`,
    body: [
      figure({
        id: `${id}-waits-time`,
        title: `Time from creation to closing, ${byUnit(axis)} of closing`,
        legend: [
          { name: 'median', color: 'blue' },
          { name: '90th percentile', color: 'ochre' },
        ],
        chart: waitsChart(label, axis, waitsOver),
        table: {
          columns: [axis.unit, 'closed', 'median', '90th percentile'],
          rows: waitsOver.map((wait, index) =>
            wait === null
              ? [partText(axis, index), '0', '–', '–']
              : [partText(axis, index), countText(wait.closed), waitText(wait.medianMs), waitText(wait.p90Ms)],
          ),
        },
      }),
    ],
  });
}
