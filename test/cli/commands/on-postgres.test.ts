import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPostgresFeedbackStore } from '../../../src/feedback/store/postgres-store.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { configText, docferry, docferryJson, emptyFolder, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../tools/feedback/temporary-store.ts';
import { createDatabase, hasPostgres, type PostgresDatabase } from '../../tools/servers/postgres-database.ts';
import { useDevServer } from '../../tools/temporal/temporal.ts';

interface Place {
  cwd: string;
  env: Record<string, string>;
  database: PostgresDatabase;
}

/** A folder whose configuration names a separate database, with the password in `PG_PASSWORD`. */
async function place(change: (address: string) => string = (address) => address): Promise<Place> {
  const database = await createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const { host, port } = database.place;
  const address = change(`postgres://${database.user}:\${PG_PASSWORD}@${host}:${port}/${database.name}`);
  const cwd = await emptyFolder();
  const { address: temporal } = useDevServer();
  await writeFile(
    join(cwd, 'docferry.yaml'),
    `${configText({ address: temporal })}store: { feedback: "${address}" }\n`,
  );
  return { cwd, env: { PG_PASSWORD: database.password }, database };
}

async function storeCheck({ cwd, env }: Pick<Place, 'cwd' | 'env'>) {
  const { document, stdout, stderr } = await docferryJson(['doctor'], { cwd, env });
  expect(stdout + stderr).not.toContain('planted');
  const checks = document.checks as { name: string; level: string; detail: string; fix: string | null }[];
  return checks.find(({ name }) => name === 'feedback-store');
}

const texts = [
  'é',
  'e',
  'Z',
  'a',
  '\u{1F600}',
  '\uFFFD',
  '\uE000',
  '_',
  '-',
  ' ',
  '10',
  '9',
  'ß',
  'A\u0000B',
  '"x",\n',
];

describe.skipIf(!hasPostgres())('PostgreSQL on the command line', () => {
  it('is shown by config check without its password', async () => {
    const { cwd, env, database } = await place();
    const { exitCode, stdout } = await docferry(['config', 'check'], { cwd, env });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      `${database.place.place}, password from the environment variable PG_PASSWORD, sslmode disable`,
    );
    const { document } = await docferryJson(['config', 'check'], { cwd, env });
    expect(document).toMatchObject({ store: { feedback: database.place.place } });
    expect(stdout + JSON.stringify(document)).not.toContain('planted');
  });

  it('doctor: a database without tables, with tables, and none', async () => {
    const here = await place();
    expect(await storeCheck(here)).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/has no tables yet, and they can be created: PostgreSQL \d+\.\d+, without TLS$/),
    });
    expect(await here.database.rows("select 1 from pg_tables where schemaname = 'public'")).toEqual([]);
    await (await openPostgresFeedbackStore(here.database.place)).close();
    expect(await storeCheck(here)).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/ can be written: PostgreSQL \d/),
    });
    const wrong = await storeCheck({ cwd: here.cwd, env: { PG_PASSWORD: 'planted too' } });
    expect(wrong).toMatchObject({ level: 'error', detail: expect.stringContaining('28P01'), fix: expect.any(String) });
    expect(await storeCheck({ cwd: here.cwd, env: {} })).toMatchObject({
      level: 'error',
      detail: 'the environment variable PG_PASSWORD is not set',
    });
    const elsewhere = await place((address) => address.replace(/@[^/]*/, '@127.0.0.1:1'));
    expect(await storeCheck(elsewhere)).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('nothing listens there'),
      fix: expect.stringContaining('store.feedback'),
    });
  });

  it('exports, counts and lists exactly what SQLite does', async () => {
    const here = await place();
    const sqlite = await folderWithConfig();
    const stores = [
      await openPostgresFeedbackStore(here.database.place),
      await openSqliteFeedbackStore(join(sqlite, 'data/feedback.db')),
    ];
    const entries = texts.flatMap((text, n) => [
      entry(`id ${text}`, {
        createdAt: null,
        comment: text,
        helpful: n % 2 === 0,
        source: 'contextual',
        path: `/${text}`,
      }),
      entry(text, {
        createdAt: `2026-11-${10 + (n % 3)}`,
        status: `status ${text}`,
        extra: { [text]: [n, 1.5e300, null] },
      }),
    ]);
    for (const store of stores) {
      await wholePass(store, 'p', entries);
      await store.close();
    }
    const commands = [
      ['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', '-'],
      ['feedback', 'export', 'prj_1', '--format', 'csv', '--out', '-'],
      ['feedback', 'export', 'prj_1', '--format', 'csv', '--out', '-', '--from', '2026-11-11', '--status', 'status é'],
      ['feedback', 'stats', 'prj_1', '--json'],
    ];
    for (const command of commands) {
      const [postgres, file] = [await docferry(command, here), await docferry(command, { cwd: sqlite })];
      expect(postgres).toEqual(file);
      expect(postgres.exitCode).toBe(0);
      expect(postgres.stdout.length).toBeGreaterThan(100);
    }
    const out = join(here.cwd, 'out.jsonl');
    await docferry(['feedback', 'export', 'prj_1', '--format', 'jsonl', '--out', out], here);
    expect((await readFile(out, 'utf8')).split('\n')).toHaveLength(entries.length + 1);
  });

  it('ends with 1 and the fix when the database cannot be used, with 2 when its password is not set', async () => {
    const { cwd, env } = await place((address) => address.replace(/\/[^/]*$/, '/nowhere'));
    const { exitCode, document, stderr } = await docferryJson(['feedback', 'stats', 'prj_1'], { cwd, env });
    expect({ exitCode, document }).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'StoreUnavailable', hint: expect.stringContaining('CREATE DATABASE "nowhere"') } },
    });
    expect(JSON.stringify(document) + stderr).not.toContain('planted');
    const unset = await docferryJson(['feedback', 'stats', 'prj_1'], { cwd });
    expect(unset).toMatchObject({
      exitCode: 2,
      document: { error: { code: 'InvalidConfiguration', message: expect.stringContaining('PG_PASSWORD') } },
    });
  });
});
