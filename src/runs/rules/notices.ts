import { type EndDetail, failedTargets, type RunOutcome, whyEnded } from '../../exports/rules/site-export.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { visibleText } from '../../rules/text.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';

/** What docferry reports to people because they must act on it or want to know. */
export const noticeTypes = [
  'approval.wanted',
  'approval.expiring',
  'export.failed',
  'export.refused',
  'export.late',
  'rollout.failed',
  'rollout.drifted',
  'site.rolled-back',
  'site.held',
  'pass.failed',
  'feedback.stale',
  'feedback.missing',
  'key.refused',
  'budget.starved',
  'webhook.gone',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** `begun` is sent once however often it repeats, and `ended` once after it; `happened` has no end. */
export const noticeStates = ['begun', 'ended', 'happened'] as const;
export type NoticeState = (typeof noticeStates)[number];

/** Short values that go with a notice: names, counts and times. */
type NoticeFacts = Readonly<Record<string, string | number>>;

/** The data of an event that docferry reports. Bounded, and without personal data. */
export interface Notice {
  org: string;
  /** A domain, a project, `<project>/<pass>`, the name of a webhook, or the organization. */
  subject: string;
  state: NoticeState;
  /** Since when the condition holds, or held if it has ended; ISO 8601. */
  since: string;
  /** Why, in words; null where the type says it. */
  reason: string | null;
  /** The command that helps, or shows more; null where nothing is to be done. */
  command: string | null;
  facts: NoticeFacts;
  /** Further subjects of the same message; absent where there are none. `named`: as many as fit, `reason` where it differs. */
  others?: { count: number; named: { subject: string; reason: string | null }[] };
  /** Who did or decided it, by the audit, and why in that person's words; absent where nobody is known to have. */
  decided?: { who: string; why: string | null };
}

export interface Noticed {
  type: NoticeType;
  subject: string;
  state: NoticeState;
  reason?: string | null;
  facts?: NoticeFacts;
  /** ISO 8601: until when a person can act. */
  until?: string;
  /** Distinguishes two occurrences: what a receiver's settings were. */
  mark?: string;
  /** True when another message says it: only its state is kept. */
  silent?: boolean;
  /** Since when it holds (ISO 8601): sent although people know it already. */
  again?: string;
}

/** Longest reason in a message, in characters. */
const longestReason = 300;

/** A reason on one line and bounded. */
export function noticeReason(text: string): string | null {
  const line = visibleText(text.replace(/\s+/g, ' ')).trim();
  if (line === '') return null;
  return line.length <= longestReason ? line : `${[...line].slice(0, longestReason - 1).join('')}…`;
}

/** What the row of a run says about its end. */
export interface EndedExport {
  domain: string;
  outcome: RunOutcome;
  /** Null for a rollback, which asks the service for nothing, and for an export that got no job. */
  jobId: string | null;
  version: string | null;
  /** JSON text of `EndDetail`. */
  detail: string;
}

type Detail = EndDetail & { previous?: string | null };

/** Decisions of a person, not faults of the bundle. */
const decisions: Readonly<Record<string, string>> = {
  'not-approved': 'rejected',
  'approval-expired': 'not decided in time, so it counts as rejected',
};

/** The notices about a run of a site that has ended, and those that its end closes. */
export function exportNotices(run: EndedExport): Noticed[] {
  const detail = JSON.parse(run.detail) as Detail;
  if (isRollback(run)) return rollbackNotices(run, detail);
  return [...approvalEnds(run, detail), ...exportEnds(run, detail)];
}

/** A rollback has a version without a job; an export that brings one has a job. */
function isRollback({ jobId, version }: EndedExport): boolean {
  return jobId === null && version !== null;
}

/** The person who asked sees that a rollback failed; nothing has changed then. */
function rollbackNotices({ domain, outcome, version }: EndedExport, detail: Detail): Noticed[] {
  if (outcome !== 'rolled-back' && outcome !== 'rollout-failed') return [];
  const { previous } = detail;
  const facts = { version: version ?? '', ...(previous && { previous }) };
  return [
    { type: 'site.rolled-back', subject: domain, state: 'happened', facts },
    { type: 'site.held', subject: domain, state: 'begun', silent: true },
    ...rolloutNotices(domain, version, detail),
  ];
}

function exportEnds({ domain, outcome, version }: EndedExport, detail: Detail): Noticed[] {
  const failed = { type: 'export.failed', subject: domain } as const;
  const refused = { type: 'export.refused', subject: domain } as const;
  if (outcome === 'cancelled') return [];
  if (outcome === 'failed') return [{ ...failed, state: 'begun', reason: noticeReason(whyEnded(detail)) }];
  const works: Noticed = { ...failed, state: 'ended' };
  if (outcome !== 'rejected') {
    const accepted: Noticed[] = [works, { ...refused, state: 'ended' }];
    // What a check refused before is not tried again, and people know it.
    const isHeldBack = outcome === 'unchanged' && (detail.reasons ?? []).length > 0;
    return isHeldBack ? accepted : [...accepted, ...rolloutNotices(domain, version, detail)];
  }
  const rules = (detail.reasons ?? []).map(({ rule }) => rule);
  if (rules.some((rule) => rule in decisions)) return [works];
  return [works, { ...refused, state: 'begun', reason: noticeReason(whyEnded(detail)) }];
}

function rolloutNotices(domain: string, version: string | null, detail: Detail): Noticed[] {
  const { rollouts = [] } = detail;
  if (rollouts.length === 0) return [];
  const about = { type: 'rollout.failed', subject: domain } as const;
  if (failedTargets(rollouts).length === 0) return [{ ...about, state: 'ended' }];
  const facts = { ...(version && { version }), failed: failedTargets(rollouts).length, targets: rollouts.length };
  return [{ ...about, state: 'begun', reason: noticeReason(whyEnded(detail)), facts }];
}

/** However a run ends, no version of it waits any more. */
function approvalEnds({ domain, outcome }: EndedExport, { reasons = [] }: Detail): Noticed[] {
  const decided = reasons.map(({ rule }) => decisions[rule]).find((words) => words !== undefined);
  const ended =
    outcome === 'failed' || outcome === 'cancelled'
      ? `the export was ${outcome}`.replace('was failed', 'failed')
      : 'approved';
  return [
    { type: 'approval.wanted', subject: domain, state: 'ended', reason: decided ?? ended },
    { type: 'approval.expiring', subject: domain, state: 'ended', silent: true },
  ];
}

/** The notices about a pass that has ended: each kind of pass fails and recovers separately. */
export function passNotices(pass: { project: string; pass: string; outcome: string; error: string | null }): Noticed[] {
  const about = { type: 'pass.failed', subject: `${pass.project}/${pass.pass}` } as const;
  if (pass.outcome === 'completed') return [{ ...about, state: 'ended' }];
  if (pass.outcome === 'failed')
    return [{ ...about, state: 'begun', reason: noticeReason(withoutFailureType(pass.error ?? '')) }];
  return [];
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
    'rollout.drifted': `docferry export start ${subject} --wait`,
    'site.rolled-back': `docferry export release ${subject}`,
    'site.held': `docferry export release ${subject}`,
    'pass.failed': `docferry feedback status ${project}`,
    'feedback.stale': `docferry feedback status ${subject}`,
    'feedback.missing': `docferry feedback status ${subject}`,
    'key.refused': 'docferry doctor',
    'budget.starved': `docferry budget show ${org}`,
    'webhook.gone': 'docferry doctor',
  };
  return commands[type];
}

export interface WatchInput extends WithFailover {
  org: string;
}

/** What one look of the watch leaves to the next. Times are in milliseconds. */
export interface LastLook {
  /** When the watch began: what never happened counts from then. */
  since: number;
  /** Types that it no longer saw. */
  absent: readonly NoticeType[];
  /** Runs that ended until then have their rows; null when nobody has looked yet. */
  at: number | null;
}
