import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RecordEncoder } from '../../../src/feedback/files/feedback-record.ts';
import { recordColumns } from '../../../src/feedback/files/feedback-record.ts';
import { parquet } from '../../../src/feedback/files/parquet-file.ts';
import { csv, jsonLines, lines } from '../../../src/feedback/files/text-files.ts';
import {
  entry,
  type TemporaryStore,
  temporaryFolder,
  temporaryStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';
import { duckdb, literal } from '../../tools/servers/duckdb.ts';

const nasty = [
  entry('a', { comment: 'two\r\nlines, "quoted", 🙂 e\u0301 \u{10FFFF}', helpful: true, contact: 'a@b.example' }),
  entry('b', { comment: '', helpful: false, code: '\tx = 1\n', lang: 'py', filename: ' b.py ', createdAt: null }),
  entry('c', {
    comment: 'NUL \0 and half a pair \ud83d.',
    createdAt: '1969-07-20T20:17:40.123+02:00',
    source: 'agent',
  }),
  entry('d', { createdAt: '1234-05-06', path: "/it's/100%?a=b&c=d", extra: { rating: 5, note: 'é"\0' } }),
  entry('e', { createdAt: 'lately', status: 'never seen', comment: 'null', contact: 'NULL' }),
  entry('Ü 文', { createdAt: '9999-12-31T23:59:59.999Z', comment: '=1+1' }),
];

/** More than the reader takes in one go, among them tombstones. */
async function filled(at: TemporaryStore): Promise<void> {
  const many = Array.from({ length: 1_200 }, (_, n) =>
    entry(`m${n}`, { createdAt: `2026-11-${String((n % 20) + 1).padStart(2, '0')}T00:00:00Z`, helpful: n % 2 === 0 }),
  );
  await wholePass(at.store, 'p', [...nasty, ...many]);
  await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id in ('d', 'm7')");
}

async function write(at: TemporaryStore, encoder: RecordEncoder, file: string): Promise<void> {
  const handle = await open(file, 'w');
  try {
    const records = at.store.entryRecords({ org: 'acme', project: 'prj_1', includeDeleted: true });
    for await (const record of records) await handle.writeFile(encoder.add(record) ?? '');
    await handle.writeFile(encoder.end());
  } finally {
    await handle.close();
  }
}

/** Instants as the text that the table has, `extra` as text, `helpful` as boolean. */
const columnsAsStored = recordColumns.map((name) => {
  const isInstant = ['created_at_utc', 'first_seen_at', 'last_seen_at', 'deleted_at'].includes(name);
  return isInstant ? `strftime(${name} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') as ${name}` : name;
});
const formats: readonly { format: string; encoder: () => RecordEncoder; select: (file: string) => string }[] = [
  {
    format: 'Parquet',
    encoder: parquet,
    select: (file) => `select ${columnsAsStored.join(', ')} from read_parquet(${literal(file)})`,
  },
  {
    format: 'CSV',
    encoder: () => lines(csv({ formulaSafe: false })),
    select: (file) =>
      `select * replace (helpful::boolean as helpful) from read_csv(${literal(file)}, all_varchar = true, header = true,
        delim = ',', quote = '"', escape = '"', new_line = '\\r\\n', nullstr = '', allow_quoted_nulls = false)`,
  },
  {
    format: 'JSONL',
    encoder: () => lines(jsonLines),
    select: (file) =>
      `select * replace (nullif(extra::varchar, '{}') as extra) from read_json(${literal(file)},
        format = 'newline_delimited', columns = {${recordColumns
          .map((name) => `${name}: ${name === 'helpful' ? "'boolean'" : name === 'extra' ? "'json'" : "'varchar'"}`)
          .join(', ')}})`,
  },
];

describe('the files of an export', () => {
  it.each(formats)('as $format are read by DuckDB as the rows of the table', async ({ encoder, select }) => {
    await using at = await temporaryStore();
    await using temporary = await temporaryFolder();
    await filled(at);
    const file = join(temporary.folder, 'out');
    await write(at, encoder(), file);
    const stored = await at.rows('select * from feedback');
    const expected = stored.map((row) => ({
      ...row,
      helpful: row.helpful === null ? null : Number(row.helpful) === 1,
    }));
    const byId = (rows: Record<string, unknown>[]) => new Map(rows.map((row) => [row.id, row]));
    const found = await duckdb(select(file));
    expect(found).toHaveLength(1_206);
    expect(byId(found)).toEqual(byId(expected));
  });

  it('as Parquet count by time as the table does', async () => {
    await using at = await temporaryStore();
    await using temporary = await temporaryFolder();
    await filled(at);
    const file = join(temporary.folder, 'out');
    await write(at, parquet(), file);
    const [counts] = await duckdb(
      `select count(*) filter (created_at_utc < '1970-01-01T00:00:00Z')::int as early,
        count(*) filter (created_at_utc is null)::int as undated,
        count(*) filter (created_at_utc >= '2026-11-20T00:00:00Z' and deleted_at is null)::int as late
        from read_parquet(${literal(file)})`,
    );
    expect(counts).toEqual({ early: 2, undated: 2, late: 62 });
  });
});
