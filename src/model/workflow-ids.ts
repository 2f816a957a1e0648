import type { PassKind } from './cargo.ts';

/** Workflow ids are the business keys of DESIGN §4: the id alone makes a second start join or be refused. */
export const exportWorkflowId = (org: string, domain: string): string => `export:${org}:${domain}`;

export const syncWorkflowId = (org: string, project: string, pass: PassKind): string =>
  `sync:${org}:${project}:${pass}`;

export const budgetWorkflowId = (org: string): string => `budget:${org}`;

export const keyCheckWorkflowId = (org: string): string => `check:${org}`;

/** Names under which the workflows are registered and started. */
export const workflowTypes = {
  exportSite: 'exportSite',
  rollBack: 'rollBack',
  syncFeedback: 'syncFeedback',
  rateBudget: 'rateBudget',
  runScheduled: 'runScheduled',
  checkKey: 'checkKey',
} as const;

/** Search attributes every cluster must know (DESIGN §4); all of type Keyword. */
export const searchAttributes = {
  org: 'DocferryOrg',
  domain: 'DocferryDomain',
  project: 'DocferryProject',
  phase: 'DocferryPhase',
} as const;
