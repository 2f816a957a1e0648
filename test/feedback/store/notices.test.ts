import { describe, expect, it } from 'vitest';
import type { NoticeTurn } from '../../../src/feedback/store/notice-records.ts';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

const hour = (n: number) => new Date(Date.UTC(2026, 10, 21, n));
const turn = (open: boolean, by: string, n: number, more: Partial<NoticeTurn> = {}): NoticeTurn => ({
  org: 'acme',
  type: 'export.failed',
  subject: 'docs.acme.example',
  open,
  by,
  at: hour(n),
  ...more,
});

describe('a notice (X9)', () => {
  it('is opened by the first who notices and closed by the first who sees that it is over', async () => {
    await using at = await temporaryStore();
    const { store } = at;
    expect(await store.turnNotice(turn(false, 'run-0', 0))).toBeNull();
    expect(await store.turnNotice(turn(true, 'run-1', 1))).toEqual({ since: hour(1).toISOString() });
    expect(await store.turnNotice(turn(true, 'run-2', 2))).toBeNull();
    expect(await store.openNotices('acme')).toEqual([
      { type: 'export.failed', subject: 'docs.acme.example', since: hour(1).toISOString(), until: null, mark: null },
    ]);
    expect(await store.turnNotice(turn(false, 'run-3', 3))).toEqual({ since: hour(1).toISOString() });
    expect(await store.turnNotice(turn(false, 'run-4', 4))).toBeNull();
    expect(await store.openNotices('acme')).toEqual([]);
    const again = turn(true, 'run-5', 5, { until: hour(9).toISOString(), mark: 'm' });
    expect(await store.turnNotice(again)).toEqual({ since: hour(5).toISOString() });
    expect(await store.openNotices('acme')).toMatchObject([{ until: hour(9).toISOString(), mark: 'm' }]);
  });

  it('gives a repeated step the answer it gave before, and keeps the first time', async () => {
    await using at = await temporaryStore();
    const first = await at.store.turnNotice(turn(true, 'run-1', 1));
    expect(await at.store.turnNotice(turn(true, 'run-1', 2))).toEqual(first);
    const closed = await at.store.turnNotice(turn(false, 'run-2', 3));
    expect(await at.store.turnNotice(turn(false, 'run-2', 4))).toEqual(closed);
  });

  it('belongs to its organization, type and subject', async () => {
    await using at = await temporaryStore();
    const others = [{}, { org: 'globex' }, { type: 'export.late' as const }, { subject: 'api.acme.example' }];
    for (const [n, more] of others.entries()) {
      expect(await at.store.turnNotice(turn(true, `run-${n}`, 1, more))).not.toBeNull();
    }
    const keys = (await at.store.openNotices('acme')).map(({ type, subject }) => `${type} ${subject}`);
    expect(keys).toEqual([
      'export.failed api.acme.example',
      'export.failed docs.acme.example',
      'export.late docs.acme.example',
    ]);
  });

  it('is opened by one of many who notice at once', async () => {
    await using at = await temporaryStore();
    const other = await at.open();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? at.store : other).turnNotice(turn(true, `run-${n}`, 1))),
    );
    expect(answers.filter((answer) => answer !== null)).toHaveLength(1);
  });
});

describe('the last exports', () => {
  const row = (runId: string, n: number, more: Partial<ExportRunRow> = {}): ExportRunRow => ({
    workflowId: 'export:acme:docs.acme.example',
    runId,
    org: 'acme',
    domain: 'docs.acme.example',
    startedAt: hour(n).toISOString(),
    finishedAt: hour(n + 1).toISOString(),
    outcome: 'published',
    jobId: 'job_1',
    jobsStarted: 1,
    version: 'v',
    contentDigest: 'd',
    polls: 1,
    detail: '{}',
    jobMs: null,
    ...more,
  });

  it('are those that brought or confirmed a version, the latest of each site', async () => {
    await using at = await temporaryStore();
    const rows = [
      row('1', 1),
      row('2', 3, { outcome: 'unchanged' }),
      row('3', 5, { outcome: 'failed' }),
      row('4', 6, { outcome: 'rolled-back', jobId: null }),
      row('5', 7, { outcome: 'rollout-failed', jobId: null }),
      row('6', 2, { domain: 'api.acme.example', outcome: 'rollout-failed' }),
      row('7', 2, { domain: 'new.acme.example', outcome: 'rejected' }),
      row('8', 9, { org: 'globex' }),
    ];
    for (const each of rows) await at.store.recordExportRun(each);
    expect([...(await at.store.lastExports('acme'))].sort()).toEqual([
      ['api.acme.example', hour(3).toISOString()],
      ['docs.acme.example', hour(4).toISOString()],
    ]);
  });
});
