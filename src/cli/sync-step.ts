import { clockTime, forecastText, spanText } from '../model/details-text.ts';
import type { SyncState } from '../model/sync.ts';
import type { Step } from './live-lines.ts';
import type { Paint } from './output.ts';

/** How a pass stands, for somebody who waits: pages, entries, waiting for the budget until when and behind whom. */
export function syncStep({ phase, progress, waiting, forecast }: SyncState, now: number, paint: Paint): Step {
  const read = progress === null ? [] : [`${progress.pages} pages`, `${progress.entries.seen} entries`];
  const counts = [...read, ...(forecast === null ? [] : [`done ${forecastText(forecast)}`])];
  if (waiting === null) {
    // A line in a log for each ten pages.
    const key = `${phase} ${Math.floor((progress?.pages ?? 0) / 10)}`;
    return { key, text: [paint.bold(phase), ...counts].join('  '), line: [phase, ...counts].join(', ') };
  }
  const { until, behind, reason } = waiting;
  if (reason === 'unauthorized') {
    const why = `the API key is refused (401), tried again at ${clockTime(until)}`;
    return { key: `${phase} ${until}`, text: [paint.yellow(phase), ...read, why].join('  ') };
  }
  const after = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
  return {
    key: `${phase} ${until}`,
    text: [paint.yellow(phase), ...counts, `for another ${spanText(until - now)}${after}`].join('  '),
    line: [phase, ...counts, `until ${clockTime(until)}${after}`].join(', '),
  };
}
