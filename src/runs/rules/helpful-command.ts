import type { NoticeType } from './notice.ts';

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
    'rollout.taken-back': `docferry export start ${subject} --wait`,
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
