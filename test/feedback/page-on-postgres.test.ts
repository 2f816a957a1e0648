import { describe, vi } from 'vitest';
import { useStoreKind } from '../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../tools/servers/postgres-database.ts';

useStoreKind('postgres');
// Each test makes a database of its own.
vi.setConfig({ testTimeout: 30_000 });

/** The same tests as on SQLite, of the same files. */
describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  await import('./pass/upsert-page.test.ts');
});
