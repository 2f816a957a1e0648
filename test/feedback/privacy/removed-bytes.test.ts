import { describe, expect, it } from 'vitest';
import { Database } from '../../../src/sqlite.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { begin, entry, finished, page, temporarySqliteStore, wholePass } from '../../tools/feedback/temporary-store.ts';
import { bytesIn } from '../../tools/file-bytes.ts';

const at = new Date('2026-11-21T09:00:00Z');

/** Enough rows of all sizes for pages to fill, split and be freed. */
const many = Array.from({ length: 600 }, (_, n) =>
  entry(`${n}`.padStart(4, '0'), {
    contact: n % 3 === 0 ? 'jane@planted.example' : `bob-${n}@kept.example`,
    comment: `${n % 3 === 0 ? 'PLANTED-JANE' : 'kept-bob'} ${'words '.repeat((n * 37) % 900)}`,
    createdAt: n % 2 === 0 ? '2026-11-20T10:00:00Z' : '2026-10-01T00:00:00Z',
  }),
);

describe('the bytes of what was removed are in no file of SQLite', () => {
  it('after an erasure, with the rest still there', async () => {
    await using db = await temporarySqliteStore();
    await begin(db.store, 'p');
    const raw = '{"id":"r","contact":"jane@planted.example","comment":"PLANTED-JANE"}';
    await db.store.upsertPage(page('p', many, { rejected: [{ id: 'r', raw, reason: 'x' }] }));
    await db.store.finishPass('p', finished);
    expect(bytesIn(db.folder)).toContain('PLANTED-JANE');
    const result = await db.store.erase({ contact: 'jane@planted.example', at });
    expect(result).toMatchObject({ entries: 200, rejects: 1, scrubbed: true });
    const bytes = bytesIn(db.folder);
    for (const text of ['PLANTED-JANE', 'jane@planted']) expect(bytes).not.toContain(text);
    expect(bytes).toContain('kept-bob');
  });

  it('after comments are replaced by others, without an erasure', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    const replaced = many.map((one) => ({ ...one, comment: null, contact: null }));
    await wholePass(db.store, 'q', replaced);
    await db.store.close();
    expect(bytesIn(db.folder)).not.toContain('PLANTED-JANE');
  });

  it('after another setting was applied, and after entries have become too old', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many);
    const ageing = await db.open(privacyWith({ retentionMs: 30 * 86_400_000 }));
    expect(await ageing.expire(['prj_1'], at)).toEqual({ entries: 300, rejects: 0 });
    expect(bytesIn(db.folder)).not.toMatch(/bob-1@kept|bob-601@kept/);
    expect(bytesIn(db.folder)).toContain('bob-2@kept');
    const dropping = await db.open(privacyWith({ contacts: 'drop', comments: 'hash' }));
    expect(await dropping.applyPrivacy(at)).toEqual({ entries: 300, rejects: 0 });
    const bytes = bytesIn(db.folder);
    for (const text of ['@kept.example', '@planted.example', 'PLANTED-JANE', 'kept-bob']) {
      expect(bytes).not.toContain(text);
    }
  });

  it('or the erasure says that another program is in the way, and can be repeated', async () => {
    await using db = await temporarySqliteStore();
    await wholePass(db.store, 'p', many.slice(0, 3));
    const reader = new Database(db.file, { readOnly: true });
    const rows = reader.prepare('select id from feedback').iterate();
    rows.next();
    const first = await db.store.erase({ contact: 'jane@planted.example', at });
    expect(first).toMatchObject({ entries: 1, scrubbed: false });
    rows.return?.();
    reader.close();
    expect(await db.store.erase({ contact: 'jane@planted.example', at })).toMatchObject({ scrubbed: true });
    expect(bytesIn(db.folder)).not.toContain('PLANTED-JANE');
  });
});
