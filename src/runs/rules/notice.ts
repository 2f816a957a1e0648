import { visibleText } from '../../rules/visible-text.ts';

/** What docferry reports to people because they must act on it or want to know. */
export const noticeTypes = [
  'approval.wanted',
  'approval.expiring',
  'export.failed',
  'export.refused',
  'export.late',
  'rollout.failed',
  'rollout.taken-back',
  'site.rolled-back',
  'site.held',
  'pass.failed',
  'feedback.stale',
  'key.refused',
  'budget.starved',
  'webhook.gone',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** `begun` is sent once however often it repeats, and `ended` once after it; `happened` has no end. */
export const noticeStates = ['begun', 'ended', 'happened'] as const;
export type NoticeState = (typeof noticeStates)[number];

/** Short values that go with a notice: names, counts and times. */
export type NoticeFacts = Readonly<Record<string, string | number>>;

/** The data of an event that docferry reports. Bounded, and without personal data. */
export interface Notice {
  org: string;
  /** A domain, a project, `<project>/<pass>`, the name of a webhook, or the organization. */
  subject: string;
  state: NoticeState;
  /** ISO 8601: since when it holds; of what has ended, since when it held. */
  since: string;
  /** Why, in words; null where the type says it. */
  reason: string | null;
  /** The command that helps, or shows more; null where nothing is to be done. */
  command: string | null;
  facts: NoticeFacts;
}

/** What an activity has noticed. */
export interface Noticed {
  type: NoticeType;
  subject: string;
  state: NoticeState;
  reason?: string | null;
  facts?: NoticeFacts;
  /** ISO 8601: until when a person can act. */
  until?: string;
  /** What tells two occurrences apart: what a receiver's settings were. */
  mark?: string;
  /** True when another message says it: only its state is kept. */
  silent?: boolean;
}

/** Longest reason in a message, in characters. */
const longestReason = 300;

/** A reason on one line and bounded. */
export function noticeReason(text: string): string | null {
  const line = visibleText(text.replace(/\s+/g, ' ')).trim();
  if (line === '') return null;
  return line.length <= longestReason ? line : `${[...line].slice(0, longestReason - 1).join('')}…`;
}
