import type { AuditRecords } from '../../feedback/store/audit-records.ts';
import type { AuditAction, AuditEntry } from '../../runs/rules/audit.ts';
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
  action?: AuditAction;
  who?: string;
}

/** Lists what people did by hand, from the store, newest first. */
export default async function showAudit(context: CommandContext, flags: AuditFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const found = await withFeedbackStore(config, (store) => matchingAuditEntries(store, flags));
  const { rows, more, text } = historyList(found, {
    limit: flags.limit,
    columns: context.output.surface.columns,
    none: 'the audit has no such audit entry',
    headings: ['when (UTC)', 'who', 'did', 'to', 'why', 'with'],
    cells: auditCells,
  });
  context.output.result(
    { auditEntries: rows.map((entry) => ({ ...entry, detail: JSON.parse(entry.detail) })), more },
    text,
  );
  return exitCodes.done;
}

/** One more than the limit, if there are so many. */
async function matchingAuditEntries(
  store: AuditRecords,
  { match, org, action, who, ...flags }: AuditFlags,
): Promise<AuditEntry[]> {
  const { limit, ...filter } = historyFilter(flags);
  const matches = matcherOf(match);
  const auditEntries: AuditEntry[] = [];
  for await (const entry of store.listAuditEntries({ ...filter, org, action, who })) {
    if (matches(entry.org ?? '', entry.subject ?? entry.org ?? '')) auditEntries.push(entry);
    if (auditEntries.length === limit) break;
  }
  return auditEntries;
}

function auditCells({ at, who, action, org, subject, reason, detail }: AuditEntry): string[] {
  const to = subject ?? org ?? 'everything';
  return [timeText(at), printable(who), action, to, printable(reason ?? '', 200), printable(detailText(detail))];
}
