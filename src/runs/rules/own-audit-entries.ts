import type { ExportParameters } from '../../exports/rules/site-export.ts';
import { type ScheduleTarget, workflowIdOf } from '../../rules/workflow-ids.ts';
import type { Deed, Sender } from './audit.ts';

/** A deed that no workflow keeps: the program that did it keeps it, once it has taken effect. */
export interface OwnDeed extends Pick<Deed, 'deedId' | 'action' | 'org' | 'subject' | 'workflowId'> {
  detail: object;
}

/** An export that a person started; none without a run, because one was running. Its run is started once. */
export function startedExport(
  org: string,
  domain: string,
  runId: string | null,
  { siteVersion, paths, promote, force }: ExportParameters,
): OwnDeed[] {
  const detail = {
    ...(siteVersion !== undefined && { siteVersion }),
    ...(paths !== undefined && { paths: paths.length }),
    ...(promote && { promote }),
    ...(force && { force }),
  };
  return runId === null ? [] : [of('start-export', { kind: 'export', org, domain }, `${runId}/start`, detail)];
}

/** A pass that a person started; none without a run. */
export function startedPass(
  { org, project, pass }: Omit<ScheduleTarget & { kind: 'sync' }, 'kind'>,
  runId: string | null,
): OwnDeed[] {
  const target = { kind: 'sync' as const, org, project, pass };
  return runId === null ? [] : [of('start-pass', target, `${runId}/start`)];
}

/** A running export or pass that a person cancelled; cancelling it again is no other deed. */
export function cancelledRun(target: ScheduleTarget, runId: string): OwnDeed {
  return of(target.kind === 'export' ? 'cancel-export' : 'cancel-pass', target, `${runId}/cancel`);
}

/** A deed on an export or a schedule by one request, which has its own id. */
export function doneBy(
  request: string,
  action: 'poll-now' | 'hold' | 'release' | `schedule-${'pause' | 'resume' | 'trigger' | 'backfill'}`,
  target: ScheduleTarget,
  detail: object = {},
): OwnDeed {
  return of(action, target, `${request}/${action}/${workflowIdOf(target)}`, detail);
}

/** The rows of deeds that one person did at a moment, for one reason. */
export function deedRows(
  deeds: readonly OwnDeed[],
  { who, reason = null }: Sender & { who: string },
  at: Date,
): Deed[] {
  return deeds.map((deed) => ({ ...deed, at: at.toISOString(), who, reason, detail: JSON.stringify(deed.detail) }));
}

function of(action: OwnDeed['action'], target: ScheduleTarget, deedId: string, detail: object = {}): OwnDeed {
  const { org } = target;
  const common = { deedId, action, org, workflowId: workflowIdOf(target) };
  if (target.kind === 'export') return { ...common, subject: target.domain, detail };
  return { ...common, subject: target.project, detail: { pass: target.pass, ...detail } };
}

/** What the audit says of a deed, for people: `version 20261121T…, previous -`. */
export function detailText(detail: string): string {
  return Object.entries(JSON.parse(detail))
    .map(([name, value]) => `${name} ${value ?? '-'}`)
    .join(', ');
}
