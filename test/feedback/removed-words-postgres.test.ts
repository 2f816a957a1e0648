import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { privacyWith } from '../tools/feedback/private-settings.ts';
import { entry, temporaryPostgresStore, wholePass } from '../tools/feedback/temporary-store.ts';
import { hasPostgres, type PostgresDatabase } from '../tools/servers/postgres-database.ts';

const at = new Date('2026-11-21T09:00:00Z');
const secret = (n: number) => createHash('sha256').update(`${n}`).digest('hex').slice(0, 20);
const many = Array.from({ length: 300 }, (_, n) =>
  entry(`${n}`, {
    contact: n % 3 === 0 ? 'jane@mail.example' : null,
    comment: secret(n),
    createdAt: n % 2 === 0 ? '2026-11-20T10:00:00Z' : '2026-10-01T00:00:00Z',
  }),
);

/** Which words the file of the index has. */
async function inIndex({ rows, run }: PostgresDatabase): Promise<number[]> {
  await run('checkpoint');
  const [found] = await rows(
    `select current_setting('data_directory') || '/' || pg_relation_filepath('search_entries_by_word') as file`,
  );
  const bytes = readFileSync(String(found?.file), 'latin1');
  return many.flatMap((_, n) => (bytes.includes(secret(n)) ? [n] : []));
}

describe.skipIf(!hasPostgres())('the index of words in PostgreSQL', () => {
  it('forgets the words of what was erased and expired', async () => {
    await using db = await temporaryPostgresStore();
    const { database, store } = db;
    await wholePass(store, 'p', many);
    expect(await inIndex(database)).toHaveLength(300);
    expect(await store.erase({ contact: 'jane@mail.example', at })).toMatchObject({ entries: 100, scrubbed: true });
    expect((await inIndex(database)).filter((n) => n % 3 === 0)).toEqual([]);
    expect(await inIndex(database)).toHaveLength(200);

    const ageing = await db.open(privacyWith({ retentionMs: 30 * 86_400_000 }));
    await database.run(`update search_progress set cleaned_at = '2026-11-20T00:00:00.000Z'`);
    await ageing.expire('prj_1', at);
    expect((await inIndex(database)).filter((n) => n % 2 === 1)).toEqual([]);
    expect(await inIndex(database)).toHaveLength(100);
    expect((await store.findEntries({ words: secret(2), limit: 1 })).entries).toHaveLength(1);
  });
});
