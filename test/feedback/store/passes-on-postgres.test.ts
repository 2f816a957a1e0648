import { describe } from 'vitest';
import { useStoreKind } from '../../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../../tools/servers/postgres-database.ts';

useStoreKind('postgres');

/** The same tests as on SQLite, of the same files. */
describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  await import('../reading/passes.test.ts');
  await import('../reading/slices.test.ts');
  await import('../reading/refresh.test.ts');
  await import('./several-writers.test.ts');
});
