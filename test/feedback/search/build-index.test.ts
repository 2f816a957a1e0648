import { describe, expect, it } from 'vitest';
import { completeIndex } from '../../../src/feedback/search/build-index.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { entry, type TemporaryStore, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

/** A store as `feedback move` leaves it: with its entries, and without their words. */
async function movedStore(entries: number): Promise<TemporaryStore> {
  const db = await temporaryStore();
  await wholePass(
    db.store,
    'p',
    Array.from({ length: entries }, (_, n) => entry(`${n}`, { comment: n % 2 === 0 ? 'even' : 'odd' })),
  );
  await wholePass(db.store, 'q', [entry('0', { comment: 'even' })], { project: 'prj_2' });
  await db.run('delete from search_entries; update search_progress set complete = 0');
  return db;
}

const count = async ({ rows }: TemporaryStore): Promise<number> =>
  Number((await rows('select count(*) as n from search_entries'))[0]?.n);

describe('the index of a moved store', () => {
  it('grows step by step, in any process, and says how far it is', async () => {
    await using db = await movedStore(1_200);
    const [one, other] = [await db.open(), await db.open()];
    expect(await count(db)).toBe(0);
    expect(await one.findEntries({ words: 'even', limit: 1 })).toMatchObject({
      entries: [],
      index: { complete: false, percent: 0 },
    });
    expect(await one.indexMore()).toEqual({ complete: false, percent: 41 });
    expect(await other.indexMore()).toEqual({ complete: false, percent: 83 });
    expect((await one.findEntries({ words: 'even', limit: 1 })).total.count).toBeGreaterThan(400);
    await Promise.all([one.indexMore(), other.indexMore()]);
    while (!(await one.indexMore()).complete);
    expect(await count(db)).toBe(1_201);
    const { total, index } = await one.findEntries({ words: 'even', limit: 1 });
    expect({ total, index }).toEqual({
      total: { count: 601, isExact: true },
      index: { complete: true, percent: 100 },
    });
  });

  it('takes what passes bring meanwhile, and what they take away', async () => {
    await using db = await movedStore(600);
    const store = await db.open();
    await wholePass(store, 'r', [entry('0', { comment: 'changed' }), entry('new', { comment: 'even' })]);
    expect(await count(db)).toBe(2);
    while (!(await store.indexMore()).complete);
    expect(await count(db)).toBe(602);
    expect((await store.findEntries({ words: 'even', limit: 1 })).total.count).toBe(301);
    expect((await store.findEntries({ words: 'changed', limit: 1 })).total.count).toBe(1);
  });

  it('is completed by a worker, also after a step that failed', async () => {
    await using db = await movedStore(600);
    const store = await db.open();
    const failures: unknown[] = [];
    let calls = 0;
    const flaky = {
      indexMore: async () => {
        calls += 1;
        if (calls === 2) throw new Error('away');
        return await store.indexMore();
      },
    };
    await completeIndex({ store: flaky, onFailure: (error) => failures.push(error), stopped: () => false }, 1);
    expect(failures).toHaveLength(1);
    expect(await count(db)).toBe(601);
  });

  it('stays as it is for entries whose contacts alone are hashed or dropped', async () => {
    for (const contacts of ['hash', 'drop'] as const) {
      await using db = await temporaryStore();
      const said = [1, 2, 3].map((n) => entry(`${n}`, { contact: `${n}@mail.example`, comment: 'kept' }));
      await wholePass(db.store, 'p', said);
      const places = () => db.rows('select id, place from search_entries order by id');
      const before = await places();
      const treated = await (await db.open(privacyWith({ contacts }))).applyPrivacy(new Date());
      expect(treated.entries).toBe(3);
      expect(await places()).toEqual(before);
      // And is another where a text goes with the contact.
      await (await db.open(privacyWith({ contacts, comments: 'drop' }))).applyPrivacy(new Date());
      expect((await db.store.findEntries({ words: 'kept', limit: 1 })).total.count).toBe(0);
      expect(await count(db)).toBe(3);
    }
  });

  it('is complete from the start where there is nothing', async () => {
    await using db = await temporaryStore();
    expect(await db.store.indexMore()).toEqual({ complete: true, percent: 100 });
  });
});
