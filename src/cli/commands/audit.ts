import type { DeedRecords } from '../../feedback/audit/deed-records.ts';
import type { Deed, DeedAction } from '../../model/deed.ts';
import { detailText } from '../../model/own-deed.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { withFeedbackStore } from '../input/feedback-store-of.ts';
import { type HistoryFlags, historyFilter, moreText } from '../input/history-flags.ts';
import { matcherOf } from '../input/selection.ts';
import { printable, tableLines, timeText } from '../terminal/text.ts';

interface AuditFlags extends HistoryFlags {
  match?: string;
  org?: string;
  action?: DeedAction;
  who?: string;
}

/** Lists what people did by hand, from the store, newest first. */
export default async function showAudit(context: CommandContext, flags: AuditFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const found = await withFeedbackStore(config, (store) => matchingDeeds(store, flags));
  const more = found.length > flags.limit;
  const deeds = found.slice(0, flags.limit);
  const { columns } = context.output.surface;
  const text = deeds.length === 0 ? 'the audit has no such deed' : deedsTable(deeds, columns) + moreText(more);
  context.output.result({ deeds: deeds.map((deed) => ({ ...deed, detail: JSON.parse(deed.detail) })), more }, text);
  return exitCodes.done;
}

/** One more than the limit, if there are so many. */
async function matchingDeeds(store: DeedRecords, { match, org, action, who, ...flags }: AuditFlags): Promise<Deed[]> {
  const { limit, ...filter } = historyFilter(flags);
  const matches = matcherOf(match);
  const deeds: Deed[] = [];
  for await (const deed of store.listDeeds({ ...filter, org, action, who })) {
    if (matches(deed.org ?? '', deed.subject ?? deed.org ?? '')) deeds.push(deed);
    if (deeds.length === limit) break;
  }
  return deeds;
}

function deedsTable(deeds: readonly Deed[], columns: number): string {
  return tableLines(
    ['when (UTC)', 'who', 'did', 'to', 'why', 'with'],
    deeds.map(({ at, who, action, org, subject, reason, detail }) => [
      timeText(at),
      printable(who),
      action,
      subject ?? org ?? 'everything',
      printable(reason ?? '', 200),
      printable(detailText(detail)),
    ]),
    columns,
  );
}
