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
  await import('./stored-runs.test.ts');
  await import('./week-figures.test.ts');
  await import('../figures/project-figures.test.ts');
  await import('../figures/read-report-figures.test.ts');
});
