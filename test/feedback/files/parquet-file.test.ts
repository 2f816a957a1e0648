import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FeedbackRecord, recordColumns } from '../../../src/feedback/files/feedback-record.ts';
import { parquet } from '../../../src/feedback/files/parquet-file.ts';
import { storedRecord } from '../../tools/feedback/arbitrary-records.ts';
import { temporaryFolder } from '../../tools/feedback/temporary-store.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { duckdb, literal } from '../../tools/servers/duckdb.ts';

const instants: ReadonlySet<string> = new Set(['created_at_utc', 'first_seen_at', 'last_seen_at', 'deleted_at']);

function fileOf(records: readonly FeedbackRecord[]): Uint8Array {
  const encoder = parquet();
  const pieces = [...records.map((record) => encoder.add(record)), encoder.end()];
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece ?? '')));
}

/** The rows of a file as DuckDB has them, as records. */
async function read(file: string): Promise<unknown[]> {
  const rows = await duckdb(
    `select * from read_parquet(${literal(file)}, file_row_number = true) order by file_row_number`,
  );
  return rows.map((row) =>
    Object.fromEntries(
      recordColumns.map((name) => {
        const value = row[name];
        if (name === 'extra') return [name, typeof value === 'string' ? JSON.parse(value) : {}];
        return [name, value instanceof Date ? value.toISOString() : value];
      }),
    ),
  );
}

function some(over: Partial<FeedbackRecord> = {}): FeedbackRecord {
  const instant = '2026-11-21T08:00:00.000Z';
  const texts = { org_id: 'acme', project_id: 'prj_1', id: 'a', path: '/docs', source: 'agent', status: 'pending' };
  const nothing = { comment: null, created_at: null, created_at_utc: null, helpful: null, contact: null, code: null };
  const more = { filename: null, lang: null, extra: {}, deleted_at: null };
  return { ...texts, ...nothing, ...more, first_seen_at: instant, last_seen_at: instant, ...over };
}

describe('Parquet', () => {
  it('is read by DuckDB as what was written, whatever the texts and times are', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'out.parquet');
    await fc.assert(
      fc.asyncProperty(fc.array(storedRecord, { maxLength: 20 }), async (written) => {
        await writeFile(file, fileOf(written));
        expect(await read(file)).toEqual(JSON.parse(JSON.stringify(written)));
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  it('is found by any of its texts: the bounds of the groups leave nothing out', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'out.parquet');
    await fc.assert(
      fc.asyncProperty(fc.array(storedRecord, { minLength: 1, maxLength: 10 }), async (written) => {
        await writeFile(file, fileOf(written));
        const wanted = written.filter(({ path, id }) => !/\0/.test(path + id));
        const counts = wanted.map(
          ({ path, id, first_seen_at: seen }) =>
            `select count(*) as n from ${literal(file)} where path = ${literal(path)} and id = ${literal(id)}
              and first_seen_at = ${literal(seen)}::timestamptz`,
        );
        if (counts.length === 0) return;
        for (const { n } of await duckdb(counts.join(' union all '))) expect(Number(n)).toBeGreaterThan(0);
      }),
      { numRuns: propertyRuns(15) },
    );
  });

  it('has the columns of the table, times and booleans as what they are, null where the table may have it', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'out.parquet');
    await writeFile(file, fileOf([]));
    expect(await duckdb(`select count(*)::int as rows from ${literal(file)}`)).toEqual([{ rows: 0 }]);
    const described = await duckdb(`describe select * from ${literal(file)}`);
    const typeOf = (name: string) => (instants.has(name) ? 'TIMESTAMP WITH TIME ZONE' : 'VARCHAR');
    expect(described.map((column) => [column.column_name, column.column_type])).toEqual(
      recordColumns.map((name) => [name, name === 'helpful' ? 'BOOLEAN' : typeOf(name)]),
    );
    const schema = await duckdb(`select * from parquet_schema(${literal(file)}) where type is not null`);
    expect(schema.filter((column) => column.repetition_type === 'REQUIRED').map(({ name }) => name)).toEqual([
      'org_id',
      'project_id',
      'id',
      'path',
      'source',
      'status',
      'first_seen_at',
      'last_seen_at',
    ]);
  });

  it('ends a row group after 10,000 rows, or sooner where people wrote much', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'out.parquet');
    const many = Array.from({ length: 25_000 }, (_, n) => some({ id: `id-${n}`, comment: n % 3 === 0 ? '🙂é' : null }));
    const long = Array.from({ length: 5 }, (_, n) => some({ id: `long-${n}`, code: 'x'.repeat(5_000_000) }));
    await writeFile(file, fileOf([...many, ...long]));
    const groups = await duckdb(
      `select row_group_num_rows::int as rows from parquet_metadata(${literal(file)})
        where path_in_schema = 'id' order by row_group_id`,
    );
    expect(groups.map(({ rows }) => rows)).toEqual([10_000, 10_000, 5_002, 2, 1]);
    const [sums] = await duckdb(
      `select count(distinct id)::int as ids, count(comment)::int as comments, sum(length(code))::int as code
        from ${literal(file)} where comment is null or comment = '🙂é'`,
    );
    expect(sums).toEqual({ ids: 25_005, comments: 8_334, code: 25_000_000 });
  });

  it('hands out a group when it is full, and keeps nothing of it', () => {
    const encoder = parquet();
    const sizes = Array.from({ length: 30_000 }, (_, n) => encoder.add(some({ id: `id-${n % 10_000}` }))?.length ?? 0);
    const groups = sizes.flatMap((size, index) => (size > 0 ? [{ index, size }] : []));
    expect(groups.map(({ index }) => index)).toEqual([9_999, 19_999, 29_999]);
    expect(new Set(groups.slice(1).map(({ size }) => size)).size).toBe(1);
  });

  it('writes no bounds of what people wrote: nothing of it is in the end of the file', async () => {
    await using temporary = await temporaryFolder();
    const file = join(temporary.folder, 'out.parquet');
    const words = { comment: 'words', contact: 'a@b.example', code: 'x = 1', extra: { note: 'words' } };
    await writeFile(file, fileOf([some(words)]));
    const bounds = await duckdb(
      `select path_in_schema as name from parquet_metadata(${literal(file)})
        where stats_min_value is null and stats_min is null`,
    );
    const withoutValue = ['created_at', 'created_at_utc', 'helpful', 'filename', 'lang', 'deleted_at'];
    expect(bounds.map(({ name }) => name).sort()).toEqual([...Object.keys(words), ...withoutValue].sort());
  });

  it('refuses a time that is none, naming the entry', () => {
    const encoder = parquet();
    expect(() => encoder.add(some({ id: 'odd', last_seen_at: 'lately' }))).toThrow(
      'entry odd of project prj_1 has lately where a UTC time has to be',
    );
  });
});
