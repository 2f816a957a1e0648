import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
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

  it('does not stay beside the new one when making it anew was cut off', async () => {
    await using db = await temporaryPostgresStore();
    const { database, store } = db;
    await wholePass(store, 'p', many);
    // What PostgreSQL leaves behind: the new one half made, or the old one with all its words.
    for (const left of ['ccnew', 'ccold']) {
      const name = `search_entries_by_word_${left}`;
      await database.run(`set role ${database.user}; create index ${name} on search_entries using gin (words)`);
      await database.run(`update pg_index set indisvalid = false where indexrelid = '${name}'::regclass`);
    }
    expect(await store.erase({ contact: 'jane@mail.example', at })).toMatchObject({ scrubbed: true });
    const indexes = await database.rows(
      `select indexname from pg_indexes where tablename = 'search_entries' and indexname like '%by_word%'`,
    );
    expect(indexes).toEqual([{ indexname: 'search_entries_by_word' }]);
  });

  it('is made anew by one at a time: retention leaves it to who is at it', async () => {
    await using db = await temporaryPostgresStore();
    const { database, store } = db;
    await wholePass(store, 'p', many);
    const ageing = await db.open(privacyWith({ retentionMs: 30 * 86_400_000 }));
    const cleaned = () => database.rows('select cleaned_at is not null as is from search_progress');
    const other = new Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('select pg_advisory_lock(7301180745)');
      await ageing.expire('prj_1', at);
      expect(await cleaned()).toEqual([{ is: false }]);
    } finally {
      await other.end();
    }
    const oneDay = new Date(at.getTime() + 86_400_000 * 30);
    await Promise.all([ageing.expire('prj_1', oneDay), ageing.expire('prj_1', oneDay)]);
    expect(await cleaned()).toEqual([{ is: true }]);
    expect(await inIndex(database)).toEqual([]);
  });
});
