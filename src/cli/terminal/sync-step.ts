import { waitText } from '../../budget/rules/budget-text.ts';
import { clockTime, forecastText, momentText, spanText } from '../../rules/details-text.ts';
import { counted } from '../../rules/quantities.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import type { Step } from './live-lines.ts';
import type { Paint } from './output.ts';

/** The progress of a pass: pages, entries, until when it waits for the budget and behind which others. */
export function syncStep({ phase, progress, waiting, forecast }: SyncState, now: number, paint: Paint): Step {
  const read =
    progress === null ? [] : [counted(progress.pages, 'page'), counted(progress.entries.seen, 'entry', 'entries')];
  const counts = [...read, ...(forecast === null ? [] : [`done ${forecastText(forecast, now)}`])];
  if (waiting === null) {
    // Ten pages to a line of a log.
    const key = `${phase} ${Math.floor((progress?.pages ?? 0) / 10)}`;
    return { key, text: [paint.bold(phase), ...counts].join('  '), line: [phase, ...counts].join(', ') };
  }
  const { until, behind, reason } = waiting;
  if (reason === 'unauthorized') {
    const why = `the API key is refused (401), next try at ${clockTime(until)}`;
    const text = [paint.yellow(phase), ...read, why].join('  ');
    return { key: `${phase} ${until}`, text, line: [phase, ...read, why].join(', ') };
  }
  if (reason === 'paused') {
    // When a person will resume it is unknown.
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
