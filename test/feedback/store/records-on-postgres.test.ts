import { describe } from 'vitest';
import { useStoreKind } from '../../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../../tools/servers/postgres-database.ts';

useStoreKind('postgres');

/** The same tests as on SQLite, of the same files. */
describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  await import('../search/build-index.test.ts');
  await import('../search/find-entries.test.ts');
  await import('../../console/pages/feedback-on-a-store.test.ts');
  await import('../files/feedback-files.test.ts');
  await import('../files/file-rows.test.ts');
  await import('./export-runs.test.ts');
  await import('./latest-records.test.ts');
  await import('../figures/count-feedback.test.ts');
  await import('../figures/project-activity.test.ts');
  await import('../figures/read-report-figures.test.ts');
  await import('../figures/stored-projects.test.ts');
});
