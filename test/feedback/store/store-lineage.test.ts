import { join } from 'node:path';
import { expect, it } from 'vitest';
import { requireStore } from '../../../src/activities/dependencies.ts';
import { openSqliteFeedbackStore, succeedSqliteStore } from '../../../src/feedback/store/sqlite-store.ts';
import { installationOf } from '../../../src/feedback/store/store-lineage.ts';
import { Database } from '../../../src/sqlite.ts';
import { temporarySqliteStore } from '../../tools/feedback/temporary-store.ts';

it('a restored store continues the runs of the original, which no longer continues its own', async () => {
  await using original = await temporarySqliteStore();
  const copy = join(original.folder, 'copy.db');
  const source = new Database(original.file);
  await source.backup(copy);
  source.close();
  const at = new Date('2026-11-21T09:00:00Z');
  await succeedSqliteStore(copy, 'restored', at);
  await using other = await temporarySqliteStore();
  const restored = await openSqliteFeedbackStore(copy);
  try {
    const { identity } = original.store;
    expect(restored.identity).not.toBe(identity);
    expect(restored).toMatchObject({ predecessors: [identity], restoredAt: at });
    expect(installationOf(restored)).toBe(installationOf(original.store));
    expect(() => requireStore('feedback', identity, restored)).not.toThrow();
    expect(() => requireStore('feedback', restored.identity, original.store)).toThrow(
      expect.objectContaining({ type: 'StoreMismatch' }),
    );
    expect(() => requireStore('feedback', other.store.identity, restored)).toThrow();
  } finally {
    await restored.close();
  }
});

it('a moved store keeps the order of its predecessors, and no moment of a restoration', async () => {
  await using original = await temporarySqliteStore();
  const first = original.store.identity;
  await original.store.close();
  await succeedSqliteStore(original.file, 'moved', new Date());
  const second = await original.open();
  await second.close();
  expect(second).toMatchObject({ predecessors: [first], restoredAt: null });
  await succeedSqliteStore(original.file, 'restored', new Date('2026-11-21T09:00:00Z'));
  const third = await original.open();
  expect(third.predecessors).toEqual([first, second.identity]);
  expect(installationOf(third)).toBe(first);
});
