import { describe, expect, it } from 'vitest';
import type { NoticeTurn } from '../../../src/feedback/store/notice-records.ts';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import type { NoticeRow } from '../../../src/runs/rules/notices.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

const hour = (n: number) => new Date(Date.UTC(2026, 10, 21, n));
const turn = (state: 'begun' | 'ended', n: number, more: Partial<NoticeTurn> = {}): NoticeTurn => ({
  org: 'acme',
  type: 'export.failed',
  subject: 'docs.acme.example',
  state,
  at: hour(n),
  ...more,
});

const toldAt = (rows: readonly NoticeRow[], n: number) =>
  rows.map((row) => ({ ...row, toldAt: hour(n).toISOString() }));

describe('a notice (X9)', () => {
  it('keeps when it began, why, and whether people know', async () => {
    await using at = await temporaryStore();
    const { store } = at;
    await store.turnNotice(turn('ended', 0));
    expect(await store.noticeRows('acme')).toEqual([]);
    await store.turnNotice(turn('begun', 1, { reason: 'why', facts: { targets: 2 } }));
    await store.turnNotice(turn('begun', 2, { reason: 'another' }));
    const begun = {
      ...{ type: 'export.failed', subject: 'docs.acme.example', open: true, told: false, toldAt: null },
      ...{ since: hour(1).toISOString(), changedAt: hour(1).toISOString(), until: null, mark: null },
      ...{ reason: 'why', facts: { targets: 2 } },
    };
    expect(await store.noticeRows('acme')).toEqual([begun]);
    await store.markTold('acme', toldAt(await store.noticeRows('acme'), 2));
    const told = { ...begun, told: true, toldAt: hour(2).toISOString() };
    expect(await store.noticeRows('acme')).toEqual([told]);
    await store.turnNotice(turn('ended', 3));
    await store.turnNotice(turn('ended', 4));
    const ended = { ...told, open: false, changedAt: hour(3).toISOString() };
    expect(await store.noticeRows('acme')).toEqual([ended]);
    await store.markTold('acme', toldAt([ended as NoticeRow], 5));
    expect(await store.noticeRows('acme')).toEqual([]);
  });

  it('that changes while people are told is still to be told', async () => {
    await using at = await temporaryStore();
    await at.store.turnNotice(turn('begun', 1));
    const rows = await at.store.noticeRows('acme');
    await at.store.markTold('acme', toldAt(rows, 1));
    await at.store.turnNotice(turn('ended', 2));
    await at.store.markTold('acme', toldAt(rows, 3));
    expect(await at.store.noticeRows('acme')).toMatchObject([{ open: false, told: true }]);
  });

  it('is known where another message says it; of the next version that waits nobody knows', async () => {
    await using at = await temporaryStore();
    await at.store.turnNotice(turn('begun', 1, { type: 'site.held', silent: true }));
    await at.store.turnNotice(turn('begun', 1, { type: 'approval.wanted', mark: 'm', silent: true }));
    await at.store.turnNotice(turn('ended', 2, { type: 'approval.wanted', reason: 'approved' }));
    await at.store.turnNotice(turn('begun', 3, { type: 'approval.wanted', until: hour(9).toISOString() }));
    expect(await at.store.noticeRows('acme')).toMatchObject([
      { type: 'approval.wanted', open: true, told: false, since: hour(3).toISOString(), until: hour(9).toISOString() },
      { type: 'site.held', open: true, told: true },
    ]);
  });

  it('of a version that waits is neither hidden nor ended by the run before it', async () => {
    await using at = await temporaryStore();
    const waits = { type: 'approval.wanted' } as const;
    await at.store.turnNotice(turn('begun', 1, { ...waits, mark: 'v1' }));
    await at.store.markTold('acme', toldAt(await at.store.noticeRows('acme'), 1));
    // The first run was terminated at 2, and its row is written when the second one waits already.
    await at.store.turnNotice(turn('begun', 3, { ...waits, mark: 'v2' }));
    const second = { open: true, told: false, since: hour(3).toISOString(), mark: 'v2' };
    expect(await at.store.noticeRows('acme')).toMatchObject([second]);
    await at.store.turnNotice(turn('begun', 4, { ...waits, mark: 'v2' }));
    await at.store.turnNotice(turn('ended', 2, waits));
    expect(await at.store.noticeRows('acme')).toMatchObject([second]);
    await at.store.markTold('acme', toldAt(await at.store.noticeRows('acme'), 4));
    await at.store.turnNotice(turn('ended', 5, waits));
    expect(await at.store.noticeRows('acme')).toMatchObject([
      { open: false, told: true, changedAt: hour(5).toISOString() },
    ]);
  });

  it('belongs to its organization, type and subject', async () => {
    await using at = await temporaryStore();
    const others = [{}, { org: 'globex' }, { type: 'export.late' as const }, { subject: 'api.acme.example' }];
    for (const more of others) await at.store.turnNotice(turn('begun', 1, more));
    const keys = (await at.store.noticeRows('acme')).map(({ type, subject }) => `${type} ${subject}`);
    expect(keys).toEqual([
      'export.failed api.acme.example',
      'export.failed docs.acme.example',
      'export.late docs.acme.example',
    ]);
  });

  it('begins once, when many notice at once', async () => {
    await using at = await temporaryStore();
    const other = await at.open();
    const all = Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? at.store : other).turnNotice(turn('begun', 1, { reason: `${n}` })),
    );
    await Promise.all(all);
    expect(await at.store.noticeRows('acme')).toHaveLength(1);
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
      row('9', 4, { detail: '{"reasons":[],"limited":true}' }),
    ];
    for (const each of rows) await at.store.recordExportRun(each);
    expect([...(await at.store.lastExports('acme'))].sort()).toEqual([
      ['api.acme.example', hour(3).toISOString()],
      ['docs.acme.example', hour(4).toISOString()],
    ]);
  });
});
