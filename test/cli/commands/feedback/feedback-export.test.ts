import { execFileSync } from 'node:child_process';
import { chmod, lstat, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportFeedback } from '../../../../src/cli/commands/feedback/feedback-export.ts';
import { Output } from '../../../../src/cli/context.ts';
import type { FeedbackEntry } from '../../../../src/feedback/rules/feedback-entry.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../../../src/sqlite.ts';
import { bin, docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';
import { duckdb, literal } from '../../../tools/servers/duckdb.ts';

const organizations = `  - { id: acme, apiKey: k, projects: [{ id: prj_1 }, { id: prj_2 }] }
  - { id: beta, apiKey: k, projects: [{ id: prj_3 }] }
`;

const entries = [
  entry('b', { createdAt: '2026-11-02T00:00:00Z', source: 'agent', comment: '=1+1', path: '/b' }),
  entry('a', { createdAt: '2026-11-01T00:00:00Z', source: 'contextual', helpful: false, extra: { rating: 5 } }),
  entry('undated', { createdAt: 'lately', status: 'resolved' }),
];

/** A configuration whose project prj_1 has these entries and prj_2 one; the database. */
async function scene(inFirst: FeedbackEntry[] = entries): Promise<{ cwd: string; database: string }> {
  const cwd = await folderWithConfig({ organizations });
  const database = join(cwd, 'data/feedback.db');
  const store = await openSqliteFeedbackStore(database);
  await wholePass(store, 'p', inFirst);
  await wholePass(store, 'q', [entry('c')], { project: 'prj_2' });
  await store.close();
  return { cwd, database };
}

function run(database: string, sql: string): void {
  const direct = new Database(database);
  direct.exec(sql);
  direct.close();
}

const manyRows = (rows: number) => `insert into feedback
  select org_id, project_id, 'm' || value, path, comment, created_at, created_at_utc, source, status, helpful, contact,
    code, filename, lang, extra, first_seen_at, last_seen_at, deleted_at
  from feedback, (with recursive n(value) as (select 1 union all select value + 1 from n where value < ${rows})
    select value from n) where id = 'a'`;

describe('feedback export', () => {
  it('makes a file that only this user can read', async () => {
    const { cwd } = await scene();
    await docferry(['feedback', 'export', 'prj_1', '--format', 'csv', '--out', 'new.csv'], { cwd });
    expect((await stat(join(cwd, 'new.csv'))).mode & 0o777).toBe(0o600);
  });

  it('writes a project as JSON lines, oldest first', async () => {
    const { cwd } = await scene();
    const args = ['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', 'out'];
    const { exitCode, stderr, document } = await docferryJson(args, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const file = join(cwd, 'out');
    expect(document).toEqual({
      out: 'out',
      format: 'jsonl',
      rows: 3,
      bytes: (await stat(file)).size,
      undatedLeftOut: 0,
      projects: [{ org: 'acme', project: 'prj_1', rows: 3 }],
    });
    const rows = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ id }) => id)).toEqual(['a', 'b', 'undated']);
    expect(rows[0]).toMatchObject({ org_id: 'acme', helpful: false, extra: { rating: 5 }, contact: null });
  });

  it('writes all projects of the configuration when none is named', async () => {
    const { cwd } = await scene();
    const { document } = await docferryJson(['feedback', 'export', '--format', 'csv', '--out', 'all.csv'], { cwd });
    expect(document).toMatchObject({
      rows: 4,
      projects: [
        { org: 'acme', project: 'prj_1', rows: 3 },
        { org: 'acme', project: 'prj_2', rows: 1 },
        { org: 'beta', project: 'prj_3', rows: 0 },
      ],
    });
    expect((await readFile(join(cwd, 'all.csv'), 'utf8')).split('\r\n')).toHaveLength(6);
  });

  it('writes only the entries to stdout with -', async () => {
    const { cwd } = await scene();
    const args = ['feedback', 'export', 'prj_1', '--format', 'csv', '--out', '-', '--source', 'agent'];
    const { exitCode, stdout, stderr } = await docferry(args, { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^org_id,[^\r\n]*\r\nacme,prj_1,b,\/b,=1\+1,[^\r\n]*\r\n$/);
    expect(stderr).toBe(`stdout: 1 entry, ${Buffer.byteLength(stdout)} B\n`);
    expect((await docferry([...args, '--quiet'], { cwd })).stderr).toBe('');
    expect((await docferry([...args, '--formula-safe'], { cwd })).stdout).toContain(",/b,'=1+1,");
  });

  it('writes Parquet to a file, or the same bytes to a stdout that is not a terminal', async () => {
    const { cwd } = await scene();
    const args = ['feedback', 'export', '--format', 'parquet', '--from', '2026-11-02', '--out'];
    const { document, exitCode } = await docferryJson([...args, 'out.parquet'], { cwd });
    const file = join(cwd, 'out.parquet');
    const { size } = await stat(file);
    expect({ exitCode, document }).toMatchObject({
      exitCode: 0,
      document: { rows: 2, bytes: size, undatedLeftOut: 1 },
    });
    const rows = await duckdb(`select id, comment, project_id from ${literal(file)} order by id`);
    expect(rows).toEqual([
      { id: 'b', comment: '=1+1', project_id: 'prj_1' },
      { id: 'c', comment: null, project_id: 'prj_2' },
    ]);
    const piped = join(cwd, 'piped.parquet');
    const command = [process.execPath, bin, ...args, '-'].map((part) => `'${part}'`).join(' ');
    execFileSync('sh', ['-c', `${command} > '${piped}'`], { cwd, stdio: ['ignore', 'ignore', 'ignore'] });
    expect(await readFile(piped)).toEqual(await readFile(file));
  });

  it('does not write Parquet to a terminal', async () => {
    const written: unknown[] = [];
    const stdout = { isTTY: true, write: (text: string | Uint8Array) => written.push(text) };
    const output = new Output({ json: false, quiet: false, color: false, env: {}, stdout, stderr: stdout });
    const context = { output, configFile: undefined, env: {}, cwd: await folderWithConfig({ organizations }) };
    const run = exportFeedback(context, undefined, { format: 'parquet', out: '-' });
    await expect(run).rejects.toMatchObject({ exitCode: 2, hint: 'name a file, or redirect stdout' });
    expect(written).toEqual([]);
  });

  it('filters by date, leaving out and counting undated entries', async () => {
    const { cwd } = await scene();
    const args = ['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', 'x', '--from', '2026-11-01'];
    expect((await docferryJson(args, { cwd })).document).toMatchObject({ rows: 2, undatedLeftOut: 1 });
    expect((await docferry(args, { cwd })).stdout).toMatch(/^x: 2 entries, \S+ B; 1 without a date left out\n$/);
    const { document } = await docferryJson([...args, '--to', '2026-11-02T01:00:00+01:00'], { cwd });
    expect(document).toMatchObject({ rows: 1 });
  });

  it('leaves out deleted entries without --include-deleted', async () => {
    const { cwd, database } = await scene();
    run(database, "update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'a'");
    const args = ['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', 'x'];
    expect((await docferryJson(args, { cwd })).document).toMatchObject({ rows: 2 });
    expect((await docferryJson([...args, '--include-deleted'], { cwd })).document).toMatchObject({ rows: 3 });
  });

  it('warns of a value that no entry has and the service does not document', async () => {
    const { cwd } = await scene();
    const args = [
      'feedback',
      'export',
      'prj_1',
      '--format',
      'csv',
      '--out',
      'x',
      '--source',
      'contxtual,agent,code_snippet',
    ];
    const { exitCode, stderr } = await docferry([...args, '--status', 'dismissed,pending'], { cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toBe(
      'warning: no entry matched --source "contxtual"; known: code_snippet, contextual, agent, thumbs_only\n',
    );
  });

  it.each([
    [2, ['--format', 'jsonl', '--out', 'x', '--from', '2026-02-30']],
    [2, ['--format', 'xlsx', '--out', 'x']],
    [2, ['--format', 'parquet', '--out', 'x', '--formula-safe']],
    [2, ['--format', 'parquet', '--out', '-']],
    [2, ['--out', 'x']],
    [2, ['--format', 'csv']],
    [2, ['--format', 'jsonl', '--out', 'x', '--formula-safe']],
    [2, ['--format', 'jsonl', '--out', '-']],
    [2, ['--format', 'jsonl', '--out', 'nowhere/x']],
    [2, ['--format', 'jsonl', '--out', '/dev/null']],
    [4, ['prj_9', '--format', 'jsonl', '--out', 'x']],
  ])('ends with %i on %j and writes nothing', async (expected, args) => {
    const cwd = await folderWithConfig({ organizations });
    const { exitCode, document } = await docferryJson(['feedback', 'export', ...args], { cwd });
    expect(exitCode).toBe(expected);
    expect(document).toHaveProperty('error.message');
    expect((await readdir(cwd)).filter((name) => name !== 'data')).toEqual(['docferry.yaml']);
  });
});

describe.each([
  { format: 'jsonl', begins: '{"org_id"' },
  { format: 'parquet', begins: 'PAR1' },
])('the file of feedback export as $format', ({ format, begins }) => {
  const args = ['feedback', 'export', 'prj_1', '--format', format, '--out', 'out'];

  it('is unchanged when the export fails half-way, and nothing is left beside it', async () => {
    const { cwd, database } = await scene();
    run(database, manyRows(3_000));
    run(database, "update feedback set extra = 'not JSON' where id = 'b'");
    await writeFile(join(cwd, 'out'), 'before');
    const before = await readdir(cwd);
    expect((await docferry(args, { cwd })).exitCode).toBe(1);
    expect(await readFile(join(cwd, 'out'), 'utf8')).toBe('before');
    expect(await readdir(cwd)).toEqual(before);
  });

  it('is replaced where a symlink leads, and keeps its permissions', async () => {
    const { cwd } = await scene();
    await writeFile(join(cwd, 'real'), 'before');
    await chmod(join(cwd, 'real'), 0o600);
    await symlink('real', join(cwd, 'out'));
    expect((await docferry(args, { cwd })).exitCode).toBe(0);
    expect((await lstat(join(cwd, 'out'))).isSymbolicLink()).toBe(true);
    expect((await stat(join(cwd, 'real'))).mode & 0o777).toBe(0o600);
    expect((await readFile(join(cwd, 'real'), 'latin1')).slice(0, begins.length)).toBe(begins);
  });

  it('is unchanged after a Ctrl-C', async () => {
    const { cwd, database } = await scene();
    run(database, manyRows(200_000));
    await writeFile(join(cwd, 'out'), 'before');
    const before = await readdir(cwd);
    const { exitCode, stderr } = await docferry(args, {
      cwd,
      onOutput: (child, said) => {
        if (!child.killed && said.includes('feedback: ')) child.kill('SIGINT');
      },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('out is unchanged');
    expect(await readFile(join(cwd, 'out'), 'utf8')).toBe('before');
    expect(await readdir(cwd)).toEqual(before);
  });
});

it('stdout may be a pipe whose reader stops', async () => {
  const { cwd, database } = await scene();
  run(database, manyRows(5_000));
  const { exitCode, stderr } = await docferry(['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', '-'], {
    cwd,
    onOutput: (child) => child.stdout?.destroy(),
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
