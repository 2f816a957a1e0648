import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openPostgresFeedbackStore, usualLimits } from '../../../src/feedback/store/postgres-store.ts';
import { reindex, vacuum } from '../../../src/feedback/store/queries.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { entry, temporaryPostgresStore, wholePass } from '../../tools/feedback/temporary-store.ts';
import { hasPostgres, type PostgresDatabase } from '../../tools/servers/postgres-database.ts';

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

/** What another program does in a transaction that it leaves open; returns what ends it. */
async function holding({ url }: PostgresDatabase, ...statements: string[]): Promise<() => Promise<void>> {
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query('begin isolation level repeatable read');
  for (const statement of statements) await other.query(statement);
  return () => other.end();
}

/** A statement that has waited for so many seconds. */
function isWaiting({ rows }: PostgresDatabase, statement: string, seconds = 0) {
  const waits = `state = 'active' and wait_event_type = 'Lock' and query_start < now() - interval '${seconds} s'`;
  return expect.poll(() => rows(`select 1 from pg_stat_activity where query = '${statement}' and ${waits}`));
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
    await ageing.expire(['prj_1'], at);
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
      await ageing.expire(['prj_1'], at);
      expect(await cleaned()).toEqual([{ is: false }]);
    } finally {
      await other.end();
    }
    const oneDay = new Date(at.getTime() + 86_400_000 * 30);
    await Promise.all([ageing.expire(['prj_1'], oneDay), ageing.expire(['prj_1'], oneDay)]);
    expect(await cleaned()).toEqual([{ is: true }]);
    expect(await inIndex(database)).toEqual([]);
  });

  it.each([
    [vacuum, 'lock table search_entries in share update exclusive mode'],
    [reindex, 'select 1 from search_entries limit 1'],
  ])('is waited for longer than a page is: %s', async (statement, hold) => {
    await using db = await temporaryPostgresStore();
    const { database } = db;
    await wholePass(db.store, 'p', many);
    const store = await openPostgresFeedbackStore(database.place, undefined, { ...usualLimits, answerWithinMs: 2_000 });
    const release = await holding(database, hold);
    const erasing = store.erase({ contact: 'jane@mail.example', at });
    await isWaiting(database, statement, 3).toHaveLength(1);
    await release();
    expect(await erasing).toMatchObject({ entries: 100, scrubbed: true });
    await store.close();
    expect((await inIndex(database)).filter((n) => n % 3 === 0)).toEqual([]);
  });

  it('keeps no pass from ending', async () => {
    await using db = await temporaryPostgresStore();
    const { database } = db;
    await wholePass(db.store, 'p', many);
    const ageing = await db.open(privacyWith({ retentionMs: 30 * 86_400_000 }));
    const release = await holding(database, 'select 1 from search_entries limit 1');
    expect(await ageing.expire(['prj_1'], at)).toMatchObject({ entries: 150 });
    await isWaiting(database, reindex).toHaveLength(1);
    await release();
    await expect.poll(() => inIndex(database)).toHaveLength(150);
  });

  it('is left to the server by a process that stops', async () => {
    await using db = await temporaryPostgresStore();
    const { database } = db;
    await wholePass(db.store, 'p', many);
    const store = await openPostgresFeedbackStore(database.place);
    const release = await holding(database, 'select 1 from search_entries limit 1');
    const erasing = store.erase({ contact: 'jane@mail.example', at });
    await isWaiting(database, reindex).toHaveLength(1);
    await store.close();
    expect(await erasing).toMatchObject({ entries: 100, scrubbed: false });
    await release();
  });

  it('is left to the owner of the tables by another role', async () => {
    await using db = await temporaryPostgresStore();
    const { database, store } = db;
    await wholePass(store, 'p', many);
    const owner = `owner_of_${database.name}`;
    const tables = await database.rows(`select tablename from pg_tables where schemaname = 'public'`);
    await database.run(
      [
        `create role ${owner}; grant create on schema public to ${owner}`,
        ...tables.map(({ tablename }) => `alter table ${tablename} owner to ${owner}`),
        `grant select, insert, update, delete on all tables in schema public to ${database.user}`,
      ].join(';'),
    );
    expect(await store.erase({ contact: 'jane@mail.example', at })).toMatchObject({ entries: 100, scrubbed: false });
    expect(await inIndex(database)).toHaveLength(300);
    // Neither runs in a transaction, as several statements at once would.
    for (const statement of [vacuum, reindex]) await database.run(statement);
    expect((await inIndex(database)).filter((n) => n % 3 === 0)).toEqual([]);
    await database.run(`reassign owned by ${owner} to ${database.user}; drop owned by ${owner}; drop role ${owner}`);
  });
});
