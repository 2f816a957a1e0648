import type { NoticeType } from './notice.ts';

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
  /** True when another message says it: only its state is kept. */
  silent?: boolean;
}

/** Longest reason in a message, in characters. */
const longestReason = 300;

/** A reason on one line and bounded. */
export function noticeReason(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  if (line === '') return null;
  return line.length <= longestReason ? line : `${[...line].slice(0, longestReason - 1).join('')}…`;
}

/** The command that helps with a notice. */
export function helpfulCommand(type: NoticeType, subject: string, org: string): string {
  const [project = ''] = subject.split('/');
  const commands: Record<NoticeType, string> = {
    'approval.wanted': `docferry export approve ${subject}`,
    'approval.expiring': `docferry export approve ${subject}`,
    'export.failed': `docferry export status ${subject}`,
    'export.refused': `docferry export status ${subject}`,
    'export.late': `docferry export start ${subject} --wait`,
    'rollout.failed': `docferry export start ${subject} --wait`,
    'site.rolled-back': `docferry export release ${subject}`,
    'site.held': `docferry export release ${subject}`,
    'pass.failed': `docferry feedback status ${project}`,
    'feedback.stale': `docferry feedback status ${subject}`,
    'key.refused': 'docferry doctor',
    'budget.starved': `docferry budget show ${org}`,
    'webhook.gone': 'docferry doctor',
  };
  return commands[type];
}
