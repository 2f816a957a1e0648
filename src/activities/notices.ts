import { createHash } from 'node:crypto';
import { log } from '@temporalio/activity';
import type { EndDetail } from '../exports/rules/site-export.ts';
import type { ExportRunRow } from '../feedback/store/run-records.ts';
import type { AuditEntry } from '../runs/rules/audit.ts';
import { dueNotices, noticeOf } from '../runs/rules/due-notices.ts';
import { exportNotices, helpfulCommand, type Notice, type Noticed, type NoticeType } from '../runs/rules/notices.ts';
import type { WebhookEventType } from '../runs/rules/webhook-event.ts';
import { settingsMark, type Webhook } from '../runs/webhooks.ts';
import { type ActivityDependencies, answerWithin, databaseAnswersWithinMs } from './dependencies.ts';
import { nameOf } from './failures.ts';

/**
 * Names of the organization's webhooks that receive such events: none if the organization is no longer configured, and
 * none whose receiver is gone. Never throws: while the database is down, all receivers count as present.
 */
export async function subscribers(deps: ActivityDependencies, org: string, type: WebhookEventType): Promise<string[]> {
  const { webhooks = [] } = deps.organizations.find((candidate) => candidate.id === org) ?? {};
  const names = webhooks.filter(({ events }) => events.includes(type)).map(({ name }) => name);
  if (names.length === 0) return [];
  try {
    const gone = await answerWithin(databaseAnswersWithinMs, goneWebhooks(deps, org));
    if (gone === null) return names;
    return names.filter((name) => !webhooks.some((webhook) => webhook.name === name && isGone(webhook, gone)));
  } catch (error) {
    log.warn('which webhooks are gone is not known', { org, failure: nameOf(error) });
    return names;
  }
}

/** The settings with which receivers answered that they are gone (410), by the webhook's name. */
export async function goneWebhooks(
  { feedback }: ActivityDependencies,
  org: string,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await feedback.noticeRows(org);
  const gone = rows.filter(({ type, open }) => open && type === 'webhook.gone');
  return new Map(gone.map(({ subject, mark }) => [subject, mark]));
}

/** Whether the receiver is gone, with the settings the webhook has now. */
export function isGone(webhook: Webhook, gone: ReadonlyMap<string, string | null>): boolean {
  const mark = gone.get(webhook.name);
  return mark !== undefined && mark === markOf(webhook);
}

/** Null when address or secret cannot be read: then they are not those that were used. */
function markOf(webhook: Webhook): string | null {
  try {
    return settingsMark(webhook);
  } catch {
    return null;
  }
}

/** The step that noticed something, and when. */
interface Noticing {
  org: string;
  /** The same in every try of the step that noticed, and no other step's. */
  by: string;
  at: Date;
}

/** Records conditions that the watch tells people of (`sendDueNotices`); sends acts and reminders. Safe to repeat. */
export async function recordNotices(
  deps: ActivityDependencies,
  noticed: readonly Noticed[],
  who: Noticing,
): Promise<void> {
  for (const { again, ...turn } of noticed) {
    if (again === undefined && turn.state !== 'happened') await deps.feedback.turnNotice({ ...turn, ...who });
    else await sendAlone(deps, turn, who, again);
  }
}

/** Like `recordNotices`, for what must be told even while the database is down: then at once, and perhaps twice. */
export async function recordNoticesAlways(deps: ActivityDependencies, noticed: Noticed, who: Noticing): Promise<void> {
  try {
    await recordNotices(deps, [noticed], who);
  } catch (error) {
    log.warn('sent a notice that people may know already', {
      failure: nameOf(error),
    });
    await sendAlone(deps, noticed, who);
  }
}

async function sendAlone(deps: ActivityDependencies, noticed: Noticed, { org, by, at }: Noticing, since?: string) {
  const { type, subject, state, reason = null, facts = {} } = noticed;
  const command = helpfulCommand(type, subject, org);
  const notice = { org, subject, state, since: since ?? at.toISOString(), reason, command, facts };
  await send(deps, { type, timestamp: at.toISOString(), data: notice }, [subject, state, by]);
}

/** Tells people what they do not know yet. Interrupted, it sends the same messages again. */
export async function sendDueNotices(deps: ActivityDependencies, org: string, at: Date): Promise<void> {
  const { groups, known } = dueNotices(await deps.feedback.noticeRows(org), at.getTime());
  for (const [first, ...more] of groups) {
    if (first === undefined) continue;
    const data = noticeOf(org, [first, ...more]);
    const about = [first, ...more].flatMap(({ subject, open, changedAt }) => [subject, String(open), changedAt]);
    await send(deps, { type: first.type, timestamp: at.toISOString(), data }, about);
    await deps.feedback.markTold(org, [first, ...more], at);
  }
  await deps.feedback.markTold(org, known, at);
}

/** The same for the same facts: a message that is sent again is recognized. */
export function messageIdOf(about: readonly unknown[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32)}`;
}

async function send(
  deps: ActivityDependencies,
  event: { type: NoticeType; timestamp: string; data: Notice },
  about: readonly string[],
): Promise<void> {
  const { org, subject } = event.data;
  const message = { org, messageId: messageIdOf([org, event.type, ...about]), event };
  // A webhook gets no notice about itself.
  const names = (await subscribers(deps, org, event.type)).filter(
    (name) => event.type !== 'webhook.gone' || name !== subject,
  );
  for (const webhook of names) await deps.deliver({ ...message, webhook });
}

/** Records the notices of an export or rollback whose row is written. A row that comes late says nothing of the present. */
export async function recordExportNotices(deps: ActivityDependencies, row: ExportRunRow): Promise<void> {
  const { org, domain, runId, finishedAt } = row;
  const [newest] = await deps.feedback.listExportRuns({ org, domain, limit: 1 });
  if (newest !== undefined && newest.runId !== runId) return;
  await recordNotices(deps, exportNotices(row), { org, by: `run ${runId}`, at: new Date(finishedAt) });
}

/** `directory` of `directory:./site`: names differ from site to site. */
export const kindOfTarget = (target: string): string => target.split(':', 1)[0] ?? '';

/** Counts a run that has ended; once more if its row is written again. */
function countRun({ metrics }: ActivityDependencies, { org, outcome, polls, jobMs, detail }: ExportRunRow): void {
  const { rollouts = [] } = JSON.parse(detail) as EndDetail;
  for (const { target, outcome } of rollouts) {
    metrics.add('docferry_rollouts_total', { org, target: kindOfTarget(target), outcome });
  }
  metrics.add('docferry_exports_total', { org, outcome });
  metrics.add('docferry_export_polls_total', { org }, polls);
  if (jobMs !== null) metrics.observe('docferry_export_job_seconds', { org }, jobMs / 1_000);
}

export const createRecordActivities = (deps: ActivityDependencies) => ({
  /** Leaves the run's row in the store, which outlives Temporal's retention (X4), and records its notices. Safe to repeat. */
  async recordExportRun(row: ExportRunRow): Promise<void> {
    await deps.feedback.recordExportRun(row);
    await recordExportNotices(deps, row);
    countRun(deps, row);
  },

  /** Keeps what a person did (audit.md). Safe to repeat. */
  async recordAuditEntry(entry: AuditEntry): Promise<void> {
    await deps.feedback.recordAuditEntries([entry]);
  },
});
