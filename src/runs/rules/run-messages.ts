/** Shapes of who acted, and of the inputs of the workflows that record, report and deliver (X5). */

import { z } from 'zod/mini';
import { longestReason } from '../../exports/rules/site-export.ts';
import { count, expectation, instant, jsonText, own, reader, text, textLike, writing } from '../../rules/messages.ts';
import { type Actor, type AuditEntry, actorName, longestName } from './audit.ts';
import { type LastLook, noticeStates, noticeTypes, type WatchInput } from './notices.ts';
import type { WebhookDelivery, WebhookEvent } from './webhook-event.ts';

const boundedReason = writing().check(
  z.trim(),
  z.maxLength(longestReason, `a reason of at most ${longestReason} characters`),
);

/** Accepts that nothing is said; a blank reason counts as none. */
export const readActor = reader<Actor>(
  z.strictObject({
    who: z.exactOptional(textLike(actorName, `a name of 1 to ${longestName} characters`)),
    reason: z.exactOptional(
      z.pipe(
        z.nullable(boundedReason),
        z.transform((reason) => reason || null),
      ),
    ),
  }),
);

/** Input of `recordAuditEntry`. A newer version may have other actions. */
export const readAuditEntry = reader<Omit<AuditEntry, 'action'> & { action: string }>(
  z.object({
    entryId: writing(),
    at: instant(),
    action: text(),
    org: z.nullable(text()),
    subject: z.nullable(writing()),
    who: writing(),
    reason: z.nullable(writing()),
    detail: jsonText(),
    workflowId: z.nullable(writing()),
  }),
);

export const readWatchInput = reader<WatchInput>(z.object({ org: text(), failover: own<WatchInput['failover']>() }));

const look = z.object({ since: count(), absent: z.array(z.enum(noticeTypes)), at: z.nullable(count()) });

/** The result of the look before; null for anything else, as at the first look. */
export const readLastLook = (result: unknown): LastLook | null => z.safeParse(look, result).data ?? null;

/** What docferry shows of each kind of event: receivers get the event as it is, that of a newer version too. */
const maybe = z.nullable(writing());

const passShape = z.object({
  org: text(),
  project: text(),
  pass: text(),
  outcome: text(),
  pages: count(),
  entries: z.object({ seen: count(), inserted: count(), updated: count() }),
  workflowId: text(),
});
const refreshShape = z.object({
  org: text(),
  projects: z.array(z.object({ project: text(), inserted: count(), updated: count(), tombstoned: count() })),
  others: count(),
  workflowId: text(),
});
const exportShape = z.object({
  org: text(),
  domain: text(),
  outcome: text(),
  version: maybe,
  url: maybe,
  held: maybe,
  workflowId: text(),
});

const noticeShape = z.object({
  org: text(),
  subject: writing(),
  state: z.enum(noticeStates),
  since: instant(),
  reason: maybe,
  command: maybe,
  facts: z.object({}),
});

const entriesShape = z.object({ org: text(), project: text(), after: count(), upTo: count() });
const digestShape = z.object({ org: text(), from: instant(), to: instant() });

const shapes = {
  'feedback.entries': entriesShape,
  digest: digestShape,
  'feedback.pass.finished': passShape,
  'feedback.refreshed': refreshShape,
  'export.finished': exportShape,
};

const eventShape = z
  .looseObject({ type: text(), timestamp: instant(), data: z.looseObject({}) })
  .check(({ value: { type, data }, issues }) => {
    const { error } = z.safeParse(shapes[type as keyof typeof shapes] ?? noticeShape, data, { error: expectation });
    const [issue] = error?.issues ?? [];
    if (!issue) return;
    issues.push({ code: 'custom', message: issue.message, path: ['data', ...issue.path], input: data });
  });

export const readDelivery = reader<WebhookDelivery>(
  z.object({
    org: text(),
    webhook: text(),
    messageId: text(),
    event: eventShape as unknown as z.ZodMiniType<WebhookEvent>,
  }),
);
