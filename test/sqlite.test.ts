import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Database, type Statement } from '../src/sqlite.ts';
import { tempFolder } from './tools/bundle/temp-folder.ts';

/** Every way to run a statement. Some of the library's own errors have a number, others only a text. */
const ways: [way: string, run: (statement: Statement) => unknown][] = [
  ['run', (statement) => statement.run()],
  ['get', (statement) => statement.get()],
  ['all', (statement) => statement.all()],
  ['iterate', (statement) => [...statement.iterate()]],
];

const rows = 1_000;
let file: string;

function open(options?: ConstructorParameters<typeof Database>[1]): Database {
  const database = new Database(file, options);
  onTestFinished(() => database.close());
  return database;
}

beforeEach(async () => {
  file = join(await tempFolder(), 'some%20#file?.db');
  const database = new Database(file);
  database.exec('create table t (id integer primary key, text text)');
  const numbers = `with recursive n(id) as (select 1 union all select id + 1 from n where id < ${rows}) select id from n`;
  database.exec(`insert into t select id, printf('%0200d', id) from (${numbers})`);
  database.close();
});

describe.each(ways)('what SQLite fails at has its name in %s:', (way, run) => {
  const insert = `insert into t (text) values (zeroblob(100000)) returning id`;

  it('a lock of another connection', () => {
    open().exec('begin exclusive');
    const waiting = open({ timeout: 0 });
    expect(() => run(waiting.prepare(insert))).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
  });

  it('no more space', () => {
    const database = open();
    database.exec(`pragma max_page_count = ${Number(database.pragma('page_count')) + 1}`);
    const code = 'SQLITE_FULL';
    expect(() => run(database.prepare(insert))).toThrow(expect.objectContaining({ name: 'SqliteError', code }));
    expect(database.prepare('select count(*) as rows from t').get()).toEqual({ rows });
  });

  it('a connection that may only read', () => {
    const database = open({ readOnly: true });
    expect(() => run(database.prepare(insert))).toThrow(expect.objectContaining({ code: 'SQLITE_READONLY' }));
  });

  it('a damaged file', async () => {
    const database = open();
    const pages = Number(database.pragma('page_count'));
    await truncate(file, Math.floor(pages / 2) * 4096);
    expect(() => run(database.prepare('select sum(length(text)) from t'))).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^SQLITE_(CORRUPT|IOERR)/) }),
    );
  });

  it('a file that is no database', async () => {
    await writeFile(file, 'text '.repeat(2_000));
    expect(() => run(open().prepare('select * from t'))).toThrow(expect.objectContaining({ code: 'SQLITE_NOTADB' }));
  });

  it('a key that is there already', () => {
    const database = open();
    expect(() => run(database.prepare('insert into t (id) values (1) returning id'))).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^SQLITE_CONSTRAINT/) }),
    );
  });

  it('an integer that a number cannot hold, which is an error and no other integer', () => {
    const read = () => run(open().prepare('select 9007199254740993 as big'));
    if (way === 'run') expect(read).not.toThrow();
    else expect(read).toThrow('too large');
  });
});

it('gives the extended name where the library gives its number', () => {
  const database = open();
  const insert = database.prepare('insert into t (id) values (1)');
  expect(() => insert.run()).toThrow(expect.objectContaining({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' }));
});

it('opens no file that is not there, when it must be', () => {
  const missing = expect.objectContaining({ code: 'SQLITE_CANTOPEN' });
  expect(() => new Database(`${file}.gone`, { mustExist: true })).toThrow(missing);
  expect(() => new Database(`${file}.gone`, { readOnly: true })).toThrow(missing);
  expect(() => new Database(join(file, 'in', 'a', 'file'))).toThrow(missing);
  expect(open({ mustExist: true }).prepare('select count(*) as rows from t').get()).toEqual({ rows });
});

it('lets others write again once a reading that was not finished ends', () => {
  const [reader, writer] = [open(), open({ timeout: 0 })];
  for (const row of reader.prepare('select * from t').iterate()) {
    expect(row).toMatchObject({ id: 1 });
    expect(() => writer.exec('delete from t')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }));
    break;
  }
  writer.exec('delete from t');
});

it.each(['wal', 'delete'])('keeps no lock when it is closed, whatever statements there were: %s', async (mode) => {
  const [database, other] = [open(), open({ timeout: 0 })];
  expect(database.pragma(`journal_mode = ${mode}`)).toBe(mode);
  const kept = [database.prepare('select * from t'), database.prepare('delete from t')];
  database.exec('begin immediate');
  for (const statement of kept) statement.all();
  database.close();
  expect(() => database.close()).not.toThrow();
  expect(other.prepare('select count(*) as rows from t').get()).toEqual({ rows });
  expect(other.pragma('journal_mode = delete')).toBe('delete');
  other.exec('begin exclusive');
});

it('leaves the log to other connections when it is closed', () => {
  const [first, last] = [open(), open()];
  first.pragma('journal_mode = wal');
  for (const database of [first, last]) database.prepare('delete from t where id < ?').run(9);
  first.close();
  expect(last.pragma('journal_mode')).toBe('wal');
  last.prepare('delete from t').run();
  last.close();
  expect(open().prepare('select count(*) as rows from t').get()).toEqual({ rows: 0 });
});
