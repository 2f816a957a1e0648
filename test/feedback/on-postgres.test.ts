import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { useStoreKind } from '../tools/feedback/temporary-store.ts';
import { hasPostgres } from '../tools/servers/postgres-database.ts';

/** The same tests as on SQLite, of the same files. */
const suites: Readonly<Record<string, () => Promise<unknown>>> = {
  'audit/deeds.test.ts': () => import('./audit/deeds.test.ts'),
  'pass/upsert-page.test.ts': () => import('./pass/upsert-page.test.ts'),
  'privacy/erase-contact.test.ts': () => import('./privacy/erase-contact.test.ts'),
  'notices/notices.test.ts': () => import('./notices/notices.test.ts'),
  'files/feedback-files.test.ts': () => import('./files/feedback-files.test.ts'),
  'files/file-rows.test.ts': () => import('./files/file-rows.test.ts'),
  'runs/export-runs.test.ts': () => import('./runs/export-runs.test.ts'),
  'runs/latest-records.test.ts': () => import('./runs/latest-records.test.ts'),
  'figures/count-feedback.test.ts': () => import('./figures/count-feedback.test.ts'),
  'pass/page-sequence.test.ts': () => import('./pass/page-sequence.test.ts'),
  'pass/passes.test.ts': () => import('./pass/passes.test.ts'),
  'privacy/privacy.test.ts': () => import('./privacy/privacy.test.ts'),
  'figures/project-activity.test.ts': () => import('./figures/project-activity.test.ts'),
  'figures/read-report-figures.test.ts': () => import('./figures/read-report-figures.test.ts'),
  'search/build-index.test.ts': () => import('./search/build-index.test.ts'),
  'search/find-entries.test.ts': () => import('./search/find-entries.test.ts'),
  'several-writers.test.ts': () => import('./several-writers.test.ts'),
  'pass/slices.test.ts': () => import('./pass/slices.test.ts'),
  'pass/spare-reading.test.ts': () => import('./pass/spare-reading.test.ts'),
};

useStoreKind('postgres');
// Each test makes a database of its own.
vi.setConfig({ testTimeout: 30_000 });

it('runs every test file whose tests take a store of either kind', () => {
  const folder = import.meta.dirname;
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
  const own = files.filter((name) => /\btemporaryStore\b/.test(readFileSync(join(folder, name), 'utf8')));
  expect(own.filter((name) => name !== 'on-postgres.test.ts').sort()).toEqual(Object.keys(suites).sort());
});

describe.skipIf(!hasPostgres())('on PostgreSQL', async () => {
  for (const load of Object.values(suites)) await load();
});
