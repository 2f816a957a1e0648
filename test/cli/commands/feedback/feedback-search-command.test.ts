import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { entriesText } from '../../../../src/cli/commands/feedback/feedback-search.ts';
import { Output } from '../../../../src/cli/context.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../../../src/sqlite.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';

const organizations = `  - { id: acme, apiKey: k, projects: [{ id: prj_1, name: Handbook }, { id: prj_2 }] }
  - { id: beta, apiKey: k, projects: [{ id: prj_3 }] }
`;

async function scene(): Promise<{ cwd: string; database: string }> {
  const cwd = await folderWithConfig({ organizations });
  const database = join(cwd, 'data/feedback.db');
  const store = await openSqliteFeedbackStore(database);
  await wholePass(store, 'p', [
    entry('a', {
      comment: 'The table is\n\u001b[31mtoo wide',
      helpful: false,
      contact: 'jane@mail.example',
      path: '/x',
    }),
    entry('b', { comment: '=the table', createdAt: '2026-01-01T00:00:00Z', source: 'agent', path: '/x/' }),
  ]);
  await wholePass(store, 'q', [entry('c', { code: 'render_table()', status: 'resolved', path: '/y' })], {
    project: 'prj_2',
  });
  await store.close();
  return { cwd, database };
}

const ids = ({ document }: { document: Record<string, unknown> }) =>
  (document.entries as { id: string }[]).map(({ id }) => id);

describe('feedback search', () => {
  it('leaves out entries without words on demand, and names the page that a person meant', async () => {
    const { cwd, database } = await scene();
    const store = await openSqliteFeedbackStore(database);
    await wholePass(store, 'r', [entry('d', { comment: null, helpful: true })], { project: 'prj_3' });
    await store.close();
    expect(ids(await docferryJson(['feedback', 'search'], { cwd })).sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(ids(await docferryJson(['feedback', 'search', '--with-words'], { cwd })).sort()).toEqual(['a', 'b', 'c']);
    const { stdout } = await docferry(['feedback', 'search', '--document', 'x'], { cwd });
    expect(stdout).toContain('no entry is about x; did you mean /x?');
    const unknown = await docferry(['feedback', 'search', '--document', 'page-3'], { cwd });
    expect(unknown.stdout).toMatch(/no entry is about page-3$/m);
  });

  it('is one JSON document of what was found, the newest first', async () => {
    const { cwd } = await scene();
    const found = await docferryJson(['feedback', 'search', 'wide', 'TABLE'], { cwd });
    expect(found).toMatchObject({ exitCode: 0, stderr: '' });
    expect(found.document).toMatchObject({
      entries: [
        {
          id: 'a',
          project: 'prj_1',
          contact: null,
          document: '/x',
          comment: {
            marks: [
              [4, 9],
              [22, 26],
            ],
          },
        },
      ],
      total: { count: 1, isExact: true },
      after: null,
      index: { complete: true, percent: 100 },
    });
  });

  it('is narrowed down as other commands are', async () => {
    const { cwd } = await scene();
    const search = async (...flags: string[]) =>
      ids(await docferryJson(['feedback', 'search', 'table', ...flags], { cwd }));
    expect((await search()).sort()).toEqual(['a', 'b', 'c']);
    expect(await search('--project', 'Handbook')).toEqual(['a', 'b']);
    expect(await search('--match', '*_2')).toEqual(['c']);
    expect(await search('--org', 'beta')).toEqual([]);
    expect(await search('--source', 'agent')).toEqual(['b']);
    expect(await search('--status', 'resolved')).toEqual(['c']);
    expect(await search('--helpful', 'no')).toEqual(['a']);
    expect(await search('--document', 'https://docs.example/x')).toEqual(['a', 'b']);
    expect(await search('--until', '2026-02-01')).toEqual(['b']);
    expect(await search('--document', '/x', '--since', '2026-02-01', '--contacts')).toEqual(['a']);
    expect(ids(await docferryJson(['feedback', 'search', '--limit', '2'], { cwd }))).toHaveLength(2);
  });

  it('prints plain lines, and a sentence where nothing is found', async () => {
    const { cwd } = await scene();
    const { stdout } = await docferry(['feedback', 'search', 'wide'], { cwd });
    expect(stdout).toContain('The table is \uFFFD[31mtoo wide');
    expect(stdout).toContain('1 of 1 entry\n');
    expect(stdout).not.toContain('jane@mail.example');
    expect((await docferry(['feedback', 'search', 'wide', '--contacts'], { cwd })).stdout).toContain(
      'jane@mail.example',
    );
    const none = await docferry(['feedback', 'search', 'zebra'], { cwd });
    expect(none).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('no entry has these words') });
    const pages = await docferry(['feedback', 'search', 'table', '--by-document'], { cwd });
    expect(pages.stdout).toMatch(/^\/x +prj_1 +2 +0 +1 /m);
    expect(pages.stdout).toContain('3 entries found');
  });

  it('marks what was found on a terminal', () => {
    const stdout = { isTTY: true, columns: 200, write: () => true };
    const output = new Output({
      json: false,
      quiet: false,
      color: true,
      env: { FORCE_COLOR: '1' },
      stdout,
      stderr: stdout,
    });
    const comment = { text: `${'long '.repeat(100)}a needle here`, from: 0, length: 520, marks: [[502, 508]] as const };
    const found = {
      org: 'acme',
      project: 'p',
      id: 'i',
      source: 's',
      status: 't',
      helpful: null,
      path: '/',
      document: '/',
    };
    const rest = { createdAt: null, firstSeenAt: '', code: null, filename: null, lang: null, contact: null };
    const index = { complete: true, percent: 100 };
    const text = entriesText(
      { entries: [{ ...found, ...rest, comment }], total: { count: 1, isExact: true }, after: null, index },
      output,
    );
    expect(text).toContain(output.paint.bold(output.paint.yellow('needle')));
    expect(text).toContain('…');
  });

  it('writes records as CSV and JSON lines, without contacts unless asked', async () => {
    const { cwd } = await scene();
    const csv = await docferry(['feedback', 'search', 'table', '--format', 'csv', '--formula-safe'], { cwd });
    expect(csv.stdout.split('\r\n')[0]).toMatch(/^org_id,project_id,id,path,comment,/);
    expect(csv.stdout).toContain("'=the table");
    expect(csv.stdout).not.toContain('jane@mail.example');
    const jsonl = await docferry(['feedback', 'search', '--format', 'jsonl', '--contacts', '--project', 'prj_1'], {
      cwd,
    });
    const records = jsonl.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records).toMatchObject([{ id: 'a', contact: 'jane@mail.example' }, { id: 'b' }]);
  });

  it.each(['csv', 'jsonl'])(
    'says that records as %s are not all while the index of a moved store is made',
    async (format) => {
      const { cwd, database } = await scene();
      const moved = new Database(database);
      moved.exec('update search_progress set complete = 0, passed = 1, entries = 3');
      moved.close();
      const { stdout, stderr } = await docferry(['feedback', 'search', '--format', format], { cwd });
      expect(stderr).toContain('the index covers 33 % of the entries so far');
      expect(stdout).not.toContain('the index covers');
    },
  );

  it('refuses what means nothing with exit code 2 and the fix', async () => {
    const { cwd } = await scene();
    for (const [args, message] of [
      [['"""'], /no word to search for/],
      [['x'.repeat(100_000)], /100,000 characters long/],
      [['table', '--since', 'lately'], /--since is "lately"/],
      [['table', '--limit', '500'], /limit is out of range/],
      [['table', '--formula-safe'], /--formula-safe works only with/],
      [['table', '--format', 'csv', '--by-document'], /--by-document counts/],
      [['table', '--project', 'prj_1', '--org', 'acme'], /--project cannot be combined/],
    ] as const) {
      const { exitCode, stderr } = await docferry(['feedback', 'search', ...args], { cwd });
      expect([args[0].slice(0, 20), exitCode]).toEqual([args[0].slice(0, 20), 2]);
      expect(stderr).toMatch(message);
      expect(stderr.length).toBeLessThan(500);
    }
    expect((await docferry(['feedback', 'search', 'x', '--project', 'none'], { cwd })).exitCode).toBe(4);
    expect((await docferry(['feedback', 'search', 'x', '--match', 'none*'], { cwd })).exitCode).toBe(4);
  });
});
