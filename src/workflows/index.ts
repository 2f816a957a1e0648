export { exportSite } from './export-site.ts';
export { rateBudget } from './rate-budget.ts';
export { syncFeedback } from './sync-feedback.ts';
