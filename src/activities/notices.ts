import { createHash } from 'node:crypto';
import { log } from '@temporalio/activity';
import type { ExportRunRow } from '../feedback/store/run-records.ts';
import type { AuditEntry } from '../runs/rules/audit.ts';
import { exportNotices, helpfulCommand, type Notice, type Noticed } from '../runs/rules/notices.ts';
import type { WebhookEventType } from '../runs/rules/webhook-event.ts';
import { settingsMark, subscribedTo, type Webhook } from '../runs/webhooks.ts';
import { type ActivityDependencies, answerWithin, databaseAnswersWithinMs } from './dependencies.ts';

/**
 * Names of the organization's webhooks that receive such events: none if the organization is no longer configured, and
 * none whose receiver is gone. Never throws: while the database is down, all receivers count as present.
 */
export async function subscribers(deps: ActivityDependencies, org: string, type: WebhookEventType): Promise<string[]> {
  const { webhooks = [] } = deps.organizations.find((candidate) => candidate.id === org) ?? {};
  const names = subscribedTo(webhooks, type);
  if (names.length === 0) return [];
  try {
    const gone = await answerWithin(databaseAnswersWithinMs, goneWebhooks(deps, org));
    if (gone === null) return names;
    return names.filter((name) => !webhooks.some((webhook) => webhook.name === name && isGone(webhook, gone)));
  } catch (error) {
    log.warn('which webhooks are gone is not known', { org, failure: error instanceof Error ? error.name : 'unknown' });
    return names;
  }
}

/** The settings with which receivers answered that they are gone (410), by the webhook's name. */
export async function goneWebhooks(
  { notices }: ActivityDependencies,
  org: string,
): Promise<ReadonlyMap<string, string | null>> {
  const open = await notices.openNotices(org);
  return new Map(open.filter(({ type }) => type === 'webhook.gone').map(({ subject, mark }) => [subject, mark]));
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
  /** The same in every try of the step that noticed, and no other step's: the first step to notice sends. */
  by: string;
  at: Date;
}

/**
 * Sends notices of what people do not know yet. Safe to repeat: a repeat neither misses a message nor
 * sends it twice. Throws what the store and Temporal throw.
 */
export async function sendNotices(
  deps: ActivityDependencies,
  noticed: readonly Noticed[],
  who: Noticing,
): Promise<void> {
  for (const each of noticed) {
    const since = await sinceIfNew(deps, each, who);
    if (since !== null && !each.silent) await send(deps, each, who, since);
  }
}

/** Like `sendNotices`, for what must be sent even while the database is down: then perhaps twice. */
export async function sendNoticesAlways(deps: ActivityDependencies, noticed: Noticed, who: Noticing): Promise<void> {
  try {
    await sendNotices(deps, [noticed], who);
  } catch (error) {
    log.warn('sent a notice that people may know already', {
      failure: error instanceof Error ? error.name : 'unknown',
    });
    await send(deps, noticed, who, who.at.toISOString());
  }
}

/** Since when it holds; null when people know already. */
async function sinceIfNew(deps: ActivityDependencies, noticed: Noticed, { org, by, at }: Noticing) {
  const { type, subject, state, until = null, mark = null, again } = noticed;
  if (again !== undefined) return again;
  if (state === 'happened') return at.toISOString();
  const changed = await deps.notices.turnNotice({ org, type, subject, open: state === 'begun', by, at, until, mark });
  return changed?.since ?? null;
}

async function send(deps: ActivityDependencies, noticed: Noticed, who: Noticing, since: string): Promise<void> {
  const { type, subject, state, reason = null, facts = {} } = noticed;
  const { org, by, at } = who;
  const command = state === 'ended' ? null : helpfulCommand(type, subject, org);
  const data: Notice = { org, subject, state, since, reason, command, facts };
  const digest = createHash('sha256')
    .update(JSON.stringify([org, type, subject, state, by]))
    .digest('hex');
  const message = { org, messageId: `msg_${digest.slice(0, 32)}`, event: { type, timestamp: at.toISOString(), data } };
  // A webhook gets no notice about itself.
  const names = (await subscribers(deps, org, type)).filter((name) => type !== 'webhook.gone' || name !== subject);
  for (const webhook of names) await deps.deliver({ ...message, webhook });
}

/** Sends the notices of an export or rollback whose row is written. A row that comes late says nothing of the present. */
export async function sendExportNotices(deps: ActivityDependencies, row: ExportRunRow): Promise<void> {
  const { org, domain, runId, finishedAt } = row;
  const [newest] = await deps.runs.listExportRuns({ org, domain, limit: 1 });
  if (newest !== undefined && newest.runId !== runId) return;
  await sendNotices(deps, exportNotices(row), { org, by: `run ${runId}`, at: new Date(finishedAt) });
}

export const createRecordActivities = (deps: ActivityDependencies) => ({
  /** Leaves the run's row in the store, which outlives Temporal's retention (X4), and sends its notices. Safe to repeat. */
  async recordExportRun(row: ExportRunRow): Promise<void> {
    await deps.runs.recordExportRun(row);
    await sendExportNotices(deps, row);
  },

  /** Keeps what a person did (audit.md). Safe to repeat. */
  async recordAuditEntry(entry: AuditEntry): Promise<void> {
    await deps.auditEntries.recordAuditEntries([entry]);
  },
});
