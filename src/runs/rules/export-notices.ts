import { type EndDetail, failedTargets, type RunOutcome, whyEnded } from '../../exports/rules/export-outcome.ts';
import { type Noticed, noticeReason } from './notice.ts';

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
  if (outcome !== 'rejected')
    return [works, { ...refused, state: 'ended' }, ...rolloutNotices(domain, version, detail)];
  const rules = (detail.reasons ?? []).map(({ rule }) => rule);
  if (rules.some((rule) => rule in decisions)) return [works];
  return [works, { ...refused, state: 'begun', reason: noticeReason([...new Set(rules)].join(', ')) }];
}

function rolloutNotices(domain: string, version: string | null, { rollouts = [] }: Detail): Noticed[] {
  if (rollouts.length === 0) return [];
  const about = { type: 'rollout.failed', subject: domain } as const;
  if (failedTargets(rollouts).length === 0) return [{ ...about, state: 'ended' }];
  const facts = { ...(version && { version }), failed: failedTargets(rollouts).length, targets: rollouts.length };
  return [{ ...about, state: 'begun', reason: noticeReason(whyEnded({ rollouts })), facts }];
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
