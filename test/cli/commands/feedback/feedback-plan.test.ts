import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';

async function scene(): Promise<string> {
  const cwd = await folderWithConfig();
  const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  const entries = Array.from({ length: 1_250 }, (_, index) =>
    entry(`${index}`, {
      createdAt: new Date(Date.parse('2026-11-20T00:00:00Z') - index * 3_600_000).toISOString(),
      status: index % 10 === 0 ? 'pending' : 'resolved',
    }),
  );
  await wholePass(store, 'p', entries);
  await store.close();
  return cwd;
}

it('feedback sync --plan says what a pass reads and costs, without Temporal and the service', async () => {
  const cwd = await scene();
  const plan = async (...more: string[]) => {
    const done = await docferryJson(['feedback', 'sync', 'prj_1', '--plan', ...more], { cwd });
    expect({ exitCode: done.exitCode, stderr: done.stderr }).toEqual({ exitCode: 0, stderr: '' });
    return done.document;
  };
  expect(await plan()).toMatchObject({
    org: 'acme',
    project: 'prj_1',
    pass: 'incremental',
    dateFrom: '2026-11-19T00:00:00.000Z',
    dateTo: null,
    expectedRequests: 1,
    slices: [{ stage: 'read', expectedPages: 1 }],
  });
  expect(await plan('--pass', 'review')).toMatchObject({
    expectedRequests: 2,
    mostRequests: 13,
    slices: [{ stage: 'open', statuses: ['pending', 'in_progress'], expectedPages: 2 }],
  });
  expect(await plan('--pass', 'sweep', '--from', '2026-11-01')).toMatchObject({
    pass: 'sweep',
    dateFrom: '2026-11-01T00:00:00.000Z',
    expectedRequests: 5,
  });
  const { stdout } = await docferry(['feedback', 'sync', 'prj_1', '--plan', '--pass', 'review'], { cwd });
  expect(stdout).toContain('nothing has been asked yet');
  expect(stdout).toMatch(/at most +13/);
});

it('feedback sync --plan has no forecast before the first read', async () => {
  const { document } = await docferryJson(['feedback', 'sync', 'prj_1', '--plan'], { cwd: await folderWithConfig() });
  expect(document).toMatchObject({ pass: 'sweep', expectedRequests: null, slices: [{ expectedPages: null }] });
});
