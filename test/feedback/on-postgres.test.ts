import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { hasPostgres } from '../support/postgres-database.ts';
import { useStoreKind } from './temporary-store.ts';

/** The same tests as on SQLite, of the same files. */
const suites: Readonly<Record<string, () => Promise<unknown>>> = {
  'commit-page.test.ts': () => import('./commit-page.test.ts'),
  'erase-contact.test.ts': () => import('./erase-contact.test.ts'),
  'export-files.test.ts': () => import('./export-files.test.ts'),
  'export-rows.test.ts': () => import('./export-rows.test.ts'),
  'export-runs.test.ts': () => import('./export-runs.test.ts'),
  'feedback-stats.test.ts': () => import('./feedback-stats.test.ts'),
  'page-sequence.test.ts': () => import('./page-sequence.test.ts'),
  'passes.test.ts': () => import('./passes.test.ts'),
  'privacy.test.ts': () => import('./privacy.test.ts'),
  'project-activity.test.ts': () => import('./project-activity.test.ts'),
  'report-figures.test.ts': () => import('./report-figures.test.ts'),
  'several-writers.test.ts': () => import('./several-writers.test.ts'),
  'slices.test.ts': () => import('./slices.test.ts'),
  'spare-reading.test.ts': () => import('./spare-reading.test.ts'),
};

useStoreKind('postgres');
// Each test makes a database of its own.
vi.setConfig({ testTimeout: 30_000 });

it('runs every test file whose tests take a store of either kind', () => {
  const folder = import.meta.dirname;
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  const own = files.filter((name) => /\btemporaryStore\b/.test(readFileSync(join(folder, name), 'utf8')));
  expect(own.filter((name) => name !== 'on-postgres.test.ts').sort()).toEqual(Object.keys(suites));
});

describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  for (const load of Object.values(suites)) await load();
});
