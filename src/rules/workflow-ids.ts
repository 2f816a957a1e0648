import type { ReadingKind } from '../feedback/rules/pass-kind.ts';

/** Workflow ids are business keys (architecture.md): the id alone makes a second start join or fail. */
export const exportWorkflowId = (org: string, domain: string): string => `export:${org}:${domain}`;

export const syncWorkflowId = (org: string, project: string, pass: ReadingKind): string =>
  `sync:${org}:${project}:${pass}`;

export const budgetWorkflowId = (org: string): string => `budget:${org}`;

export const keyCheckWorkflowId = (org: string): string => `check:${org}`;
/** Of the check that a program's 401 starts: nobody waits for it, so it may wait for a permit. */
export const patientKeyCheckWorkflowId = (org: string): string => `check:${org}:gateway`;

export const watchWorkflowId = (org: string): string => `watch:${org}`;

/** One workflow per message and receiver. */
export const webhookWorkflowId = (org: string, webhook: string, messageId: string): string =>
  `webhook:${org}:${webhook}:${messageId}`;

/** One workflow per row that could not be written when its run ended. */
export const recordWorkflowId = (org: string, domain: string, runId: string): string =>
  `record:${org}:${domain}:${runId}`;

/** One workflow per deed. */
export const deedWorkflowId = (org: string, unique: string): string => `audit:${org}:${unique}`;

/** Names under which the workflows are registered and started. */
export const workflowTypes = {
  exportSite: 'exportSite',
  rollBack: 'rollBack',
  syncFeedback: 'syncFeedback',
  rateBudget: 'rateBudget',
  runScheduled: 'runScheduled',
  checkKey: 'checkKey',
  deliverWebhook: 'deliverWebhook',
  recordRun: 'recordRun',
  recordDeed: 'recordDeed',
  watchOrganization: 'watchOrganization',
} as const;

/** Search attributes that every cluster needs (architecture.md), all of type Keyword. */
export const searchAttributes = {
  org: 'DocferryOrg',
  domain: 'DocferryDomain',
  project: 'DocferryProject',
  phase: 'DocferryPhase',
  outcome: 'DocferryOutcome',
} as const;
