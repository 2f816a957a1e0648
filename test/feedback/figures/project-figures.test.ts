import { describe, expect, it } from 'vitest';
import { documentKey } from '../../../src/feedback/rules/report-figures.ts';
import {
  begin,
  entry,
  finished,
  page,
  startedAt,
  temporaryStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';

/** Ways to write a path, with oddities in which SQL may differ from us. */
const oddPaths = [
  '/a/b',
  'https://docs.example/a/b?x#y',
  'HTTPS://docs.example/a/b/',
  '/a/b#y?x',
  '/a/b//',
  '/',
  'https://docs.example',
  '?x',
  '',
  'guide.md',
  '/line\nbreak?x\ny',
  '/a?next=https://b.example/c',
  '/go/https://b.example/c',
  '/100%',
  '/a[b]*',
  '/ガイド/',
  '1http://b.example/c',
  'a b://c/d',
];

describe('stats', () => {
  it('counts a document once, however its path is written', async () => {
    await using at = await temporaryStore();
    const votes = oddPaths.map((path, index) => entry(`${index}`, { source: 'contextual', path, helpful: false }));
    await wholePass(at.store, 'p', votes);
    const expected = new Map<string, number>();
    for (const key of oddPaths.map(documentKey)) expected.set(key, (expected.get(key) ?? 0) + 1);
    const { paths } = await at.store.stats('acme', 'prj_1');
    expect(paths[0]).toEqual({ path: '/a/b', unhelpful: 5, helpful: 0 });
    expect(expected.size).toBeGreaterThan(paths.length);
    for (const { path, unhelpful } of paths) expect([path, unhelpful]).toEqual([path, expected.get(path)]);
    const query = { org: 'acme', project: 'prj_1', comments: 0, now: new Date('2026-11-21T08:00:00Z') };
    const { votedPages, worst } = await at.store.reportFigures(query);
    expect(votedPages).toBe(expected.size);
    expect(worst).toHaveLength(12);
    for (const { path, no } of worst) expect([path, no]).toEqual([path, expected.get(path)]);
  });

  it('counts what is stored by source, status, month and path', async () => {
    await using at = await temporaryStore();
    const contextual = (id: string, path: string, helpful: boolean) =>
      entry(id, { source: 'contextual', path, helpful });
    await wholePass(at.store, 'p', [
      contextual('1', '/bad', false),
      contextual('2', '/bad', false),
      contextual('3', '/bad', true),
      contextual('4', '/mixed', false),
      contextual('5', '/good', true),
      entry('6', { source: 'agent', status: 'resolved', createdAt: '2025-01-31T23:59:59Z' }),
      entry('7', { source: 'agent', status: 'resolved', createdAt: 'lately' }),
      entry('8', { source: 'something new', status: 'later' }),
      entry('gone', { source: 'contextual', path: '/gone', helpful: false }),
    ]);
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'gone'");
    expect(await at.store.stats('acme', 'prj_1')).toEqual({
      entries: 8,
      tombstones: 1,
      rejects: 0,
      sources: [
        { name: 'contextual', entries: 5 },
        { name: 'agent', entries: 2 },
        { name: 'something new', entries: 1 },
      ],
      statuses: [
        { name: 'pending', entries: 5 },
        { name: 'resolved', entries: 2 },
        { name: 'later', entries: 1 },
      ],
      helpful: { yes: 2, no: 3 },
      helpfulMonths: [{ name: '2026-11', yes: 2, no: 3 }],
      months: [
        { name: '2025-01', entries: 1 },
        { name: '2026-11', entries: 6 },
      ],
      undated: 1,
      paths: [
        { path: '/bad', unhelpful: 2, helpful: 1 },
        { path: '/mixed', unhelpful: 1, helpful: 0 },
      ],
    });
  });

  it('counts rejects, names at most ten paths and keeps projects apart', async () => {
    await using at = await temporaryStore();
    const entries = Array.from({ length: 15 }, (_, n) =>
      entry(`${n}`, { source: 'contextual', path: `/${n}`, helpful: false }),
    );
    await begin(at.store, 'p');
    await at.store.upsertPage(page('p', entries, { rejected: [{ id: 'r', raw: '{}', reason: 'path is missing' }] }));
    await at.store.finishPass('p', finished);
    await wholePass(at.store, 'q', [entry('else', { source: 'agent' })], { project: 'prj_2' });
    const stats = await at.store.stats('acme', 'prj_1');
    expect(stats).toMatchObject({ entries: 15, rejects: 1, helpful: { yes: 0, no: 15 } });
    expect(stats.paths).toHaveLength(10);
    expect(await at.store.stats('acme', 'prj_2')).toMatchObject({ entries: 1, rejects: 0, paths: [] });
  });

  it('is all zeros before the first sync', async () => {
    await using at = await temporaryStore();
    expect(await at.store.stats('acme', 'prj_1')).toEqual({
      entries: 0,
      tombstones: 0,
      rejects: 0,
      sources: [],
      statuses: [],
      helpful: { yes: 0, no: 0 },
      helpfulMonths: [],
      months: [],
      undated: 0,
      paths: [],
    });
  });
});

const none = { incremental: [], review: [], sweep: [] };

describe('projectActivity', () => {
  it('counts what is stored, and what came in the 28 days before the last completed pass', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'p', [
      entry('1', { createdAt: '2026-11-21T07:59:59Z' }),
      entry('2', { createdAt: '2026-10-24T08:00:01Z', status: 'in_progress' }),
      entry('3', { createdAt: '2026-10-24T08:00:00Z', status: 'resolved' }),
      entry('4', { createdAt: '2024-02-29', status: 'dismissed' }),
      entry('5', { createdAt: 'lately' }),
      entry('late', { createdAt: '2026-11-21T08:00:01Z', status: 'resolved' }),
      entry('gone', { createdAt: '2026-11-20T00:00:00Z' }),
    ]);
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = 'gone'");
    await wholePass(at.store, 'q', [entry('else')], { project: 'prj_2' });
    expect(await at.store.projectActivity('acme', 'prj_1')).toEqual({
      entries: 6,
      open: 3,
      readUpTo: '2026-11-21T08:00:00.000Z',
      oldest: '2024-02-29T00:00:00.000Z',
      recent: 3,
      runs: { ...none, sweep: [{ startedAt: '2026-11-21T08:00:00.000Z', requests: 1 }] },
    });
  });

  it('knows what whole passes cost, newest first, and leaves out those that say nothing about the next one', async () => {
    await using at = await temporaryStore();
    const incremental = { pass: 'incremental', dateFrom: '2026-11-20T08:00:00.000Z' } as const;
    const pass = async (id: string, startedAt: string, requests: number, over: Parameters<typeof begin>[2]) => {
      await begin(at.store, id, { ...over, startedAt: new Date(startedAt) });
      await at.store.upsertPage(page(id, [], { requests }));
      await at.store.finishPass(id, finished);
    };
    await pass('first, of everything', '2026-11-20T08:00:00Z', 250, { pass: 'incremental' });
    await pass('older', '2026-11-20T09:00:00Z', 3, incremental);
    await pass('newer', '2026-11-20T10:00:00Z', 4, incremental);
    await pass('up to a day', '2026-11-20T11:00:00Z', 2, { ...incremental, dateTo: '2026-11-20T09:00:00.000Z' });
    await pass('from a day on', '2026-11-20T11:30:00Z', 9, { dateFrom: '2026-11-01T00:00:00.000Z' });
    await pass('review', '2026-11-20T12:00:00Z', 7, { pass: 'review' });
    await begin(at.store, 'failed', { ...incremental, startedAt: new Date('2026-11-20T13:00:00Z') });
    await at.store.finishPass('failed', { ...finished, outcome: 'failed', error: 'BadPage: page 1' });
    await begin(at.store, 'going on', { startedAt: new Date('2026-11-20T14:00:00Z') });
    const activity = await at.store.projectActivity('acme', 'prj_1');
    expect(activity.runs).toEqual({
      incremental: [
        { startedAt: '2026-11-20T10:00:00.000Z', requests: 4 },
        { startedAt: '2026-11-20T09:00:00.000Z', requests: 3 },
      ],
      review: [{ startedAt: '2026-11-20T12:00:00.000Z', requests: 7 }],
      sweep: [],
    });
    expect(activity.readUpTo).toBe('2026-11-20T11:30:00.000Z');
  });

  it('gives the last twenty runs', async () => {
    await using at = await temporaryStore();
    for (let n = 10; n < 35; n += 1) {
      await wholePass(at.store, `${n}`, [], { pass: 'review', startedAt: new Date(`2026-11-20T10:00:${n}Z`) });
    }
    const { review } = (await at.store.projectActivity('acme', 'prj_1')).runs;
    expect(review).toHaveLength(20);
    expect(review[0]?.startedAt).toBe('2026-11-20T10:00:34.000Z');
  });

  it('is empty before the first sync', async () => {
    await using at = await temporaryStore();
    const nothing = { entries: 0, open: 0, readUpTo: null, oldest: null, recent: 0, runs: none };
    expect(await at.store.projectActivity('acme', 'prj_1')).toEqual(nothing);
  });
});

const mine = { org: 'acme', project: 'prj_1' };
const hoursLater = (n: number) => new Date(startedAt.getTime() + n * 3_600_000);

it('says of each project what is stored of it and how complete that is', async () => {
  await using at = await temporaryStore();
  const stored = [
    entry('a', { comment: 'no', createdAt: '2026-11-19T10:00:00Z' }),
    entry('b', { createdAt: '2026-11-18T10:00:00Z' }),
  ];
  await wholePass(at.store, 'first', stored);
  await wholePass(at.store, 'second', stored, { startedAt: hoursLater(1) });
  await begin(at.store, 'third', { pass: 'incremental', startedAt: hoursLater(2) });
  const rejected = [{ id: 'r', raw: '{}', reason: 'path is missing' }];
  await at.store.upsertPage(page('third', [entry('c')], { rejected }));
  // Another project, and an organization that once had a project of the same id.
  await wholePass(at.store, 'other', [entry('z')], { project: 'prj_2', dateFrom: '2026-11-01T00:00:00Z' });
  await wholePass(at.store, 'former', [], { org: 'globex' });

  const other = { org: 'acme', project: 'prj_2' };
  const never = { org: 'acme', project: 'prj_never' };
  const found = await at.store.storedProjects([never, mine, other], 2);
  expect(found.map(({ passes, ...rest }) => ({ ...rest, passes: passes.map(({ passId }) => passId) }))).toEqual([
    {
      ...never,
      entries: 0,
      rejects: 0,
      tombstones: 0,
      watermark: null,
      everSwept: false,
      personalSince: null,
      verifiedUpTo: null,
      verified: await at.store.verifiedRanges(never.org, never.project),
      passes: [],
    },
    {
      ...mine,
      entries: 3,
      rejects: 1,
      tombstones: 0,
      watermark: await at.store.watermark(mine.org, mine.project),
      everSwept: true,
      personalSince: '2026-11-19T10:00:00.000Z',
      verifiedUpTo: await at.store.verifiedUpTo(mine.org, mine.project),
      verified: await at.store.verifiedRanges(mine.org, mine.project),
      passes: ['third', 'second'],
    },
    {
      ...other,
      entries: 1,
      rejects: 0,
      tombstones: 0,
      watermark: await at.store.watermark(other.org, other.project),
      everSwept: false,
      personalSince: null,
      verifiedUpTo: await at.store.verifiedUpTo(other.org, other.project),
      verified: await at.store.verifiedRanges(other.org, other.project),
      passes: ['other'],
    },
  ]);
  expect(found[1]?.watermark).toBe('2026-11-19T10:00:00.000Z');
  expect(found[1]?.passes[0]).toEqual(await at.store.getPass('third'));
});

it('takes no more passes of a project than asked for, when several began at the same moment', async () => {
  await using at = await temporaryStore();
  for (const name of ['a', 'b', 'c', 'd']) await begin(at.store, name);
  const of = async (passes: number) =>
    (await at.store.storedProjects([mine], passes))[0]?.passes.map(({ passId }) => passId);
  expect(await of(2)).toEqual(['d', 'c']);
  expect(await of(9)).toEqual(['d', 'c', 'b', 'a']);
  expect(await of(0)).toEqual([]);
});
