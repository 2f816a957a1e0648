import { describe, expect, it, vi } from 'vitest';
import type { FeedbackRecord, RecordFilter } from '../../../src/feedback/files/feedback-record.ts';
import { recordColumns } from '../../../src/feedback/files/feedback-record.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { Statement } from '../../../src/sqlite.ts';
import { entry, temporarySqliteStore, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const everything: RecordFilter = { org: 'acme', project: 'prj_1', includeDeleted: false };

async function read(store: FeedbackStore, filter: Partial<RecordFilter> = {}): Promise<FeedbackRecord[]> {
  const records: FeedbackRecord[] = [];
  for await (const record of store.entryRecords({ ...everything, ...filter })) records.push(record);
  return records;
}

const idsOf = (records: readonly FeedbackRecord[]) => records.map(({ id }) => id);

describe('entryRecords', () => {
  it('hands out exactly the columns, booleans and unknown fields as what they are', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      entry('a', { source: 'contextual', helpful: false, contact: 'a@b.example', extra: { rating: 5, tags: ['x'] } }),
      entry('b', { source: 'code_snippet', code: 'x = 1', filename: null, lang: 'py' }),
    ]);
    const [a, b] = await read(at.store);
    expect(Object.keys(a ?? {}).sort()).toEqual([...recordColumns].sort());
    expect(a).toMatchObject({ org_id: 'acme', project_id: 'prj_1', helpful: false, extra: { rating: 5, tags: ['x'] } });
    expect(a).toMatchObject({ created_at: '2026-11-20T10:00:00Z', created_at_utc: '2026-11-20T10:00:00.000Z' });
    expect(b).toMatchObject({ helpful: null, extra: {}, code: 'x = 1', filename: null, deleted_at: null });
  });

  it('goes by date, then id, those without a date last, each row once over many pages', async () => {
    await using at = await temporaryStore();
    const entries = Array.from({ length: 1_700 }, (_, n) =>
      entry(`id-${(n * 7919) % 1_700}`, {
        createdAt: n % 5 === 0 ? null : `2026-11-${String((n % 9) + 10)}T00:00:00Z`,
      }),
    );
    await wholePass(at.store, 'p', entries);
    const records = await read(at.store);
    const key = ({ created_at_utc, id }: FeedbackRecord) => `${created_at_utc ?? '~'} ${id}`;
    expect(records.map(key)).toEqual(records.map(key).sort());
    expect(new Set(idsOf(records)).size).toBe(1_700);
  });

  it.each([
    [{ from: '2026-11-02T00:00:00.000Z' }, ['b', 'c']],
    [{ to: '2026-11-02T00:00:00.000Z' }, ['a']],
    [{ from: '2026-11-01T00:00:00.000Z', to: '2026-11-03T00:00:00.000Z' }, ['a', 'b']],
    [{ sources: ['agent'] }, ['b']],
    [{ sources: ['agent', 'contextual'] }, ['b', 'c']],
    [{ statuses: ['resolved'] }, ['c', 'undated']],
    [{ sources: ['never seen'] }, []],
    [{ project: 'other' }, []],
    [{ org: 'other' }, []],
    [{ includeDeleted: true }, ['a', 'b', 'c', 'gone', 'undated']],
    [{}, ['a', 'b', 'c', 'undated']],
  ] satisfies [Partial<RecordFilter>, string[]][])('reads with %j: %j', async (filter, expected) => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      entry('undated', { createdAt: 'lately', status: 'resolved' }),
      entry('c', { createdAt: '2026-11-03T00:00:00Z', source: 'contextual', status: 'resolved' }),
      entry('b', { createdAt: '2026-11-02T00:00:00Z', source: 'agent' }),
      entry('a', { createdAt: '2026-11-01T00:00:00Z' }),
      entry('gone', { createdAt: '2026-11-04T00:00:00Z' }),
    ]);
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'gone'");
    expect(idsOf(await read(at.store, filter))).toEqual(expected);
  });

  it('counts what a filter by date leaves out for having no date', async () => {
    await using at = await temporaryStore();
    const undated = { createdAt: null };
    await wholePass(at.store, 'p', [entry('a'), entry('b', undated), entry('c', { ...undated, source: 'agent' })]);
    expect(await at.store.countUndated(everything)).toBe(2);
    expect(await at.store.countUndated({ ...everything, sources: ['agent'] })).toBe(1);
    expect(await at.store.countUndated({ ...everything, project: 'other' })).toBe(0);
  });

  it('is one snapshot, and does not block writers', async () => {
    await using at = await temporaryStore();
    const entries = Array.from({ length: 1_200 }, (_, n) => entry(`e${String(n).padStart(4, '0')}`));
    await wholePass(at.store, 'p', entries);
    const other = await at.open();
    const seen: FeedbackRecord[] = [];
    for await (const record of at.store.entryRecords(everything)) {
      seen.push(record);
      if (seen.length !== 10) continue;
      await wholePass(other, 'q', [entry('e0005', { createdAt: '2026-11-21T00:00:00Z' }), entry('zzz')]);
    }
    expect(idsOf(seen)).toEqual(entries.map(({ id }) => id));
    expect(await read(at.store)).toHaveLength(1_201);
  });

  it('has a few megabytes in memory at a time, however long the texts are', async () => {
    await using at = await temporarySqliteStore();
    const long = (n: number) => entry(`e${n}`, { comment: 'long '.repeat(n === 3 ? 2_000_000 : 600_000) });
    for (let n = 0; n < 10; n += 1) await wholePass(at.store, `p${n}`, [long(n)]);
    const all = vi.spyOn(Statement.prototype, 'all');
    const ids = idsOf(await read(at.store));
    for await (const { id } of at.store.findRecords({ words: 'long' })) ids.push(id);
    const lengths = all.mock.results.map(({ value }) => JSON.stringify(value).length);
    expect(ids.toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `e${Math.floor(n / 2)}`));
    expect(Math.max(...lengths)).toBeLessThan(11_000_000);
    // Those that fit are read together.
    expect(lengths.filter((length) => length > 5_000_000).length).toBeGreaterThan(2);
  });

  it('gives the store back when the reader stops early', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [entry('a'), entry('b')]);
    for await (const record of at.store.entryRecords(everything)) {
      expect(record.id).toBe('a');
      break;
    }
    await wholePass(at.store, 'q', [entry('c')]);
    expect(await read(at.store)).toHaveLength(3);
  });
});
