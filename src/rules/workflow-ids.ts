import { type PassKind, passKinds } from '../feedback/rules/sync.ts';

/** Workflow ids are business keys: the id alone makes a second start join or fail. */
export const exportWorkflowId = (org: string, domain: string): string => `export:${org}:${domain}`;

export const syncWorkflowId = (org: string, project: string, pass: PassKind): string =>
  `sync:${org}:${project}:${pass}`;

/** Of an organization's refresh: its schedule appends the time of the run. */
export const refreshWorkflowId = (org: string): string => `refresh:${org}`;

export const budgetWorkflowId = (org: string): string => `budget:${org}`;

export const keyCheckWorkflowId = (org: string): string => `check:${org}`;
/** Id of the key check that a program's 401 starts: nobody waits for it, so it may wait for a permit. */
export const patientKeyCheckWorkflowId = (org: string): string => `check:${org}:gateway`;

/** Of an organization's watch: its schedule appends the time of the run. */
export const watchWorkflowId = (org: string): string => `watch:${org}`;

/** One workflow per message and receiver. */
export const webhookWorkflowId = (org: string, webhook: string, messageId: string): string =>
  `webhook:${org}:${webhook}:${messageId}`;

/** One workflow per row that could not be written when its run ended. */
export const recordWorkflowId = (org: string, domain: string, unique: string): string =>
  `record:${org}:${domain}:${unique}`;

/** One workflow per audit entry. */
export const auditWorkflowId = (org: string, unique: string): string => `audit:${org}:${unique}`;

/** Names under which the workflows are registered and started. */
export const workflowTypes = {
  exportSite: 'exportSite',
  rollBack: 'rollBack',
  syncFeedback: 'syncFeedback',
  refreshFeedback: 'refreshFeedback',
  rateBudget: 'rateBudget',
  runScheduled: 'runScheduled',
  checkKey: 'checkKey',
  deliverWebhook: 'deliverWebhook',
  recordRun: 'recordRun',
  recordAuditEntry: 'recordAuditEntry',
  watchOrganization: 'watchOrganization',
} as const;

/** Search attributes that every cluster needs, all of type Keyword. */
export const searchAttributes = {
  org: 'DocferryOrg',
  domain: 'DocferryDomain',
  project: 'DocferryProject',
  phase: 'DocferryPhase',
  outcome: 'DocferryOutcome',
} as const;

/** Work under an id of its own. Schedules start exports and refreshes. */
export type ScheduleTarget =
  | { kind: 'export'; org: string; domain: string }
  | { kind: 'refresh'; org: string }
  | { kind: 'sync'; org: string; project: string; pass: PassKind };

/** What a person starts and cancels. */
export type WorkTarget = Exclude<ScheduleTarget, { kind: 'refresh' }>;

/** The fixed id of the workflow that does the work; to that of a refresh its schedule appends the time. */
export function workflowIdOf(target: ScheduleTarget): string {
  if (target.kind === 'refresh') return refreshWorkflowId(target.org);
  return target.kind === 'export'
    ? exportWorkflowId(target.org, target.domain)
    : syncWorkflowId(target.org, target.project, target.pass);
}

/** The reverse of `workflowIdOf`, with or without a time; null for any other id. */
export function targetOfWorkflowId(id: string): ScheduleTarget | null {
  const [, refreshed] = /^refresh:([^:]+?)(?:-\d{4}-\d{2}-\d{2}T[\d:.]+Z)?$/.exec(id) ?? [];
  if (refreshed !== undefined) return { kind: 'refresh', org: refreshed };
  const [kind, org, what, pass, ...more] = id.split(':');
  if (!org || !what || more.length > 0) return null;
  if (kind === 'export' && pass === undefined) return { kind, org, domain: what };
  if (kind === 'sync' && isPass(pass)) return { kind, org, project: what, pass };
  return null;
}

/** The prefix of the ids of a task queue's schedules, which no other schedule has. */
export function schedulePrefix(taskQueue: string): string {
  return `docferry:${encodeURIComponent(taskQueue)}:`;
}

/** E.g. `docferry:docferry:export:acme:docs.acme.example`. */
export function scheduleId(taskQueue: string, target: ScheduleTarget): string {
  return schedulePrefix(taskQueue) + workflowIdOf(target);
}

/** Of an organization's watch; by default the prefix of all of them. */
export const watchScheduleId = (taskQueue: string, org = ''): string =>
  schedulePrefix(taskQueue) + watchWorkflowId(org);

/**
 * The reverse of `scheduleId`; null for schedules that are not docferry's, or another task queue's.
 */
export function targetOfScheduleId(taskQueue: string, id: string): ScheduleTarget | null {
  const prefix = schedulePrefix(taskQueue);
  return id.startsWith(prefix) ? targetOfWorkflowId(id.slice(prefix.length)) : null;
}

/** Id of `runScheduled`, to which Temporal appends the scheduled time. */
export function scheduledRunId(target: ScheduleTarget): string {
  return `scheduled:${workflowIdOf(target)}`;
}

/** A short name of a target: `docs.acme.example`, `acme/refresh`, `prj_1 incremental`. */
export function targetName(target: ScheduleTarget): string {
  if (target.kind === 'refresh') return `${target.org}/refresh`;
  return target.kind === 'export' ? target.domain : `${target.project} ${target.pass}`;
}

/** A target in one line for the Temporal UI. */
export function targetSummary(target: ScheduleTarget): string {
  if (target.kind === 'refresh') return `refresh of ${target.org}`;
  return target.kind === 'export'
    ? `export of ${target.domain} (${target.org})`
    : `${target.pass} of ${target.project} (${target.org})`;
}

function isPass(text: string | undefined): text is PassKind {
  return passKinds.some((kind) => kind === text);
}

/** Path of a site's page in the console. */
export const siteAddress = (org: string, domain: string): string =>
  `/sites/${encodeURIComponent(org)}/${encodeURIComponent(domain)}`;
/** Path of a project's page in the console. */
export const projectAddress = (org: string, project: string): string =>
  `/projects/${encodeURIComponent(org)}/${encodeURIComponent(project)}`;
/** Address of the page that shows a site, a project, or the budget from which an organization's refresh reads. */
export function targetAddress(target: ScheduleTarget): string {
  if (target.kind === 'refresh') return '/budget';
  return target.kind === 'export' ? siteAddress(target.org, target.domain) : projectAddress(target.org, target.project);
}
