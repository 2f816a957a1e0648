import { z } from 'zod/mini';
import { type ExportParameters, longestReason } from '../../exports/rules/site-export.ts';
import { instant, jsonText, reader, text, textLike, writing } from '../../rules/messages.ts';
import { counted, spanText } from '../../rules/text.ts';
import { type ScheduleTarget, type WorkTarget, workflowIdOf } from '../../rules/workflow-ids.ts';

/** What the audit keeps about an audit entry, in words; what has none stands as `name value`. */
export function auditDetail(detail: string): string {
  return Object.entries(JSON.parse(detail) as Record<string, unknown>)
    .map(([name, value]) => wordsOf(name, value) ?? `${name} ${value ?? '–'}`)
    .join(', ');
}

function wordsOf(name: string, value: unknown): string | null {
  if (name === 'forMs')
    return value === null ? 'without an end' : typeof value === 'number' ? `for ${spanText(value)}` : null;
  if (name === 'bulk' && value === true) return 'in bulk';
  if (name === 'promote' && value === true) return 'into service anyway';
  if (name === 'force' && value === true) return 'even if nothing changed';
  if (name === 'siteVersion') return `label ${value}`;
  if (name === 'previous') return value === null ? 'nothing was in service' : `before it ${value}`;
  const unit = Object.hasOwn(counts, name) ? counts[name] : undefined;
  return unit !== undefined && typeof value === 'number' ? counted(value, ...unit) : null;
}

const counts: Readonly<Record<string, [one: string, many: string]>> = {
  requests: ['request', 'requests'],
  paths: ['path', 'paths'],
  runs: ['run', 'runs'],
  sessions: ['session', 'sessions'],
  entries: ['entry', 'entries'],
  changes: ['change', 'changes'],
  rejects: ['reject', 'rejects'],
};

/** What people do by hand and the audit keeps (audit.md). */
export const auditActions = [
  'approve',
  'reject',
  'rollback',
  'hold',
  'release',
  'budget-set',
  'budget-reset',
  'budget-pause',
  'budget-resume',
  'budget-configure',
  'erase',
  'start-export',
  'cancel-export',
  'start-pass',
  'cancel-pass',
  'poll-now',
  'schedule-pause',
  'schedule-resume',
  'schedule-trigger',
  'schedule-backfill',
  'end-sessions',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** Something a person did, as the table `audit` keeps it. */
const auditEntry = z.object({
  /** Of an update `<run id>/<update id>`, see `OwnAuditEntry` for others: the same audit entry written again changes nothing. */
  entryId: writing(),
  /** When it took effect, UTC ISO 8601. */
  at: instant(),
  /** A newer version may have other actions. */
  action: text(),
  /** Null: everything in the store. */
  org: z.nullable(text()),
  /** A domain or project, or the login whose sessions were ended; null for the whole organization. */
  subject: z.nullable(writing()),
  who: writing(),
  /** In a person's words; null when not given. */
  reason: z.nullable(writing()),
  /** JSON text: version, limits or counts, nothing personal. */
  detail: jsonText(),
  /** Of the workflow that the audit entry reached; null where there was none. */
  workflowId: z.nullable(writing()),
});
export type AuditEntry = Omit<z.infer<typeof auditEntry>, 'action'> & { action: AuditAction };
/** Input of `recordAuditEntry`. */
export const readAuditEntry = reader<z.infer<typeof auditEntry>>(auditEntry);

/** Who acts and why, by the actor's word, unchecked. */
export interface Actor {
  who?: string;
  reason?: string | null;
}

/** Stands for an actor that gave no name. */
export const unnamedActor = 'Temporal UI or other client';

/** Stands for a person who signed in to the console by the link that the terminal printed. */
export const terminalName = 'terminal';

/** Whether the audit would confuse a person of this login with an actor that docferry names itself. */
export function isReservedName(login: string): boolean {
  const plain = (name: string) => name.normalize('NFKC').trim().toLowerCase();
  return [terminalName, unnamedActor].some((name) => plain(name) === plain(login));
}

/** Longest name of an actor, in characters. */
export const longestName = 100;
export const actorName = /^[^\p{Cc}\p{Cs}]{1,100}$/u;

/** An audit entry that no workflow keeps: the program that did it keeps it, once it has taken effect. */
export interface OwnAuditEntry extends Pick<AuditEntry, 'entryId' | 'action' | 'org' | 'subject' | 'workflowId'> {
  detail: object;
}

/** An export that a person started; none without a run, because one was running. Its run is started once. */
export function startedExport(
  org: string,
  domain: string,
  runId: string | null,
  { siteVersion, paths, promote, force }: ExportParameters,
): OwnAuditEntry[] {
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
): OwnAuditEntry[] {
  const target = { kind: 'sync' as const, org, project, pass };
  return runId === null ? [] : [of('start-pass', target, `${runId}/start`)];
}

/** A running export or pass that a person cancelled; cancelling it again is no other audit entry. */
export function cancelledRun(target: WorkTarget, runId: string): OwnAuditEntry {
  return of(target.kind === 'export' ? 'cancel-export' : 'cancel-pass', target, `${runId}/cancel`);
}

/** An audit entry on an export or a schedule by one request, which has its own id. */
export function doneBy(
  request: string,
  action: 'poll-now' | 'hold' | 'release' | `schedule-${'pause' | 'resume' | 'trigger' | 'backfill'}`,
  target: ScheduleTarget,
  detail: object = {},
): OwnAuditEntry {
  return of(action, target, `${request}/${action}/${workflowIdOf(target)}`, detail);
}

/** The rows of audit entries that one person did at a moment, for one reason. */
export function auditRows(
  auditEntries: readonly OwnAuditEntry[],
  { who, reason = null }: Actor & { who: string },
  at: Date,
): AuditEntry[] {
  return auditEntries.map((entry) => ({
    ...entry,
    at: at.toISOString(),
    who,
    reason,
    detail: JSON.stringify(entry.detail),
  }));
}

function of(
  action: OwnAuditEntry['action'],
  target: ScheduleTarget,
  entryId: string,
  detail: object = {},
): OwnAuditEntry {
  const { org } = target;
  const common = { entryId, action, org, workflowId: workflowIdOf(target) };
  if (target.kind === 'export') return { ...common, subject: target.domain, detail };
  if (target.kind === 'refresh') return { ...common, subject: null, detail };
  return { ...common, subject: target.project, detail: { pass: target.pass, ...detail } };
}

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
