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
      hasWholeRejects: false,
      verifiedUpTo: null,
      verified: await at.store.verifiedRanges(never.org, never.project),
      firstReading: null,
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
      hasWholeRejects: true,
      verifiedUpTo: await at.store.verifiedUpTo(mine.org, mine.project),
      verified: await at.store.verifiedRanges(mine.org, mine.project),
      firstReading: null,
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
      hasWholeRejects: false,
      verifiedUpTo: await at.store.verifiedUpTo(other.org, other.project),
      verified: await at.store.verifiedRanges(other.org, other.project),
      firstReading: null,
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

it('says how far back personal data goes, also of entries without a date or with one in the future', async () => {
  await using at = await temporaryStore();
  const since = async () => (await at.store.storedProjects([mine], 0, hoursLater(24)))[0]?.personalSince;
  const firstSeen = (id: string, moment: string) =>
    at.run(`update feedback set first_seen_at = '${moment}' where id = '${id}'`);
  await wholePass(at.store, 'future', [entry('a', { contact: 'jane@mail.example', createdAt: '2999-01-01' })]);
  await firstSeen('a', '2026-11-21T07:00:00.000Z');
  expect(await since()).toBe('2026-11-21T07:00:00.000Z');
  await wholePass(at.store, 'undated', [entry('b', { comment: 'no', createdAt: 'lately' })]);
  await firstSeen('b', '2026-11-21T06:00:00.000Z');
  expect(await since()).toBe('2026-11-21T06:00:00.000Z');
  await wholePass(at.store, 'dated', [entry('c', { code: 'x', createdAt: '2026-11-20T10:00:00Z' })]);
  expect(await since()).toBe('2026-11-20T10:00:00.000Z');
});

it('says whether unreadable entries are stored whole', async () => {
  await using at = await temporaryStore();
  const isWhole = async () => (await at.store.storedProjects([mine], 0))[0]?.hasWholeRejects;
  await begin(at.store, 'p');
  await at.store.upsertPage(page('p', [], { rejected: [{ id: 'r', raw: '{}', reason: 'path is missing' }] }));
  expect(await isWhole()).toBe(true);
  await at.run("update feedback_rejects set raw = 'field names: none'");
  expect(await isWhole()).toBe(false);
});
