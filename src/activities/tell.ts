import { createHash } from 'node:crypto';
import { log } from '@temporalio/activity';
import { helpfulCommand } from '../runs/rules/helpful-command.ts';
import type { Notice, Noticed } from '../runs/rules/notice.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { subscribers } from './subscribers.ts';

/** The step that noticed something, and when. */
export interface Noticing {
  org: string;
  /** The same in every try of the step that noticed, and no other step's: the first to notice tells. */
  by: string;
  at: Date;
}

/**
 * Sends people what was noticed, unless they have been told. Safe to repeat: a repeat neither misses a message nor
 * sends it twice. Throws what the store and Temporal throw.
 */
export async function tell(deps: ActivityDependencies, noticed: readonly Noticed[], who: Noticing): Promise<void> {
  for (const each of noticed) {
    const since = await sinceIfNew(deps, each, who);
    if (since !== null && !each.silent) await send(deps, each, who, since);
  }
}

/** Like `tell`, for what must be sent even while the database is down: then perhaps twice. */
export async function tellAnyway(deps: ActivityDependencies, noticed: Noticed, who: Noticing): Promise<void> {
  try {
    await tell(deps, [noticed], who);
  } catch (error) {
    log.warn('told without knowing whether people know', { failure: error instanceof Error ? error.name : 'unknown' });
    await send(deps, noticed, who, who.at.toISOString());
  }
}

/** Since when it holds; null when people know already. */
async function sinceIfNew(deps: ActivityDependencies, noticed: Noticed, { org, by, at }: Noticing) {
  const { type, subject, state, until = null, mark = null } = noticed;
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
  // A webhook is not told of itself.
  const names = (await subscribers(deps, org, type)).filter((name) => type !== 'webhook.gone' || name !== subject);
  for (const webhook of names) await deps.deliver({ ...message, webhook });
}
