import { spanText } from '../model/details-text.ts';
import type { SyncResult } from '../model/sync.ts';
import type { Paint } from './output.ts';
import { factLines, indent } from './text.ts';

/** The result of a pass for people. */
export function syncResultText(result: SyncResult, paint: Paint): string {
  const { pass, project, pages, requests, throttled, waitedMs, entries, watermark } = result;
  const { seen, inserted, updated, unchanged, rejected } = entries;
  const facts: [string, string][] = [
    ['entries', `${seen} seen: ${inserted} new, ${updated} changed, ${unchanged} unchanged`],
    ['requests', `${requests} for ${pages} pages${throttled > 0 ? `, ${throttled} refused with 429` : ''}`],
    ['waited', `${spanText(waitedMs)} for the budget`],
    ['watermark', watermark ?? 'none yet'],
  ];
  if (rejected > 0) facts.splice(1, 0, ['not understood', `${rejected}, kept in feedback_rejects with the reason`]);
  return `${paint.green('completed')} the ${pass} of ${project}\n${indent(factLines(facts))}`;
}
