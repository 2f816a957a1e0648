import { waitText } from '../../../model/budget/budget-text.ts';
import { clockTime, forecastText, momentText, spanText } from '../../../model/details-text.ts';
import { counted } from '../../../model/quantities.ts';
import type { SyncState } from '../../../model/sync/sync.ts';
import type { Step } from '../../terminal/live-lines.ts';
import type { Paint } from '../../terminal/output.ts';

/** How a pass stands, for somebody who waits: pages, entries, waiting for the budget until when and behind whom. */
export function syncStep({ phase, progress, waiting, forecast }: SyncState, now: number, paint: Paint): Step {
  const read =
    progress === null ? [] : [counted(progress.pages, 'page'), counted(progress.entries.seen, 'entry', 'entries')];
  const counts = [...read, ...(forecast === null ? [] : [`done ${forecastText(forecast, now)}`])];
  if (waiting === null) {
    // A line in a log for each ten pages.
    const key = `${phase} ${Math.floor((progress?.pages ?? 0) / 10)}`;
    return { key, text: [paint.bold(phase), ...counts].join('  '), line: [phase, ...counts].join(', ') };
  }
  const { until, behind, reason } = waiting;
  if (reason === 'unauthorized') {
    const why = `the API key is refused (401), tried again at ${clockTime(until)}`;
    const text = [paint.yellow(phase), ...read, why].join('  ');
    return { key: `${phase} ${until}`, text, line: [phase, ...read, why].join(', ') };
  }
  if (reason === 'paused') {
    // Nobody can tell when a person will resume.
    const facts = [...read, waitText.paused];
    const text = [paint.yellow(phase), ...facts].join('  ');
    return { key: `${phase} ${reason}`, text, line: [phase, ...facts].join(', ') };
  }
  const after = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
  return {
    key: `${phase} ${until}`,
    text: [paint.yellow(phase), ...counts, `for another ${spanText(until - now)}${after}`].join('  '),
    line: [phase, ...counts, `until ${momentText(until, now)}${after}`].join(', '),
  };
}
