import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keepEverything } from '../../../src/feedback/privacy/privacy.ts';
import { FeedbackStoreUnavailable } from '../../../src/feedback/store/feedback-store-unavailable.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../../src/sqlite.ts';
import {
  begin,
  entry,
  page,
  temporaryFolder,
  temporarySqliteStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';

const library = createRequire(import.meta.url).resolve('@photostructure/sqlite');

/** Opens what must not open. */
async function refused(file: string): Promise<FeedbackStoreUnavailable> {
  const store = await openSqliteFeedbackStore(file).catch((error: unknown) => error);
  if (!(store instanceof FeedbackStoreUnavailable)) throw new Error('expected FeedbackStoreUnavailable');
  expect(store.place).toBe(file);
  expect(store.message).toContain(file);
  expect(store.message).toContain(store.hint);
  return store;
}

describe('opening', () => {
  it('makes the folder, the file and its tables, and finds everything again', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'some', 'where', 'feedback.db');
    const first = await openSqliteFeedbackStore(file);
    await wholePass(first, 'p', [entry('e')]);
    await first.close();
    const second = await openSqliteFeedbackStore(file);
    expect(second.identity).toBe(first.identity);
    expect(await second.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 0, tombstones: 0 });
    await second.close();
  });

  it('makes files, and a folder for them, that only this user can read', async () => {
    await using temporary = await temporaryFolder();
    await chmod(temporary.folder, 0o755);
    const modeOf = async (...path: string[]) => (await stat(join(temporary.folder, ...path))).mode & 0o777;
    const own = await openSqliteFeedbackStore(join(temporary.folder, 'some', 'where', 'feedback.db'));
    await wholePass(own, 'p', [entry('e')]);
    for (const ending of ['', '-wal', '-shm'])
      expect(await modeOf('some', 'where', `feedback.db${ending}`)).toBe(0o600);
    expect(await modeOf('some', 'where')).toBe(0o700);
    expect(await modeOf('some')).toBe(0o755);
    await own.close();
    const shared = await openSqliteFeedbackStore(join(temporary.folder, 'data', 'feedback.db'), keepEverything, {
      sharedFolder: true,
    });
    expect(await modeOf('data')).toBe(0o755);
    expect(await modeOf('data', 'feedback.db')).toBe(0o600);
    await shared.close();
  });

  it('gives every database another identity', async () => {
    await using one = await temporarySqliteStore();
    await using two = await temporarySqliteStore();
    expect(one.store.identity).toMatch(/^[0-9a-f-]{36}$/);
    expect(one.store.identity).not.toBe(two.store.identity);
  });

  it('is safe for several at once on a file that does not exist yet', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'feedback.db');
    const stores = await Promise.all([1, 2, 3, 4].map(() => openSqliteFeedbackStore(file)));
    expect(new Set(stores.map((store) => store.identity)).size).toBe(1);
    for (const store of stores) await store.close();
  });

  it('refuses a folder', async () => {
    await using temporary = await temporaryFolder();
    expect((await refused(temporary.folder)).message).toContain('it is a folder');
  });

  it('refuses a path through a file', async () => {
    await using temporary = await temporaryFolder();
    await writeFile(join(temporary.folder, 'file'), '');
    expect((await refused(join(temporary.folder, 'file', 'feedback.db'))).message).toContain('is a file, not a folder');
    expect((await refused(join(temporary.folder, 'file', 'x', 'feedback.db'))).message).toContain('not a folder');
  });

  it('refuses a file that is not a database, and leaves it alone', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'notes.txt');
    const text = 'not a database '.repeat(100);
    await writeFile(file, text);
    expect((await refused(file)).message).toContain('not a SQLite database');
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it("refuses another program's database, and leaves it alone", async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'temporal.db');
    const other = new Database(file);
    other.exec('create table executions (id text)');
    other.close();
    const before = await readFile(file);
    expect((await refused(file)).message).toContain("another program's tables");
    expect(await readFile(file)).toEqual(before);
  });

  it('refuses a database that a newer version has changed', async () => {
    await using at = await temporarySqliteStore();
    await at.run("insert into kysely_migration values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')");
    expect((await refused(at.file)).message).toContain('newer docferry');
  });

  it('refuses what it may not write', async () => {
    await using temporary = await temporaryFolder();
    const { folder } = temporary;
    const readOnly = join(folder, 'read-only');
    await mkdir(readOnly);
    const file = join(folder, 'feedback.db');
    await (await openSqliteFeedbackStore(file)).close();
    await chmod(file, 0o444);
    await chmod(readOnly, 0o555);
    await chmod(folder, 0o555);
    await withoutPrivileges(async () => {
      expect((await refused(join(readOnly, 'feedback.db'))).hint).toContain('access to it and its folder');
      expect((await refused(join(readOnly, 'deeper', 'feedback.db'))).hint).toContain('access to it and its folder');
      expect((await refused(file)).hint).toContain('access to it and its folder');
    });
    await chmod(folder, 0o755);
    await chmod(readOnly, 0o755);
  });
});

/** Permissions do not bind the superuser, as whom containers often run tests. */
async function withoutPrivileges(work: () => Promise<void>): Promise<void> {
  const { geteuid, seteuid } = process;
  if (geteuid?.() !== 0 || seteuid === undefined) return await work();
  seteuid(65_534);
  try {
    await work();
  } finally {
    seteuid(0);
  }
}

describe('exports', () => {
  it('finds each page of an export by the index, without sorting', async () => {
    await using at = await temporarySqliteStore();
    const plan = async (where: string, order: string) => {
      const rows =
        await at.rows(`explain query plan select * from feedback where project_id = 'p' and org_id = 'o' and ${where}
               order by ${order} limit 500`);
      return rows.map(({ detail }) => String(detail));
    };
    const byIndex = [expect.stringContaining('USING INDEX feedback_by_date')];
    expect(
      await plan("created_at_utc is not null and (created_at_utc, id) > ('x', 'y')", 'created_at_utc, id'),
    ).toEqual(byIndex);
    expect(await plan("created_at_utc is null and id > 'y'", 'created_at_utc, id')).toEqual(byIndex);
  });
});

describe('several writers', () => {
  it('wait for another process that writes, without stopping this one', async () => {
    await using at = await temporarySqliteStore();
    await begin(at.store, 'p');
    const reader = await at.open();
    const script = `
      const database = new (require(${JSON.stringify(library)}).DatabaseSync)(${JSON.stringify(at.file)});
      database.exec('begin immediate');
      database.exec("insert into feedback_rejects values ('prj_1', 'from the other process', '{}', 'x', 'x')");
      process.stdout.write('locked');
      process.stdin.once('data', () => { database.exec('commit'); database.close(); process.exit(0); });`;
    const other = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(other.stdout, 'data');
      let committed = false;
      const commit = at.store.upsertPage(page('p', [entry('a')])).then(() => {
        committed = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(committed).toBe(false);
      // Readers never wait.
      expect((await reader.getPass('p'))?.pages).toBe(0);
      other.stdin.write('go');
      await commit;
      expect(await at.store.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 1, tombstones: 0 });
    } finally {
      other.kill();
    }
  });

  it('find every committed page after a kill -9 of the writer in the middle of the next one', async () => {
    await using at = await temporarySqliteStore();
    await wholePass(at.store, 'p', [entry('a')]);
    const script = `
      const database = new (require(${JSON.stringify(library)}).DatabaseSync)(${JSON.stringify(at.file)});
      database.exec('begin immediate; delete from feedback; delete from sync_passes;');
      process.stdout.write('half-way');
      setInterval(() => {}, 1000);`;
    const other = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    other.kill('SIGKILL');
    await once(other, 'exit');
    const reopened = await at.open();
    expect(await reopened.countEntries('acme', 'prj_1')).toEqual({ entries: 1, rejects: 0, tombstones: 0 });
    expect((await reopened.getPass('p'))?.outcome).toBe('completed');
    await reopened.checkWritable();
  });

  it('keeps the write-ahead log beside the file and survives without it after a clean close', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'feedback.db');
    const store = await openSqliteFeedbackStore(file);
    await wholePass(store, 'p', [entry('a')]);
    expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);
    await store.close();
    await expect(stat(`${file}-wal`)).rejects.toThrow('ENOENT');
  });
});
