import { Option } from 'commander';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import { type AuditAction, type AuditEntry, auditActions, auditDetail } from '../../runs/rules/audit.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { type HistoryFlags, historyFilter, listLimit, matcherOf, moment } from '../flags.ts';
import { withFeedbackStore } from '../operator.ts';
import { historyList, printable, timeText } from '../terminal/text.ts';

export default {
  audit: (command, run) =>
    command
      .option(
        '--since <when>',
        'only what was done from this ISO 8601 date or date-time on, or within e.g. 7d',
        moment('--since'),
      )
      .option('--match <glob>', "only what was done to these, e.g. 'docs*.acme.example', 'acme/*' or 'acme'")
      .option('--org <org>', 'only what was done to this organization')
      .addOption(new Option('--action <action>', 'only audit entries of this kind').choices(auditActions))
      .option('--who <name>', 'only what was done by a name that contains this')
      .option('--limit <n>', 'how many of the newest to show', listLimit, 100)
      .addHelpText(
        'after',
        '\nThe name is what the actor gave; docferry does not check it. An actor without a name is' +
          '\n“Temporal UI or other client”.',
      )
      .action(run(showAudit)),
} satisfies CommandFile;

interface AuditFlags extends HistoryFlags {
  match?: string;
  org?: string;
  action?: AuditAction;
  who?: string;
}

/** Lists what people did by hand, from the store, newest first. */
async function showAudit(context: CommandContext, flags: AuditFlags): Promise<void> {
  const config = await loadContextConfig(context);
  const found = await withFeedbackStore(config, (store) => matchingAuditEntries(store, flags));
  const { rows, more, text } = historyList(found, {
    flags,
    columns: context.output.surface.columns,
    what: 'audit entries',
    headings: ['when (UTC)', 'who', 'did', 'to', 'why', 'with'],
    cells: auditCells,
  });
  context.output.result(
    { auditEntries: rows.map((entry) => ({ ...entry, detail: JSON.parse(entry.detail) })), more },
    text,
  );
}

/** One more than the limit, if there are more. */
async function matchingAuditEntries(
  store: FeedbackStore,
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
  return [timeText(at), printable(who), action, to, printable(reason ?? '', 200), printable(auditDetail(detail))];
}
