export { exportSite } from './export-site.ts';
export { refreshFeedback, syncFeedback } from './feedback-runs.ts';
export { checkKey, rateBudget } from './rate-budget.ts';
export { rollBack } from './roll-back.ts';
export { deliverWebhook, recordAuditEntry, recordRun, runScheduled, watchOrganization } from './runs.ts';
