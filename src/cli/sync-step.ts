import { clockTime, spanText } from '../model/details-text.ts';
import type { SyncState } from '../model/sync.ts';
import type { Step } from './live-lines.ts';
import type { Paint } from './output.ts';

/** How a pass stands, for somebody who waits: pages, entries, waiting for the budget until when and behind whom. */
export function syncStep({ phase, progress, waiting }: SyncState, now: number, paint: Paint): Step {
  const counts = progress === null ? [] : [`${progress.pages} pages`, `${progress.entries.seen} entries`];
  if (waiting === null) {
    // A line in a log for each ten pages.
    const key = `${phase} ${Math.floor((progress?.pages ?? 0) / 10)}`;
    return { key, text: [paint.bold(phase), ...counts].join('  '), line: [phase, ...counts].join(', ') };
  }
  const { until, behind } = waiting;
  const after = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
  return {
    key: `${phase} ${until}`,
    text: [paint.yellow(phase), ...counts, `for another ${spanText(until - now)}${after}`].join('  '),
    line: [phase, ...counts, `until ${clockTime(until)}${after}`].join(', '),
  };
}
