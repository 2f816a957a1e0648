import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastMonths } from '../../../../src/cli/commands/feedback/feedback-stats.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';

async function scene(): Promise<string> {
  const cwd = await folderWithConfig();
  const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  const private_ = { comment: 'PRIVATE words', contact: 'PRIVATE@b.example', code: 'PRIVATE()' };
  const contextual = { ...private_, source: 'contextual', path: '/sch%C3%B6n', createdAt: new Date().toISOString() };
  await wholePass(store, 'p', [
    entry('1', { ...contextual, helpful: false }),
    entry('2', { ...contextual, helpful: false, path: '/worse\u001b[2J' }),
    entry('3', { ...contextual, helpful: true }),
    entry('4', { ...contextual, helpful: true }),
    entry('5', { createdAt: '2001-01-01' }),
    entry('6', { createdAt: null }),
  ]);
  await store.close();
  return cwd;
}

describe('the name of a project', () => {
  const organizations = `  - { id: acme, apiKey: k, projects: [{ id: prj_10, name: API }, { id: prj_2, name: Handbook }] }
  - { id: beta, apiKey: k, projects: [{ id: prj_b, name: API }] }
`;

  it('finds it, and is shown beside the id', async () => {
    const cwd = await folderWithConfig({ organizations });
    const { document } = await docferryJson(['feedback', 'stats', 'Handbook'], { cwd });
    expect(document).toMatchObject({ projects: [{ org: 'acme', project: 'prj_2', name: 'Handbook' }] });
    const { stdout } = await docferry(['feedback', 'stats'], { cwd });
    expect(stdout.match(/prj_\w+ “.*?” \(\w+\)/g)).toEqual([
      'prj_2 “Handbook” (acme)',
      'prj_10 “API” (acme)',
      'prj_b “API” (beta)',
    ]);
  });

  it('may belong to several organizations; then it needs the organization too', async () => {
    const cwd = await folderWithConfig({ organizations });
    const { exitCode, document } = await docferryJson(['feedback', 'stats', 'API'], { cwd });
    expect(exitCode).toBe(2);
    expect(document).toMatchObject({ error: { hint: 'they are: acme/prj_10, beta/prj_b' } });
    const named = await docferryJson(['feedback', 'stats', 'beta/API'], { cwd });
    expect(named.document).toMatchObject({ projects: [{ project: 'prj_b' }] });
    expect((await docferry(['feedback', 'stats', 'Nothing'], { cwd })).exitCode).toBe(4);
  });
});

describe('feedback stats', () => {
  it('is one JSON document of numbers', async () => {
    const cwd = await scene();
    const { exitCode, stderr, document } = await docferryJson(['feedback', 'stats', 'prj_1'], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const names = lastMonths(new Date(), 12);
    const months = names.map((name) => ({ name, entries: 0 }));
    const noVotes = names.map((name) => ({ name, yes: 0, no: 0, rate: null }));
    expect(document).toEqual({
      projects: [
        {
          org: 'acme',
          project: 'prj_1',
          entries: 6,
          tombstones: 0,
          rejects: 0,
          sources: [
            { name: 'contextual', entries: 4 },
            { name: 'thumbs_only', entries: 2 },
          ],
          statuses: [{ name: 'pending', entries: 6 }],
          helpful: { yes: 2, no: 2, rate: 0.5 },
          helpfulMonths: [...noVotes.slice(0, -1), { name: months.at(-1)?.name, yes: 2, no: 2, rate: 0.5 }],
          months: [...months.slice(0, -1), { name: months.at(-1)?.name, entries: 4 }],
          otherMonths: 1,
          undated: 1,
          paths: [
            { path: '/worse\u001b[2J', unhelpful: 1, helpful: 0 },
            { path: '/sch%C3%B6n', unhelpful: 1, helpful: 2 },
          ],
          watermark: expect.stringMatching(/Z$/),
          lastSync: {
            pass: 'sweep',
            startedAt: '2026-11-21T08:00:00.000Z',
            finishedAt: '2026-11-21T08:05:00.000Z',
            outcome: 'completed',
          },
        },
      ],
    });
  });

  it('shows bars to people, and no text a person wrote', async () => {
    const cwd = await scene();
    const { stdout } = await docferry(['feedback', 'stats'], { cwd });
    expect(stdout).toContain('prj_1 (acme): 6 entries, 0 not understood, 0 deleted');
    expect(stdout).toContain('last sync: sweep, completed 2026-11-21 08:05:00');
    expect(stdout).toMatch(/contextual +█{20} +4 +67 %/);
    expect(stdout).toMatch(/thumbs_only +█{10}░{10} +2 +33 %/);
    expect(stdout).toContain('50 % found their page helpful (2 of 4)');
    expect(stdout).toContain('1 in other months, 1 without a readable date');
    expect(stdout).toMatch(/\d{4}-\d\d +█{10}░{10} +50 % +4/);
    expect(stdout).toMatch(/\/worse\uFFFD\[2J +█{20} +1 +0/);
    for (const text of ['PRIVATE', '\u001b']) expect(stdout).not.toContain(text);
  });

  it('is plain tables with --no-color', async () => {
    const cwd = await scene();
    const { stdout } = await docferry(['feedback', 'stats', '--no-color'], { cwd });
    expect(stdout).toMatch(/contextual +4 +67 %/);
    expect(stdout).toMatch(/\d{4}-\d\d +50 % +4/);
    expect(stdout).toMatch(/\/schön +1 +2/);
    expect(stdout).not.toMatch(/[█░]/);
  });

  it('says so when nothing was synced, and ends with 4 for an unknown project', async () => {
    const cwd = await folderWithConfig();
    expect((await docferry(['feedback', 'stats'], { cwd })).stdout).toContain('never synced');
    expect((await docferry(['feedback', 'stats', 'prj_9'], { cwd })).exitCode).toBe(4);
  });
});

describe('lastMonths', () => {
  it('goes back over the turn of the year, also on the 31st', () => {
    expect(lastMonths(new Date('2026-03-31T23:59:59Z'), 4)).toEqual(['2025-12', '2026-01', '2026-02', '2026-03']);
  });
});
