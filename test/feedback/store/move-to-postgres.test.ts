import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { moveFeedback } from '../../../src/feedback/store/move-feedback.ts';
import { openPostgresFeedbackStore } from '../../../src/feedback/store/postgres-store.ts';
import { isOurTable, ourTables } from '../../../src/feedback/store/tables.ts';
import { Database } from '../../../src/sqlite.ts';
import {
  begin,
  entry,
  page,
  releaseLocks,
  type TemporaryStore,
  temporarySqliteStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';
import { createDatabase, hasPostgres, type PostgresDatabase } from '../../tools/servers/postgres-database.ts';

let source: TemporaryStore & { file: string };
let target: PostgresDatabase;

describe.skipIf(!hasPostgres())('a feedback store moved to PostgreSQL', () => {
  beforeEach(async () => {
    source = await temporarySqliteStore();
    target = await createDatabase();
    onTestFinished(async () => {
      await source[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
    });
    await fill();
  });

  it('has every row of every table, runs on, and retires the original', async () => {
    const { identity } = source.store;
    await source.store.close();
    const before = await tablesOf(source.rows);
    await releaseLocks();
    const moved = await moveFeedback(source.file, target.place);
    expect(moved.map(({ table }) => table)).toEqual(ourTables);
    const after = await tablesOf(target.rows);
    for (const table of ourTables) {
      if (table === 'store_identity' || table === 'retired_identities') continue;
      expect(after[table], table).toEqual(before[table]);
      expect(moved.find((one) => one.table === table)?.rows, table).toBe(before[table]?.length);
    }
    // Otherwise this would compare nothing.
    for (const table of ['feedback', 'feedback_changes', 'feedback_rejects', 'sync_passes', 'sync_slices'] as const) {
      expect(before[table]?.length, table).toBeGreaterThan(0);
    }
    const store = await openPostgresFeedbackStore(target.place);
    onTestFinished(() => store.close());
    expect(store.predecessors).toEqual([identity]);
    expect(store.identity).not.toBe(identity);
    // A pass that was running goes on where it was.
    expect(await store.getPass('running')).toMatchObject({ outcome: 'running', pages: 1 });
    await store.upsertPage(page('running', [entry('new')], { from: { page: 1, cursor: 'c1', complete: false } }));
    // The index is built anew.
    const search = async () => await store.findEntries({ limit: 100 });
    expect((await search()).index.complete).toBe(false);
    while (!(await store.indexMore()).complete);
    expect((await search()).index.complete).toBe(true);
    const indexed = await target.rows('select project_id, id from search_entries order by 1, 2');
    expect(indexed).toEqual(
      await target.rows('select project_id, id from feedback where deleted_at is null order by 1, 2'),
    );
    // The file is as it was.
    expect(await tablesOf(source.rows)).toEqual(before);
  });

  it('is refused while another connection has the file open, and into a database that holds something', async () => {
    await expect(moveFeedback(source.file, target.place)).rejects.toThrow('another process has it open');
    await source.store.close();
    await releaseLocks();
    const other = await openPostgresFeedbackStore(target.place);
    await wholePass(other, 'earlier', [entry('other')]);
    await other.close();
    await expect(moveFeedback(source.file, target.place)).rejects.toThrow('it is not empty (table feedback)');
    expect(await target.rows('select id from feedback')).toEqual([{ id: 'other' }]);
  });

  it('is there as a whole or not at all', async () => {
    await source.store.close();
    await releaseLocks();
    await (await openPostgresFeedbackStore(target.place)).close();
    await target.run(`create function refuse() returns trigger language plpgsql as $$ begin raise 'planted'; end $$;
      create trigger refuse before insert on erasures for each row execute function refuse()`);
    await expect(moveFeedback(source.file, target.place)).rejects.toThrow('(P0001)');
    for (const table of ourTables) {
      if (table !== 'store_identity') expect(await target.rows(`select 1 from ${table}`), table).toEqual([]);
    }
    await target.run('drop trigger refuse on erasures');
    expect(await moveFeedback(source.file, target.place)).toHaveLength(ourTables.length);
  });

  it('notices a row that PostgreSQL changed', async () => {
    await source.store.close();
    await releaseLocks();
    await (await openPostgresFeedbackStore(target.place)).close();
    await target.run(`create function spoil() returns trigger language plpgsql as $$ begin new.old := 'other'; return new; end $$;
      create trigger spoil before insert on feedback_changes for each row execute function spoil()`);
    await expect(moveFeedback(source.file, target.place)).rejects.toThrow('rows of feedback_changes');
    expect(await target.rows('select 1 from feedback')).toEqual([]);
  });
});

const odd = ['é', '\u{1F600}', '\uFFFD', '_', ' ', 'ß', 'A\u0000B', '"x",\n', '\\', "'", ''];

/** Something in every table that can be filled without a service, in more rows than one statement takes. */
async function fill(): Promise<void> {
  const { store } = source;
  const many = Array.from({ length: 1_200 }, (_, n) => entry(`id ${n}`, { comment: odd[n % odd.length] ?? null }));
  const contact = 'jane@planted.example';
  await wholePass(store, 'first', [...many, entry('jane', { contact })]);
  await begin(store, 'second');
  const changed = many
    .slice(0, 700)
    .map((one) => ({ ...one, status: 'resolved', extra: { [one.comment ?? '']: [1.5] } }));
  const rejected = [{ id: 'r', raw: '{"id":"r"}', reason: 'path is missing' }];
  await store.upsertPage(page('second', changed, { rejected }));
  await begin(store, 'running', { project: 'prj_2' });
  await store.upsertPage(page('running', [entry('one')], { nextCursor: 'c1', hasMore: true }));
  await store.erase({ contact, at: new Date('2026-11-21T09:00:00Z') });
  await store.recordExportRun({
    workflowId: 'export:acme:docs.acme.example',
    runId: 'run',
    org: 'acme',
    domain: 'docs.acme.example',
    startedAt: '2026-11-21T08:00:00.000Z',
    finishedAt: '2026-11-21T08:10:00.000Z',
    outcome: 'published',
    jobId: 'job',
    jobsStarted: 1,
    version: 'v',
    contentDigest: 'd',
    polls: 3,
    detail: '{}',
    jobMs: 3_000_000_000,
  });
}

/** All rows of all tables as text, in the order of their content. */
async function tablesOf(rows: TemporaryStore['rows']): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of ourTables) {
    const found = await rows(`select * from ${table}`);
    const texts = found.map((row) =>
      JSON.stringify(
        Object.entries(row)
          .map(([name, value]) => [name, value === null ? null : String(value)])
          .sort(),
      ),
    );
    tables[table] = texts.sort();
  }
  return tables;
}

it('knows every table that the migrations make', async () => {
  await using made = await temporarySqliteStore();
  const database = new Database(made.file);
  const names = database.prepare<{ name: string }>("select name from sqlite_master where type = 'table'").all();
  database.close();
  const ours = names
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('kysely_') && !name.startsWith('sqlite_'));
  const moved = ours.filter((name) => !name.startsWith('search_'));
  expect(moved.sort()).toEqual([...ourTables].sort());
  expect(ours.filter(isOurTable).sort()).toEqual([...moved, 'search_entries', 'search_progress'].sort());
});
