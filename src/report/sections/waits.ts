import { counted, countText } from '../../model/quantities.ts';
import type { ReportFigures } from '../../model/report/report-figures.ts';
import { waitsChart } from '../charts/waits-chart.ts';
import { figure } from '../figure.ts';
import type { Html } from '../html.ts';
import { byUnit, partText, waitText } from '../words.ts';
import { section } from './section.ts';

/** How long entries wait until somebody closes them. */
export function waitsSection({ waits, waitsOver, axis }: ReportFigures, id: string): Html {
  const title = 'How long it takes';
  if (waits === null || axis === null) {
    return section({
      id: `${id}-waits`,
      title,
      intro:
        'No sync has seen an entry being closed yet. Reviews and sweeps note every change of status; from then on this shows how long readers wait.',
      body: [],
    });
  }
  const label = `Line chart of the median and 90th percentile of days until closed, over all ${waitText(waits.medianMs)} and ${waitText(waits.p90Ms)}`;
  return section({
    id: `${id}-waits`,
    title,
    intro: `Half of the ${counted(waits.closed, 'entry', 'entries')} that were seen to be resolved or dismissed were so within ${waitText(waits.medianMs)}, nine in ten within ${waitText(waits.p90Ms)}. A change counts from the sync that saw it.`,
    body: [
      figure({
        id: `${id}-waits-time`,
        title: `Time from an entry to its closing, ${byUnit(axis)} of closing`,
        legend: [
          { name: 'half within (median)', color: 'blue' },
          { name: 'nine in ten within', color: 'ochre' },
        ],
        chart: waitsChart(label, axis, waitsOver),
        table: {
          columns: [axis.unit, 'closed', 'half within', 'nine in ten within'],
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
