export { checkKey } from './check-key.ts';
export { exportSite } from './export-site.ts';
export { rateBudget } from './rate-budget.ts';
export { refreshFeedback } from './refresh-feedback.ts';
export { rollBack } from './roll-back.ts';
export { runScheduled } from './run-scheduled.ts';
export { deliverWebhook, recordAuditEntry, recordRun, watchOrganization } from './runs.ts';
export { syncFeedback } from './sync-feedback.ts';
