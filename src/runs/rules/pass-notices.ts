import { type Noticed, noticeReason } from './notice.ts';

/** The notices about a pass that has ended: each kind of pass fails and recovers separately. */
export function passNotices(pass: { project: string; pass: string; outcome: string; error: string | null }): Noticed[] {
  const about = { type: 'pass.failed', subject: `${pass.project}/${pass.pass}` } as const;
  if (pass.outcome === 'completed') return [{ ...about, state: 'ended' }];
  if (pass.outcome === 'failed') return [{ ...about, state: 'begun', reason: noticeReason(pass.error ?? '') }];
  return [];
}
