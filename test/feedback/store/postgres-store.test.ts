import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FeedbackStoreUnavailable } from '../../../src/feedback/store/feedback-store-unavailable.ts';
import type { PostgresPlace } from '../../../src/feedback/store/postgres-store.ts';
import { examinePostgres, openPostgresFeedbackStore } from '../../../src/feedback/store/postgres-store.ts';
import {
  begin,
  entry,
  page,
  temporaryFolder,
  temporaryPostgresStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';
import { createDatabase, hasPostgres, usePostgres } from '../../tools/servers/postgres-database.ts';
import { startPostgres } from '../../tools/servers/postgres-server.ts';

/** Opens what must not open; the password is never told. */
async function refused(place: PostgresPlace): Promise<FeedbackStoreUnavailable> {
  const error = await openPostgresFeedbackStore(place).catch((reason: unknown) => reason);
  if (!(error instanceof FeedbackStoreUnavailable)) throw new Error(`expected FeedbackStoreUnavailable, got ${error}`);
  expect(error.message).toContain(place.place);
  expect(error.message).toContain(error.hint);
  expect(JSON.stringify([error.message, error.stack, error])).not.toContain('planted');
  expect(error.cause).toBeUndefined();
  return error;
}

describe.skipIf(!hasPostgres())('openPostgresFeedbackStore', () => {
  it('makes the tables once when several processes start together, and keeps data and identity', async () => {
    await using database = await createDatabase();
    expect(await examinePostgres(database.place)).toMatchObject({ state: 'empty', schema: 'public', mayCreate: true });
    const stores = await Promise.all([1, 2, 3, 4].map(() => openPostgresFeedbackStore(database.place)));
    expect(new Set(stores.map((store) => store.identity)).size).toBe(1);
    await wholePass(stores[0] ?? expect.fail(), 'p', [entry('e')]);
    for (const store of stores) await store.close();
    expect((await examinePostgres(database.place)).state).toBe('current');
    const again = await openPostgresFeedbackStore(database.place);
    expect(again.identity).toBe(stores[0]?.identity);
    expect(await again.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 0, tombstones: 0 });
    await again.close();
  });

  it('writes nothing by looking', async () => {
    await using database = await createDatabase();
    await examinePostgres(database.place);
    expect(await database.rows("select 1 from pg_tables where schemaname = 'public'")).toEqual([]);
  });

  it('sorts and compares every text by its bytes, whatever the locale of the database', async () => {
    await using at = await temporaryPostgresStore();
    const others = await at.rows(`
      select table_name, column_name, collation_name from information_schema.columns
      where table_schema = 'public' and table_name not like 'kysely%'
        and data_type = 'text' and collation_name is distinct from 'C'`);
    expect(others).toEqual([]);
  });

  it('reaches the server through TLS, and looks at its certificate as asked', async ({ skip }) => {
    const { certificate } = usePostgres().address;
    if (certificate === null) return skip('openssl is not installed: no certificate could be made');
    await using database = await createDatabase();
    const { place } = database;
    const tls = { mode: 'verify-full', rootCert: certificate, cert: null, key: null } as const;
    for (const settings of [tls, { ...tls, mode: 'verify-ca' }, { ...tls, mode: 'require', rootCert: null }] as const) {
      const store = await openPostgresFeedbackStore({ ...place, tls: settings });
      expect(
        await database.rows(
          'select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = current_user or usename = datname and datname = current_database()',
        ),
      ).toContainEqual({ ssl: true });
      await store.close();
    }
    expect((await refused({ ...place, tls: { ...tls, rootCert: null } })).hint).toContain('sslrootcert');
    await using temporary = await temporaryFolder();
    const missing = join(temporary.folder, 'none.pem');
    expect((await refused({ ...place, tls: { ...tls, rootCert: missing } })).message).toContain('certificate');
  });

  it('uses the schema that the options name', async () => {
    await using database = await createDatabase();
    await database.run(`create schema apart authorization ${database.user}; create table feedback (id int)`);
    expect((await refused(database.place)).message).toContain("another program's tables");
    const store = await openPostgresFeedbackStore({ ...database.place, options: '-c search_path=apart' });
    await wholePass(store, 'p', [entry('e')]);
    await store.close();
    expect(await database.rows('select id from apart.feedback')).toEqual([{ id: 'e' }]);
    const nowhere = await refused({ ...database.place, options: '-c search_path=nowhere' });
    expect(nowhere.hint).toContain('search_path');
  });

  it("leaves other programs' tables of other names alone", async () => {
    await using database = await createDatabase();
    await database.run(
      'create table invoices (id int); create schema other; create table other.kysely_migration (x int)',
    );
    const store = await openPostgresFeedbackStore(database.place);
    await store.checkWritable();
    await store.close();
  });
});

describe.skipIf(!hasPostgres())('refusals say what is wrong and how to mend it', () => {
  it.each<[string, (place: PostgresPlace) => PostgresPlace, RegExp, RegExp]>([
    ['nothing listens', (place) => ({ ...place, port: 1 }), /nothing listens there \(ECONNREFUSED\)/, /host and port/],
    ['no such host', (place) => ({ ...place, host: 'db.invalid' }), /name of its host/, /host|name service/],
    ['wrong password', (place) => ({ ...place, password: { read: () => 'planted' } }), /28P01/, /password/],
    ['no password', (place) => ({ ...place, password: null }), /it wants a password/, /\$\{NAME\}/],
    ['no such role', (place) => ({ ...place, user: 'nobody_here' }), /28P01|not let in/, /password|pg_hba/],
    ['no such database', (place) => ({ ...place, database: 'nowhere' }), /no database nowhere/, /CREATE DATABASE/],
  ])('%s', async (_what, change, problem, fix) => {
    await using database = await createDatabase();
    const error = await refused(change(database.place));
    expect(error.message).toMatch(problem);
    expect(error.hint).toMatch(fix);
  });

  it('a role that may not make tables', async () => {
    await using database = await createDatabase();
    await database.run(`alter database ${database.name} owner to current_user`);
    const error = await refused(database.place);
    expect(error.message).toMatch(/lacks a permission \(42501\)/);
    expect(error.hint).toContain(`ALTER DATABASE "${database.name}" OWNER TO "${database.user}"`);
    expect(await examinePostgres(database.place)).toMatchObject({ state: 'empty', mayCreate: false });
  });

  it('a database whose encoding lacks characters', async () => {
    await using database = await createDatabase(undefined, "encoding 'LATIN1' locale 'C' template template0");
    const error = await refused(database.place);
    expect(error.message).toContain('LATIN1');
    expect(error.hint).toContain("ENCODING 'UTF8'");
  });

  it('a database that a newer version has changed', async () => {
    await using at = await temporaryPostgresStore();
    await at.run("insert into kysely_migration values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')");
    expect((await refused(at.database.place)).message).toContain('newer docferry');
  });

  it('a database that takes no writes', async () => {
    await using at = await temporaryPostgresStore();
    await at.run(
      `alter role ${at.database.user} in database ${at.database.name} set default_transaction_read_only = on`,
    );
    const error = await refused(at.database.place);
    expect(error.message).toContain('25006');
    expect(error.hint).toContain('primary');
  });

  it('a server without TLS that is asked for it', async () => {
    const server = await startPostgres(usePostgres().binaries, { ssl: false });
    try {
      await using database = await createDatabase(server.address);
      const tls = { mode: 'verify-full', rootCert: null, cert: null, key: null } as const;
      const error = await refused({ ...database.place, tls });
      expect(error.message).toContain('does not offer TLS');
      expect(error.hint).toContain('sslmode=disable');
    } finally {
      await server.stop();
    }
  });

  it('a statement that fails for another reason, without its content', async () => {
    await using at = await temporaryPostgresStore();
    await at.run("alter table feedback add constraint no_planted check (comment not like '%planted%')");
    await begin(at.store, 'p');
    const error = await at.store.upsertPage(page('p', [entry('e', { comment: 'planted words' })])).catch((e) => e);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toMatch(/refused a statement \(23514, table feedback, constraint no_planted\)$/);
    expect(`${JSON.stringify(error)} ${error.stack} ${error.cause}`).not.toContain('planted words');
  });
});

describe.skipIf(!hasPostgres())('a server that goes away', () => {
  it('costs the work in flight; the store works again when it is back, with everything that was committed', async () => {
    const server = await startPostgres(usePostgres().binaries);
    try {
      await using database = await createDatabase(server.address);
      const store = await openPostgresFeedbackStore(database.place);
      await begin(store, 'p');
      const { position } = await store.upsertPage(page('p', [entry('a')], { nextCursor: 'c', hasMore: true }));
      // In the middle of writing a file, and with idle connections.
      const rows = store.entryRecords({ org: 'acme', project: 'prj_1', includeDeleted: false });
      const reading = rows[Symbol.asyncIterator]();
      expect((await reading.next()).value).toMatchObject({ id: 'a' });
      await server.crash();
      const rest = page('p', [entry('b')], { from: position });
      await expect(store.upsertPage(rest)).rejects.toBeInstanceOf(FeedbackStoreUnavailable);
      await expect(store.getPass('p')).rejects.toThrow(/ECONNREFUSED/);
      await server.start();
      await expect(reading.next()).rejects.toBeInstanceOf(FeedbackStoreUnavailable);
      await store.upsertPage(rest);
      expect(await store.countEntries('acme', 'prj_1')).toEqual({ entries: 2, rejects: 0, tombstones: 0 });
      expect((await store.getPass('p'))?.pages).toBe(2);
      await store.close();
    } finally {
      await server.stop();
    }
  });

  it('never leaves a broken connection in the pool', async () => {
    await using at = await temporaryPostgresStore();
    await begin(at.store, 'p');
    for (let time = 0; time < 3; time += 1) {
      const reading = at.store
        .entryRecords({ org: 'acme', project: 'prj_1', includeDeleted: false })
        [Symbol.asyncIterator]();
      await wholePass(at.store, `q${time}`, [entry('a'), entry('b')]);
      await reading.next();
      await at.run(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
      );
      await expect(
        Promise.resolve(reading.next())
          .then(() => reading.next())
          .then(() => reading.next()),
      ).rejects.toThrow();
      // The idle ones may be noticed only when they are used: each is thrown away then.
      await expect.poll(() => at.store.getPass('p').catch(() => null)).not.toBeNull();
    }
    await at.store.checkWritable();
  });
});

describe.skipIf(!hasPostgres())('a table that was just filled', () => {
  async function filled(pages: number) {
    const at = await temporaryPostgresStore();
    // The server must not take statistics by itself meanwhile.
    await at.run('alter table feedback set (autovacuum_enabled = off)');
    let { position } = await begin(at.store, 'p');
    for (let number = 0; number < pages; number += 1) {
      const entries = Array.from({ length: 500 }, (_, n) =>
        entry(`e${number}-${n}`, n < 100 ? { createdAt: null } : {}),
      );
      const next = { nextCursor: `c${number}`, hasMore: true };
      position = (await at.store.upsertPage(page('p', entries, { from: position, ...next }))).position;
    }
    return at;
  }

  it('has statistics from the tenth page on, so that a page finds the rows it is compared with by their keys', async () => {
    await using at = await filled(10);
    const known = await at.rows("select attname from pg_stats where tablename = 'feedback' and attname = 'project_id'");
    expect(known).toHaveLength(1);
  });

  it('has none with an erased address or comment', async () => {
    await using at = await temporaryPostgresStore();
    await at.run('alter table feedback set (autovacuum_enabled = off)');
    const planted = Array.from({ length: 60 }, (_, n) =>
      entry(`${n}`, n % 3 === 0 ? { contact: 'jane@planted.example', comment: 'PLANTED' } : { comment: `kept ${n}` }),
    );
    await wholePass(at.store, 'p', planted);
    await at.run('analyze feedback');
    const values = async () =>
      JSON.stringify(
        await at.rows(
          "select most_common_vals::text, histogram_bounds::text from pg_stats where tablename = 'feedback' and schemaname = current_schema()",
        ),
      );
    expect(await values()).toMatch(/jane@planted.*PLANTED|PLANTED.*jane@planted/s);
    await at.store.erase({ contact: 'jane@planted.example', at: new Date('2026-11-21T09:00:00Z') });
    expect(await values()).not.toMatch(/planted/i);
    expect(await values()).toContain('kept');
  });

  it('is exported by the index without statistics too: each entry is read once', async () => {
    await using at = await filled(6);
    // Counts reach the statistics when their connection ends.
    await at.store.close();
    const store = await at.open();
    await at.run('select pg_stat_reset()');
    let exported = 0;
    for await (const _ of store.entryRecords({ org: 'acme', project: 'prj_1', includeDeleted: false })) exported += 1;
    expect(exported).toBe(3_000);
    await store.close();
    const read = async () => {
      const [row] = await at.rows(
        "select idx_tup_read as read from pg_stat_user_indexes where indexrelname = 'feedback_by_date'",
      );
      return Number(row?.read);
    };
    await expect.poll(read).toBeGreaterThanOrEqual(3_000);
    // Sorting for each page what is behind the key would read it again each time.
    expect(await read()).toBeLessThan(4_000);
  });
});
