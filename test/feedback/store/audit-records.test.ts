import { describe, expect, it } from 'vitest';
import type { AuditFilter } from '../../../src/feedback/store/audit-records.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { openAudit } from '../../../src/feedback/store/open-feedback-store.ts';
import type { AuditEntry } from '../../../src/runs/rules/audit.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

const approval: AuditEntry = {
  entryId: 'run-1/update-1',
  at: '2026-11-21T08:00:00.000Z',
  action: 'approve',
  org: 'acme',
  subject: 'docs.acme.example',
  who: 'anna',
  reason: null,
  detail: '{"version":"20261121T080000Z-3f9a2c1b8e7d"}',
  workflowId: 'export:acme:docs.acme.example',
};

async function listed(store: FeedbackStore, since?: string): Promise<AuditEntry[]> {
  const auditEntries: AuditEntry[] = [];
  for await (const entry of store.listAuditEntries(since === undefined ? {} : { since })) auditEntries.push(entry);
  return auditEntries;
}

describe('the audit (X6)', () => {
  it('keeps an audit entry once, as it was first written', async () => {
    await using at = await temporaryStore();
    await at.store.recordAuditEntries([approval]);
    await at.store.recordAuditEntries([
      { ...approval, who: 'somebody else' },
      { ...approval, entryId: 'run-1/update-2' },
    ]);
    expect(await listed(at.store)).toEqual([{ ...approval, entryId: 'run-1/update-2' }, approval]);
  });

  it('keeps what nobody named and what both databases refuse to hold as text', async () => {
    await using at = await temporaryStore();
    const odd = { ...approval, org: null, subject: null, workflowId: null, who: 'a\u0000b', reason: 'no \ud800 end' };
    await at.store.recordAuditEntries([odd]);
    expect(await listed(at.store)).toEqual([{ ...odd, who: 'a\uFFFDb', reason: 'no \uFFFD end' }]);
  });

  it('finds nothing by what no database holds as text', async () => {
    await using at = await temporaryStore();
    await at.store.recordAuditEntries([approval]);
    const filters: AuditFilter[] = [
      { org: 'a\u0000' },
      { subject: 'a\u0000' },
      { named: 'a\u0000' },
      { who: 'a\u0000' },
      { after: { at: '2026-11-20T08:00:00.000Z', entryId: 'a\u0000' } },
    ];
    for (const filter of filters)
      for await (const entry of at.store.listAuditEntries(filter)) expect(entry).toBeUndefined();
  });

  it('lists audit entries newest first, from a moment on, however many there are', async () => {
    await using at = await temporaryStore();
    const auditEntries = Array.from({ length: 1_200 }, (_, n) => ({
      ...approval,
      entryId: `run/${n}`,
      // Several in the same millisecond: pages of the list must not lose or repeat one.
      at: new Date(Date.parse(approval.at) + Math.floor(n / 7)).toISOString(),
    }));
    await at.store.recordAuditEntries(auditEntries);
    const all = await listed(at.store);
    expect(new Set(all.map(({ entryId }) => entryId)).size).toBe(1_200);
    expect(all).toHaveLength(1_200);
    expect(all.map((entry) => entry.at)).toEqual([...auditEntries].reverse().map((entry) => entry.at));
    expect(await listed(at.store, '2026-11-21T08:00:00.171Z')).toHaveLength(3);
  });

  it('is narrowed down by organization, kind, names and parts of names, and goes on after a audit entry', async () => {
    await using at = await temporaryStore();
    const others = [
      { ...approval, entryId: '2', org: 'other', subject: 'prj_1', action: 'erase' as const },
      { ...approval, entryId: '3', who: 'Bert 100%' },
      { ...approval, entryId: '4', subject: null, org: null, who: 'a\\b' },
    ];
    await at.store.recordAuditEntries([approval, ...others]);
    const found = async (filter: AuditFilter) => {
      const ids: string[] = [];
      for await (const { entryId } of at.store.listAuditEntries(filter)) ids.push(entryId);
      return ids;
    };
    expect(await found({})).toEqual(['run-1/update-1', '4', '3', '2']);
    expect(await found({ org: 'other' })).toEqual(['2']);
    expect(await found({ action: 'erase' })).toEqual(['2']);
    expect(await found({ subject: 'prj_1' })).toEqual(['2']);
    expect(await found({ subject: 'prj' })).toEqual([]);
    expect(await found({ named: 'PRJ' })).toEqual(['2']);
    expect(await found({ named: 'prj%1' })).toEqual([]);
    expect(await found({ who: 'bert' })).toEqual(['3']);
    expect(await found({ who: '0%' })).toEqual(['3']);
    expect(await found({ who: 'a\\b' })).toEqual(['4']);
    expect(await found({ after: { at: approval.at, entryId: '4' } })).toEqual(['3', '2']);
    expect(await found({ org: 'acme', after: { at: approval.at, entryId: '4' } })).toEqual(['3']);
  });

  it('takes the entries of a command into a store that has tables, and makes none elsewhere', async () => {
    await using at = await temporaryStore();
    const audit = await openAudit(at.place);
    await audit.recordAuditEntries([approval]);
    await audit.close();
    expect(await at.rows('select entry_id from audit')).toEqual([{ entry_id: approval.entryId }]);
    await at.run('delete from kysely_migration');
    await expect(openAudit(at.place)).rejects.toThrow(/it has no audit yet\. Start a worker of this version/);
    expect(await at.rows('select name from kysely_migration')).toEqual([]);
  });
});
