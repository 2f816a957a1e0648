import type { PassQuestion, PlannedPass } from '../../../feedback/reading/plan-pass.ts';
import type { PlannedSlice } from '../../../feedback/rules/slice.ts';
import type { Surface } from '../../terminal/output.ts';
import { factLines, indent, tableLines, timeText } from '../../terminal/text.ts';

/** What `feedback sync --plan` prints as JSON. */
export function planDocument({ org, project, pass }: PassQuestion, planned: PlannedPass): object {
  const { bounds, reason, slices, expectedRequests, mostRequests } = planned;
  const { dateFrom, dateTo } = bounds;
  return { org, project, pass, dateFrom, dateTo, reason, expectedRequests, mostRequests, slices };
}

/** What `feedback sync --plan` prints for people. */
export function planText({ project, pass }: PassQuestion, planned: PlannedPass, { paint, columns }: Surface): string {
  const { bounds, reason, slices, expectedRequests, mostRequests } = planned;
  const facts: [string, string][] = [
    ['reads', reason],
    ['dates', bounds.reason],
    ['requests', expectedRequests === null ? 'unknown: nothing has been read yet' : `${expectedRequests}`],
  ];
  if (mostRequests !== null) facts.push(['at most', `${mostRequests}, including the ranges that look for changes`]);
  return `${paint.bold(`${pass} of ${project}`)}, nothing has been asked yet\n${indent(factLines(facts))}\n${indent(table(slices, columns - 2))}`;
}

function table(slices: readonly PlannedSlice[], columns: number): string {
  return tableLines(
    ['slice', 'from (UTC)', 'to (UTC)', 'only', 'requests'],
    slices.map(({ stage, dateFrom, dateTo, source, statuses, expectedPages }) => [
      stage,
      timeText(dateFrom),
      timeText(dateTo),
      [source, statuses?.join(', ')].filter((part) => part).join(' ') || '-',
      expectedPages === null ? '?' : String(expectedPages),
    ]),
    columns,
  );
}
