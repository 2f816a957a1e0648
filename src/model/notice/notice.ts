/** What people are told because they must act on it or want to know. */
export const noticeTypes = [
  'approval.wanted',
  'approval.expiring',
  'export.failed',
  'export.refused',
  'export.late',
  'rollout.failed',
  'site.rolled-back',
  'site.held',
  'pass.failed',
  'feedback.stale',
  'key.refused',
  'budget.starved',
  'webhook.gone',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** `begun` is told once however often it repeats, and `ended` once after it; `happened` has no end. */
export type NoticeState = 'begun' | 'ended' | 'happened';

/** Short values that go with a notice: names, counts and times. */
export type NoticeFacts = Readonly<Record<string, string | number>>;

/** The data of an event that people are told of. Bounded, and nothing personal is in it. */
export interface Notice {
  org: string;
  /** A domain, a project, `<project>/<pass>`, the name of a webhook, or the organization. */
  subject: string;
  state: NoticeState;
  /** ISO 8601: since when it holds; of what has ended, since when it held. */
  since: string;
  /** Why, in words; null where the type says it. */
  reason: string | null;
