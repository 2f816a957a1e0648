import type { DeedRecords } from '../../feedback/store/audit-records.ts';
import type { Deed, DeedAction } from '../../runs/rules/audit.ts';
import { detailText } from '../../runs/rules/own-audit-entries.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { type HistoryFlags, historyFilter } from '../flags.ts';
import { matcherOf } from '../selection.ts';
import { withFeedbackStore } from '../stores.ts';
import { historyList, printable, timeText } from '../terminal/text.ts';

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
  const { rows, more, text } = historyList(found, {
    limit: flags.limit,
    columns: context.output.surface.columns,
    none: 'the audit has no such deed',
    headings: ['when (UTC)', 'who', 'did', 'to', 'why', 'with'],
    cells: deedCells,
  });
  context.output.result({ deeds: rows.map((deed) => ({ ...deed, detail: JSON.parse(deed.detail) })), more }, text);
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

function deedCells({ at, who, action, org, subject, reason, detail }: Deed): string[] {
  const to = subject ?? org ?? 'everything';
  return [timeText(at), printable(who), action, to, printable(reason ?? '', 200), printable(detailText(detail))];
}
