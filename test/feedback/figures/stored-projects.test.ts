import { expect, it } from 'vitest';
import { begin, entry, page, startedAt, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

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
