import { describe, expect, it } from 'vitest';
import { StalePosition } from '../../../src/feedback/reading/passes.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

describe('checkWritable', () => {
  it('leaves nothing behind', async () => {
    await using at = await temporaryStore();
    await at.store.checkWritable();
    expect(await at.rows('select * from feedback_rejects')).toEqual([]);
  });
});

describe('several writers', () => {
  it('commit a page that both have read exactly once', async () => {
    await using at = await temporaryStore();
    const other = await at.open();
    await begin(at.store, 'p');
    const commit = page('p', [entry('a'), entry('b')]);
    const results = await Promise.allSettled([at.store.upsertPage(commit), other.upsertPage(commit)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const failure = results.find((result) => result.status === 'rejected');
    expect(failure?.reason).toBeInstanceOf(StalePosition);
    expect((await other.getPass('p'))?.entries).toMatchObject({ seen: 2, inserted: 2 });
  });

  it('lose nothing when they write different passes at the same time', async () => {
    await using at = await temporaryStore();
    const stores = [at.store, await at.open(), await at.open()];
    await Promise.all(
      stores.map(async (store, writer) => {
        let { position } = await begin(store, `p${writer}`);
        for (let number = 0; number < 10; number += 1) {
          const entries = [entry(`own ${writer} ${number}`), entry(`shared ${number}`)];
          const next = number < 9 ? { nextCursor: `c${number}`, hasMore: true } : {};
          position = (await store.upsertPage(page(`p${writer}`, entries, { from: position, ...next }))).position;
        }
      }),
    );
    expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 40, rejects: 0, tombstones: 0 });
    const passes = await at.store.listPasses({});
    expect(passes.reduce((sum, pass) => sum + pass.entries.inserted, 0)).toBe(40);
  });

  it('count every entry once when passes of one project overlap, whatever both change', async () => {
    await using at = await temporaryStore();
    const stores = [at.store, await at.open(), await at.open(), await at.open()];
    const ids = Array.from({ length: 40 }, (_, n) => `e${n}`);
    await Promise.all(
      stores.map(async (store, writer) => {
        let { position } = await begin(store, `p${writer}`);
        for (let number = 0; number < 6; number += 1) {
          const status = `status ${(writer + number) % 3}`;
          // Each writer in an order of its own.
          const entries = [...ids.slice(writer * 9), ...ids.slice(0, writer * 9)].map((id) => entry(id, { status }));
          const next = number < 5 ? { nextCursor: `c${number}`, hasMore: true } : {};
          position = (await store.upsertPage(page(`p${writer}`, entries, { from: position, ...next }))).position;
        }
      }),
    );
    const passes = await at.store.listPasses({});
    const total = (count: 'inserted' | 'updated' | 'unchanged') =>
      passes.reduce((sum, pass) => sum + pass.entries[count], 0);
    expect(total('inserted')).toBe(40);
    expect(total('inserted') + total('updated') + total('unchanged')).toBe(40 * 6 * 4);
    // Every change of status is in the history, and each begins where the one before ended.
    const history = await at.rows('select id, old, new from feedback_changes');
    expect(history).toHaveLength(total('updated'));
    const rows = await at.rows('select id, status from feedback');
    for (const { id, status } of rows) {
      const own = history.filter((change) => change.id === id);
      const visits = (name: 'old' | 'new', value: unknown) => own.filter((change) => change[name] === value).length;
      // A walk: it leaves each status as often as it comes to it, but for where it begins and ends.
      for (const value of ['status 0', 'status 1', 'status 2']) {
        const more = visits('new', value) - visits('old', value);
        expect(more).toBeLessThanOrEqual(value === status ? 1 : 0);
        expect(more).toBeGreaterThanOrEqual(value === status ? 0 : -1);
      }
    }
  });

  it('end a pass once', async () => {
    await using at = await temporaryStore();
    const other = await at.open();
    for (let number = 0; number < 10; number += 1) {
      const passId = `p${number}`;
      await begin(at.store, passId);
      await at.store.upsertPage(page(passId, [entry('a')]));
      const results = await Promise.all([
        at.store.finishPass(passId, finished),
        other.finishPass(passId, { ...finished, outcome: 'cancelled' }),
      ]);
      const kept = await at.store.getPass(passId);
      expect(results).toEqual([kept, kept]);
    }
  });

  it('begin a pass once', async () => {
    await using at = await temporaryStore();
    const stores = [at.store, await at.open(), await at.open()];
    const rows = await Promise.all(stores.map((store, writer) => begin(store, 'p', { runId: `run ${writer}` })));
    expect(new Set(rows.map(({ runId }) => runId)).size).toBe(1);
    expect(await at.store.listPasses({})).toHaveLength(1);
  });

  it('share a database: the identity is the same for all', async () => {
    await using at = await temporaryStore();
    expect((await at.open()).identity).toBe(at.store.identity);
    await wholePass(at.store, 'p', [entry('a')]);
    expect((await at.open()).identity).toBe(at.store.identity);
  });
});
