import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { begin, entry, finished, page, temporarySqliteStore, wholePass } from '../../tools/feedback/temporary-store.ts';
import { bytesIn } from '../../tools/file-bytes.ts';

const at = new Date('2026-11-21T09:00:00Z');

/** Words that nothing else has, many enough for the index to have many pages. */
const secret = (n: number) => createHash('sha256').update(`${n}`).digest('hex').slice(0, 20);
const secrets = Array.from({ length: 600 }, (_, n) => secret(n));

const many: FeedbackEntry[] = secrets.map((word, n) =>
  entry(`${n}`.padStart(4, '0'), {
    contact: n % 3 === 0 ? 'jane@mail.example' : `bob-${n}@kept.example`,
    comment: `${word} ${'common words and more '.repeat(n % 40)}`,
    code: n % 5 === 0 ? `call_${word}()` : null,
    createdAt: n % 2 === 0 ? '2026-11-20T10:00:00Z' : '2026-10-01T00:00:00Z',
  }),
);

/** Words found in the bytes, of those whose number passes. The index writes only what differs from the word before. */
function left(folder: string, which: (n: number) => boolean): string[] {
  const bytes = bytesIn(folder);
  return secrets.filter((word, n) => which(n) && bytes.includes(word.slice(6)));
}

describe('the words of what was removed are in no file of SQLite', () => {
  it('after an erasure', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    expect(left(db.folder, () => true)).toHaveLength(600);
    await db.store.erase({ contact: 'jane@mail.example', at });
    expect(left(db.folder, (n) => n % 3 === 0)).toEqual([]);
    expect(left(db.folder, (n) => n % 3 !== 0)).toHaveLength(400);
    expect(await db.store.findEntries({ words: secret(0), limit: 1 })).toMatchObject({ entries: [] });
    expect(await db.store.findEntries({ words: secret(1), limit: 1 })).toMatchObject({ entries: [{ id: '0001' }] });
  });

  it('after entries have become too old', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    const ageing = await db.open(privacyWith({ retentionMs: 30 * 86_400_000 }));
    await ageing.expire(['prj_1'], at);
    expect(left(db.folder, (n) => n % 2 === 1)).toEqual([]);
    expect(left(db.folder, (n) => n % 2 === 0)).toHaveLength(300);
  });

  it('also what SQLite itself leaves behind, once a day where a retention is set', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    const lasting = await db.open(privacyWith({ retentionMs: 3_650 * 86_400_000 }));
    await lasting.expire(['prj_1'], at);
    // As rows that were moved: in no row any more, and not overwritten.
    await db.run(
      'pragma secure_delete = off; update feedback set comment = null, code = null; delete from search_entries',
    );
    await lasting.expire(['prj_1'], at);
    expect(left(db.folder, () => true).length).toBeGreaterThan(0);
    await db.run(`update search_progress set cleaned_at = '2026-11-20T00:00:00.000Z'`);
    await Promise.all(['prj_1', 'prj_2', 'prj_3'].map((project) => lasting.expire([project], at)));
    expect(left(db.folder, () => true)).toEqual([]);
  });

  it('after comments are hashed, dropped, replaced, or gone at the service', async () => {
    for (const comments of ['hash', 'drop'] as const) {
      await using db = await temporarySqliteStore();
      await wholePass(db.store, 'p', many);
      await (await db.open(privacyWith({ comments }))).applyPrivacy(at);
      expect(left(db.folder, () => true)).toEqual([]);
      expect(await db.store.findEntries({ words: 'common', limit: 1 })).toMatchObject({ entries: [] });
      expect((await db.store.findEntries({ limit: 1 })).total.count).toBe(600);
    }
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    await wholePass(
      db.store,
      'q',
      many.map((one) => ({ ...one, comment: 'other', code: null })),
    );
    // SQLite leaves a few behind where it moved rows: they go within a day where a retention is set (privacy.md).
    await (await db.open(privacyWith({ retentionMs: 3_650 * 86_400_000 }))).expire(['prj_1'], at);
    expect(left(db.folder, () => true)).toEqual([]);
  });

  it('after a worker was killed that treated many, when the next one starts', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    const secureDelete = () => db.rows(`select v from search_words_config where k = 'secure-delete'`);
    // As such a worker leaves it: words are only noted as removed.
    await db.run(`insert into search_words (search_words, rank) values ('secure-delete', 0)`);
    const others = many.map((one) => ({ ...one, comment: 'other', code: null }));
    await wholePass(db.store, 'q', others);
    expect(left(db.folder, () => true)).not.toEqual([]);
    expect(await db.store.applyPrivacy(at)).toEqual({ entries: 0, rejects: 0 });
    expect(left(db.folder, () => true)).toEqual([]);
    expect(await secureDelete()).toEqual([{ v: 1 }]);

    await (await db.open(privacyWith({ comments: 'drop' }))).applyPrivacy(at);
    expect(await secureDelete()).toEqual([{ v: 1 }]);
    expect((await db.store.findEntries({ words: 'other', limit: 1 })).total.count).toBe(0);
  });

  it('and hashed from the start, no word is ever in them', async () => {
    await using db = await temporarySqliteStore(privacyWith({ comments: 'hash' }));
    await begin(db.store, 'p');
    await db.store.upsertPage(page('p', many));
    await db.store.finishPass('p', finished);
    expect(left(db.folder, () => true)).toEqual([]);
  });
});
