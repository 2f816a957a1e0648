import { spanText } from '../../../rules/details-text.ts';
import { counted, countText } from '../../../rules/quantities.ts';
import type { SyncResult } from '../../../feedback/rules/sync.ts';
import type { Paint } from '../../terminal/output.ts';
import { factLines, indent, utcText } from '../../terminal/text.ts';

/** The result of a pass for people. */
export function syncResultText(result: SyncResult, paint: Paint): string {
  const { pass, project, pages, requests, throttled, waitedMs, entries, watermark, verifiedUpTo } = result;
  const { seen, inserted, updated, unchanged, rejected, tombstoned } = entries;
  const facts: [string, string][] = [
    [
      'entries',
      `${countText(seen)} seen: ${countText(inserted)} new, ${countText(updated)} changed, ${countText(unchanged)} unchanged`,
    ],
    [
      'requests',
      `${countText(requests)} for ${counted(pages, 'page')}${throttled > 0 ? `, ${countText(throttled)} refused with 429` : ''}`,
    ],
    ['waited', `${spanText(waitedMs)} for the budget`],
    ['watermark', watermark === null ? 'none yet' : utcText(watermark)],
    ['complete', verifiedUpTo === null ? 'not yet' : `as of ${utcText(verifiedUpTo)}`],
  ];
  if (tombstoned > 0) facts.splice(1, 0, ['deleted', `${countText(tombstoned)}, kept with deleted_at`]);
  if (rejected > 0)
    facts.splice(1, 0, ['not understood', `${countText(rejected)}, kept in feedback_rejects with the reason`]);
  return `${paint.green('completed')} the ${pass} of ${project}\n${indent(factLines(facts))}`;
}
