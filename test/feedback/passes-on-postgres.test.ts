import { describe } from 'vitest';
import { useStoreKind } from '../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../tools/servers/postgres-database.ts';

useStoreKind('postgres');

/** The same tests as on SQLite, of the same files. */
describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  await import('./pass/page-sequence.test.ts');
  await import('./pass/passes.test.ts');
  await import('./pass/slices.test.ts');
  await import('./pass/spare-reading.test.ts');
  await import('./several-writers.test.ts');
});
