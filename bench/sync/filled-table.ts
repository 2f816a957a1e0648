import { Client } from 'pg';
import { Database } from '../../src/sqlite.ts';

/* A table `feedback` of any size, made by the database itself: syncing a million entries would take the day. */

const words =
  'The second step fails with a 404 after the update, and the screenshot shows an older menu; né 🙂, "quoted". ';

/** `created` and `number` are written in the database's own SQL. */
function insertion(entries: number, numbers: string, created: string): string {
  const text = words.repeat(4).replaceAll("'", "''");
  return `insert into feedback (org_id, project_id, id, path, comment, created_at, created_at_utc, source, status,
      helpful, contact, code, filename, lang, extra, first_seen_at, last_seen_at, deleted_at)
    ${numbers.replace('$entries', `${entries}`)}
    select 'acme', 'prj_1', 'fb_' || (1000000000 + i), '/docs/guide/page-' || (i % 700),
      case when i % 3 = 0 then i || ': ' || substr('${text}', 1, (i * 37) % 400) end,
      case when i % 100 <> 0 then ${created} end, case when i % 100 <> 0 then ${created} end,
      case i % 4 when 0 then 'code_snippet' when 1 then 'contextual' when 2 then 'agent' else 'thumbs_only' end,
      case when i % 33 = 0 then 'pending' else 'resolved' end,
      case when i % 4 in (1, 3) then i % 2 end,
      case when i % 12 = 0 then 'reader' || i || '@mail.example' end,
      case when i % 4 = 0 then 'const answer = await client.get(' || i || ');' end,
      case when i % 4 = 0 then 'example.ts' end, case when i % 4 = 0 then 'ts' end,
      case when i % 20 = 0 then '{"rating":' || (i % 5) || '}' end,
      '2026-11-21T08:00:00.000Z', '2026-11-21T08:00:00.000Z', null from numbers`;
}

/** Empties the table of a SQLite file and fills it, a minute between two entries; 1 % have no date. */
export function fillSqlite(file: string, entries: number): void {
  const db = new Database(file);
  try {
    db.exec('delete from feedback');
    const numbers = 'with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < $entries)';
    db.exec(insertion(entries, numbers, "strftime('%Y-%m-%dT%H:%M:%fZ', 1600000000 + i * 60, 'unixepoch')"));
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

/** The same in PostgreSQL. */
export async function fillPostgres(url: string, entries: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('truncate feedback cascade');
    const created = `to_char(to_timestamp(1600000000 + i * 60) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
    const numbers = 'with numbers as (select i from generate_series(1::bigint, $entries) as i)';
    await client.query(insertion(entries, numbers, created).replaceAll('i * 37', '(i * 37)::int'));
    await client.query('vacuum analyze feedback');
  } finally {
    await client.end();
  }
}
