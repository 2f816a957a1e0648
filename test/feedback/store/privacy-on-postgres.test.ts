import { describe } from 'vitest';
import { useStoreKind } from '../../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../../tools/servers/postgres-database.ts';

useStoreKind('postgres');

/** The same tests as on SQLite, of the same files. */
describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  await import('./audit-records.test.ts');
  await import('./notices.test.ts');
  await import('../privacy/erase-contact.test.ts');
  await import('../privacy/privacy.test.ts');
});
