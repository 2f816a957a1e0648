import { spanText } from '../model/details-text.ts';
import type { SyncResult } from '../model/sync.ts';
import type { Paint } from './output.ts';
import { factLines, indent } from './text.ts';

/** The result of a pass for people. */
export function syncResultText(result: SyncResult, paint: Paint): string {
  const { pass, project, pages, requests, throttled, waitedMs, entries, watermark, verifiedUpTo } = result;
  const { seen, inserted, updated, unchanged, rejected, tombstoned } = entries;
  const facts: [string, string][] = [
    ['entries', `${seen} seen: ${inserted} new, ${updated} changed, ${unchanged} unchanged`],
    ['requests', `${requests} for ${pages} pages${throttled > 0 ? `, ${throttled} refused with 429` : ''}`],
    ['waited', `${spanText(waitedMs)} for the budget`],
    ['watermark', watermark ?? 'none yet'],
    ['proved', verifiedUpTo === null ? 'not all of it yet' : `everything as of ${verifiedUpTo}`],
  ];
  if (tombstoned > 0) facts.splice(1, 0, ['gone', `${tombstoned}, kept with deleted_at`]);
  if (rejected > 0) facts.splice(1, 0, ['not understood', `${rejected}, kept in feedback_rejects with the reason`]);
  return `${paint.green('completed')} the ${pass} of ${project}\n${indent(factLines(facts))}`;
}
