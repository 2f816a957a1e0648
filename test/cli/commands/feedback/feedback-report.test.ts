import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../../src/feedback/rules/feedback-entry.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';

const organizations = '  - { id: acme, apiKey: k, projects: [{ id: prj_1 }, { id: prj_2 }] }\n';

const entries = [
  entry('1', {
    source: 'contextual',
    helpful: false,
    path: '/install',
    comment: 'Step 3 <fails>',
    contact: 'PRIVATE@b.example',
    createdAt: '2026-11-02T00:00:00Z',
  }),
  entry('2', { source: 'code_snippet', code: 'PRIVATE()', comment: 'no import', createdAt: '2026-11-01T00:00:00Z' }),
  entry('3', { source: 'agent', path: '/api', comment: 'a dead link', createdAt: 'lately' }),
];

async function scene(inFirst: FeedbackEntry[] = entries): Promise<string> {
  const cwd = await folderWithConfig({ organizations });
  const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  await wholePass(store, 'p', inFirst);
  await store.close();
  return cwd;
}

const args = ['feedback', 'report', 'prj_1', '--out', 'report.html'];

describe('feedback report', () => {
  it('writes one page about a project, without contacts and code, and ends', async () => {
    const cwd = await scene();
    const { exitCode, stderr, document } = await docferryJson(args, { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const page = await readFile(join(cwd, 'report.html'), 'utf8');
    expect(document).toEqual({
      out: 'report.html',
      bytes: (await stat(join(cwd, 'report.html'))).size,
      from: null,
      to: null,
      projects: [{ org: 'acme', project: 'prj_1', entries: 3, comments: 3, undatedLeftOut: 0 }],
    });
    expect(page).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    for (const text of ['Step 3 &lt;fails&gt;', 'no import', 'a dead link', '/install']) expect(page).toContain(text);
    expect(page).not.toContain('PRIVATE');
    expect(await readdir(cwd)).toEqual(['data', 'docferry.yaml', 'report.html']);
  });

  it('covers all projects when none is named, even those never synced', async () => {
    const cwd = await scene();
    const { exitCode, stdout } = await docferry(['feedback', 'report', '--out', 'all.html'], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^all\.html: 3 entries of 2 projects, [\d.]+ KiB\n$/);
    const page = await readFile(join(cwd, 'all.html'), 'utf8');
    expect(page).toContain('<a href="#p2"><bdi>prj_2</bdi></a>');
    expect(page).toContain('No pass has completed yet.');
  });

  it('writes a folder for all projects: a page each, and one that ranks them by how surely they do not help', async () => {
    const cwd = await folderWithConfig({
      organizations:
        '  - { id: acme, apiKey: k, projects: [{ id: index }, { id: prj_2, name: "Hand <book>" }, { id: prj_10 }] }\n',
    });
    const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
    const votes = (yes: number, no: number) =>
      Array.from({ length: yes + no }, (_, n) => entry(`${n}`, { source: 'contextual', path: '/a', helpful: n < yes }));
    await wholePass(store, 'p', votes(0, 1), { project: 'index' });
    await wholePass(store, 'q', votes(5, 15), { project: 'prj_2' });
    await store.close();
    const { exitCode, document } = await docferryJson(['feedback', 'report', '--out', 'site/'], { cwd });
    expect({ exitCode, document }).toMatchObject({
      exitCode: 0,
      document: {
        out: 'site/',
        projects: [
          { project: 'prj_2', name: 'Hand <book>', page: 'projects/prj_2.html', entries: 20 },
          { project: 'index', page: 'projects/index.html', entries: 1 },
          { project: 'prj_10', page: 'projects/prj_10.html', entries: 0 },
        ],
      },
    });
    const index = await readFile(join(cwd, 'site/index.html'), 'utf8');
    const links = [...index.matchAll(/<a href="([^"]*)"><bdi>([^<]*)<\/bdi>/g)].map(([, page, name]) => [page, name]);
    expect(links).toEqual([
      ['projects/prj_2.html', 'Hand &lt;book&gt;'],
      ['projects/index.html', 'index'],
      ['projects/prj_10.html', 'prj_10'],
    ]);
    const page = await readFile(join(cwd, 'site/projects/prj_2.html'), 'utf8');
    expect(page).toContain('<a href="../index.html">All projects</a>');
    expect((await stat(join(cwd, 'site'))).mode & 0o077).toBe(0);
    const again = await docferry(['feedback', 'report', '--out', 'site'], { cwd });
    expect(again).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^site\/index\.html: 3 projects with a page each, /),
    });
    expect((await docferry(['feedback', 'report', 'prj_2', '--out', 'site'], { cwd })).exitCode).toBe(2);
  });

  it('filters by date, and counts undated entries left out', async () => {
    const cwd = await scene();
    const bounds = ['--from', '2026-11-01', '--to', '2026-11-02T01:00:00+01:00'];
    const { document } = await docferryJson([...args, ...bounds], { cwd });
    expect(document).toMatchObject({
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-02T00:00:00.000Z',
      projects: [{ entries: 1, undatedLeftOut: 1 }],
    });
    const { stdout } = await docferry([...args, ...bounds], { cwd });
    expect(stdout).toMatch(/^report\.html: 1 entry, [\d.]+ KiB; 1 without a date left out\n$/);
  });

  it('shows as many comments as wanted, or none', async () => {
    const cwd = await scene();
    await docferry([...args, '--comments', '1'], { cwd });
    const page = await readFile(join(cwd, 'report.html'), 'utf8');
    expect(page).toContain('The newest 1 of 3 comments.');
    expect(page).not.toContain('no import');
    const { document } = await docferryJson([...args, '--comments', '0'], { cwd });
    expect(document).toMatchObject({ projects: [{ comments: 0 }] });
    const without = await readFile(join(cwd, 'report.html'), 'utf8');
    expect(without).toContain('Comments were left out.');
    expect(without).not.toContain('Step 3');
  });

  it('shows no comments unless the configuration keeps them', async () => {
    const cwd = await scene();
    await appendFile(join(cwd, 'docferry.yaml'), 'privacy: { comments: drop }\n');
    const { document } = await docferryJson(args, { cwd });
    expect(document).toMatchObject({ projects: [{ entries: 3, comments: 0 }] });
    const page = await readFile(join(cwd, 'report.html'), 'utf8');
    for (const text of ['Step 3', 'no import', 'a dead link']) expect(page).not.toContain(text);
  });

  it('writes only the page to stdout with -', async () => {
    const cwd = await scene();
    const { exitCode, stdout, stderr } = await docferry([...args.slice(0, -1), '-'], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    expect(stderr).toMatch(/^stdout: 3 entries, /);
  });

  it('leaves the file unchanged when the store cannot be read', async () => {
    const cwd = await folderWithConfig({ organizations });
    await writeFile(join(cwd, 'data'), 'no folder');
    await writeFile(join(cwd, 'report.html'), 'before');
    expect((await docferry(args, { cwd })).exitCode).not.toBe(0);
    expect(await readFile(join(cwd, 'report.html'), 'utf8')).toBe('before');
    expect(await readdir(cwd)).toEqual(['data', 'docferry.yaml', 'report.html']);
  });

  it.each([
    [2, ['prj_1']],
    [2, ['prj_1', '--out', 'nowhere/x']],
    [2, ['prj_1', '--out', '/dev/null']],
    [2, ['prj_1', '--out', '-']],
    [2, ['prj_1', '--out', 'x', '--from', '2026-02-30']],
    [2, ['prj_1', '--out', 'x', '--comments', 'many']],
    [2, ['prj_1', '--out', 'x', '--comments', '5001']],
    [4, ['prj_9', '--out', 'x']],
  ])('ends with %i on %j and writes nothing', async (expected, flags) => {
    const cwd = await folderWithConfig({ organizations });
    const { exitCode, document } = await docferryJson(['feedback', 'report', ...flags], { cwd });
    expect(exitCode).toBe(expected);
    expect(document).toHaveProperty('error.message');
    expect((await readdir(cwd)).filter((name) => name !== 'data')).toEqual(['docferry.yaml']);
  });
});

describe('the library for charts', () => {
  it('is loaded only by the report', async () => {
    const cwd = await scene();
    const env = { NODE_DEBUG: 'esm' };
    const loads = async (command: string[]) =>
      (await docferry(command, { cwd, env, ownProcess: true })).stderr.includes('/echarts/');
    expect(await loads(['feedback', 'stats'])).toBe(false);
    expect(await loads(['--help'])).toBe(false);
    expect(await loads(args)).toBe(true);
  });
});
