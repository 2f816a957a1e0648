import { counted, spanText } from '../../rules/text.ts';
import { type AuditAction, auditActions } from '../../runs/rules/audit.ts';

/** What a person did, as other people say it. */
export const auditWords: Readonly<Record<AuditAction, string>> = {
  approve: 'approved a version',
  reject: 'rejected a version',
  rollback: 'started a rollback',
  hold: 'held the site',
  release: 'ended the hold',
  'budget-set': 'set the budget',
  'budget-reset': 'ended the override of the budget',
  'budget-pause': 'paused the budget',
  'budget-resume': 'resumed the budget',
  'budget-configure': 'configured the budget',
  erase: 'erased a person’s data',
  'start-export': 'started an export',
  'cancel-export': 'cancelled the export or rollback',
  'start-pass': 'started a pass',
  'cancel-pass': 'cancelled a pass',
  'poll-now': 'polled now',
  'schedule-pause': 'paused a schedule',
  'schedule-resume': 'resumed a schedule',
  'schedule-trigger': 'started a scheduled run',
  'schedule-backfill': 'made up for scheduled runs',
  'end-sessions': 'ended all sessions',
};

/** The choices of a filter: the address has the action as scripts know it. */
export const auditChoices = auditActions.map((action) => [action, auditWords[action]] as const);

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
