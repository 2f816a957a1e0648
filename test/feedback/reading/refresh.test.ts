import { describe, expect, it, vi } from 'vitest';
import type { PageUpsert, PassRow } from '../../../src/feedback/reading/passes.ts';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { newPace } from '../../../src/feedback/rules/refresh/pace.ts';
import type { RefreshPage } from '../../../src/feedback/rules/refresh/pages.ts';
import { worthOf } from '../../../src/feedback/rules/refresh/queue.ts';
import type { RefreshedProject } from '../../../src/feedback/rules/sync.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import {
  begin,
  entry,
  finished,
  page,
  startedAt,
  type TemporaryStore,
  temporaryStore,
  wholePass,
} from '../../tools/feedback/temporary-store.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const begun = startedAt.getTime();
const run = { workflowId: 'refresh:acme-1', runId: 'run-1' };
const projects: RefreshedProject[] = [{ project: 'prj_1', weight: 1, atMostMs: null }];

/** So many entries, one an hour, the newest first; every third is open. */
function entries(count: number): FeedbackEntry[] {
  return Array.from({ length: count }, (_, place) =>
    entry(`e${place}`, {
      createdAt: new Date(begun - (place + 1) * hourMs).toISOString(),
      status: place % 3 === 0 ? 'pending' : 'resolved',
    }),
  );
}

/** A project that was swept, and whose lists are cut. */
async function swept(store: FeedbackStore, all: FeedbackEntry[]): Promise<void> {
  await wholePass(store, 'sweep', all);
  await store.prepareRefresh('acme', ['prj_1'], begun + 600_000);
}

const pagesOf = async (store: FeedbackStore, at: number): Promise<RefreshPage[]> =>
  (await store.refreshView('acme', projects, at)).pages;

async function pageOf(store: FeedbackStore, list: 'all' | 'open', head: boolean): Promise<RefreshPage> {
  const found = (await pagesOf(store, begun + dayMs)).find((one) => one.list === list && (one.to === null) === head);
  if (!found) throw new Error(`no page of ${list}`);
  return found;
}

/** Reads a page at a moment as the service answers: what lies within the dates asked for (`dated`: as it takes them), less some. */
async function read(
  store: FeedbackStore,
  at: number,
  chosen: RefreshPage,
  served: FeedbackEntry[],
  { dated = (date) => date, ...over }: Partial<PageUpsert> & { dated?: (date: string) => string } = {},
): Promise<{ pass: PassRow; massMissing: number | null }> {
  const pass = await store.beginReading('acme', chosen, run, new Date(at));
  const slice = await store.currentSlice(pass.passId);
  const within = served.filter(
    ({ createdAt, status }) =>
      (createdAt ?? '') >= dated(slice?.dateFrom ?? '') &&
      (createdAt ?? '') < dated(slice?.dateTo ?? '9') &&
      (slice?.statuses?.includes(status) ?? true),
  );
  const { massMissing } = await store.upsertPage(
    page(pass.passId, within, { from: pass.position, askedAt: new Date(at), seenAt: new Date(at + 200), ...over }),
  );
  return { pass, massMissing };
}

const end = (at: number, more: { runId?: string } = {}) => ({
  ...run,
  ...more,
  org: 'acme',
  outcome: 'completed' as const,
  error: null,
  startedAt: new Date(at),
  finishedAt: new Date(at),
});

const gone = async (at: TemporaryStore) =>
  (await at.rows('select id from feedback where deleted_at is not null order by id')).map(({ id }) => id);

/** A page of all entries between two dates, a day after the sweep, with the entries in it. */
async function innerPage(store: FeedbackStore, all: readonly FeedbackEntry[]) {
  const pages = await pagesOf(store, begun + dayMs);
  const chosen = pages.find((one) => one.list === 'all' && one.from !== null && one.to !== null);
  if (!chosen) throw new Error('no such page');
  const inPage = all.filter(({ createdAt }) => {
    const moment = Date.parse(createdAt ?? '');
    return moment >= (chosen.from ?? 0) && moment < (chosen.to ?? 0);
  });
  return { chosen, inPage };
}

describe('the pages of a project', () => {
  it('cover all of its entries, and their sums follow from the entries whatever has read them', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const sums = () =>
      at.rows(
        'select list, date_from, date_to, entries, round(rate * 1000000) as rate, round(rate_seen * 1000) as seen from refresh_pages order by list, date_from',
      );
    await wholePass(
      at.store,
      'again',
      all.slice(100, 180).map((one) => ({ ...one, status: 'dismissed' })),
      {
        pass: 'incremental',
        startedAt: new Date(begun + hourMs),
      },
    );
    const changed = await sums();
    expect(changed.filter(({ list }) => list === 'all').reduce((sum, { entries: n }) => sum + Number(n), 0)).toBe(400);
    expect(changed.filter(({ list }) => list === 'open').reduce((sum, { entries: n }) => sum + Number(n), 0)).toBe(108);
    // Made again from the entries at the same moment, they are the same but for where open pages begin.
    const before = changed.filter(({ list }) => list === 'all');
    await at.run('update refresh_projects set reshaped = 1');
    await at.run('delete from refresh_rates');
    await at.store.prepareRefresh('acme', ['prj_1'], begun + 600_000);
    const cut = (await sums()).filter(({ list }) => list === 'all');
    expect(cut.map(({ entries: n }) => Number(n))).toEqual(before.map(({ entries: n }) => Number(n)));
  });

  it('are chosen by their worth: the store leaves none out that is worth more', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(3_000));
    const now = begun + 3 * dayMs;
    await at.run('update refresh_pages set left_entries = 3, left_since = 20 where entries % 2 = 0');
    const view = await at.store.refreshView('acme', projects, now);
    const [project] = view.projects;
    if (!project) throw new Error('no project');
    const rows = await at.rows('select date_from, list from refresh_pages');
    expect(rows.length).toBeGreaterThan(view.pages.length);
    const least = Math.min(...view.pages.filter(({ to }) => to !== null).map((one) => worthOf(one, project, now)));
    await at.run(
      `update refresh_pages set not_before = ${now + 1_000} where ${view.pages
        .map((one) => `(list = '${one.list}' and date_from = ${one.from ?? -8.64e15})`)
        .join(' or ')}`,
    );
    for (const other of await pagesOf(at.store, now)) expect(worthOf(other, project, now)).toBeLessThanOrEqual(least);
  });

  it('of a hundred projects with a million entries are compared without a look at any entry', async () => {
    await using at = await temporaryStore();
    const many = Array.from({ length: 100 }, (_, place) => ({
      project: `p${place}`,
      weight: 1 + (place % 3),
      atMostMs: null,
    }));
    for (const { project } of many) {
      const page = (place: number) =>
        `('acme', '${project}', 'all', ${place === 0 ? -8.64e15 : place * 1e9}, ${place === 109 ? 8.64e15 : (place + 1) * 1e9},
          ${begun}, 90, ${0.01 * (place + 1)}, 0, 0, 0, 0, 0, 1, ${begun}, null, null, 0, null)`;
      const values = Array.from({ length: 110 }, (_, place) => page(place));
      await at.run(`insert into refresh_pages values ${values.join(', ')}`);
      await at.run(`insert into refresh_projects (org_id, project_id, cut_at) values ('acme', '${project}', ${begun})`);
    }
    await at.run('alter table feedback rename to hidden');
    const took: number[] = [];
    for (let look = 0; look < 11; look += 1) {
      const before = performance.now();
      const { pages } = await at.store.refreshView('acme', many, begun + dayMs);
      took.push(performance.now() - before);
      expect(pages).toHaveLength(220);
    }
    process.stdout.write(`the next of 11,000 pages: ${took.sort((a, b) => a - b)[5]?.toFixed(1)} ms\n`);
  });

  it('are compared beside the newest ones, however many projects have entries without a date', async () => {
    await using at = await temporaryStore();
    const many = Array.from({ length: 21 }, (_, place) => ({ project: `p${place}`, weight: 1, atMostMs: null }));
    const all = entries(200);
    for (const { project } of many) {
      await wholePass(at.store, project, [...all, entry('undated', { createdAt: null })], { project });
    }
    const names = many.map(({ project }) => project);
    await at.store.prepareRefresh('acme', names, begun + 600_000);
    const isAgain = "project_id = 'p7' and list = 'all' and date_to < 8.64e15";
    await at.run(`update refresh_pages set again = ${begun}, again_from = ${begun} where ${isAgain}`);
    const { pages } = await at.store.refreshView('acme', many, begun + dayMs);
    const [again] = await at.rows(`select count(*) as pages from refresh_pages where ${isAgain}`);
    expect(Number(again?.pages)).toBeGreaterThan(0);
    expect(pages.filter((one) => one.again !== null)).toHaveLength(Number(again?.pages));
    expect(pages.filter(({ to, list }) => to === null && list !== 'undated')).toHaveLength(42);
    expect(pages).toHaveLength(62);
  });

  it('are cut again without losing the page that is read by half', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const { chosen, inPage } = await innerPage(at.store, all);
    const readAt = begun + 2 * dayMs;
    const half = inPage.slice(0, 40);
    const { pass } = await read(at.store, readAt, chosen, half, { hasMore: true, nextCursor: 'half' });
    await at.store.prepareRefresh('acme', ['prj_1'], readAt + 1_000);
    const { projects: views, pages } = await at.store.refreshView('acme', projects, readAt + 2_000);
    expect(views[0]?.halfRead).toBe(pass.passId);
    expect(pages[0]?.cutAt).toBe(readAt + 1_000);
    await read(at.store, readAt + 3_000, chosen, inPage.slice(40));
    const after = await at.store.refreshView('acme', projects, readAt + 4_000);
    expect(after.projects[0]?.halfRead).toBeNull();
    expect(after.pages.filter((one) => one.readAt === readAt)).toHaveLength(1);
    expect(await gone(at)).toEqual([]);
  });

  it('stay few when many entries come: what leaves a head that fills goes to the page below it', async () => {
    await using at = await temporaryStore();
    let all = entries(200);
    await swept(at.store, all);
    for (let n = 1; n <= 40; n += 1) {
      const now = begun + dayMs / 2 + n * 60_000;
      const come = [3, 2, 1, 0].map((place) =>
        entry(`new-${n}-${place}`, {
          createdAt: new Date(now - 10_000 * (4 - place)).toISOString(),
          status: 'resolved',
        }),
      );
      all = [...come, ...all];
      const head = (await pagesOf(at.store, now)).find((one) => one.list === 'all' && one.to === null);
      if (!head) throw new Error('no head');
      await read(at.store, now, head, all);
    }
    const pages = await at.rows("select entries from refresh_pages where list = 'all'");
    expect(pages.reduce((sum, page) => sum + Number(page.entries), 0)).toBe(360);
    expect(pages.length).toBeLessThanOrEqual(5);
  });

  it('are made again from the entries when they are lost', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(400));
    const before = (await pagesOf(at.store, begun + dayMs)).map(({ list, from, to, entries: n }) => ({
      list,
      from,
      to,
      n,
    }));
    for (const table of ['pages', 'rates', 'entries', 'paces', 'projects'])
      await at.run(`delete from refresh_${table}`);
    await at.store.prepareRefresh('acme', ['prj_1'], begun + 600_000);
    const after = (await pagesOf(at.store, begun + dayMs)).map(({ list, from, to, entries: n }) => ({
      list,
      from,
      to,
      n,
    }));
    expect(after).toEqual(before);
  });
});

describe('the lists of a project', () => {
  /** Whether an answer of so many of the open entries, and one more that is closed, has them cut anew. */
  const cutsAnew = async (pageSize: number, count: number, more: FeedbackEntry[] = []) => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    await at.run(`update refresh_projects set page_size = ${pageSize}, reshaped = 0`);
    const chosen = await pageOf(at.store, 'open', true);
    const pass = await at.store.beginReading('acme', chosen, run, new Date(begun + dayMs));
    const open = all.filter(({ status }) => status === 'pending').slice(0, count);
    const answer = { from: pass.position, hasMore: true, nextCursor: 'more' };
    await at.store.upsertPage(page(pass.passId, [...open, ...more], answer));
    const [row] = await at.rows('select reshaped from refresh_projects');
    return row?.reshaped === 1;
  };
  const closed = entry('closed', { status: 'resolved' });

  it.each([
    ['a first full page is of the usual size', 0, 100, [], false],
    ['a page is as large as those before', 50, 50, [], false],
    ['a first full page is smaller than usual', 0, 50, [], true],
    ['a page is larger than those before', 50, 100, [], true],
    ['a first full page shows that the status filter is ignored', 0, 99, [closed], true],
  ] as const)('are cut anew when that is of use: %s', async (_what, pageSize, count, more, isCut) => {
    expect(await cutsAnew(pageSize, count, [...more])).toBe(isCut);
  });
});

describe('the open list', () => {
  it('is read without a look at closed entries, however many there are', async () => {
    const all = entries(3_000).map((one, place) => ({ ...one, status: place % 100 === 0 ? 'pending' : 'resolved' }));
    const looks = async (served: FeedbackEntry[]) => {
      await using at = await temporaryStore();
      await swept(at.store, served);
      const chosen = await pageOf(at.store, 'open', true);
      // The dates of each row that is loaded are parsed.
      const parse = vi.spyOn(Date, 'parse');
      await read(at.store, begun + dayMs, chosen, served.slice(1));
      const count = parse.mock.calls.length;
      parse.mockRestore();
      expect(await at.rows('select id from refresh_entries where left_at is not null')).toEqual([{ id: 'e0' }]);
      return count;
    };
    const open = all.filter(({ status }) => status === 'pending');
    expect(await looks(all)).toBeLessThan((await looks(open)) + 100);
  });
});

describe('the first reading of a project', () => {
  const key = { org: 'acme', project: 'prj_1' };
  const begins = (at: TemporaryStore, moment = begun) => at.store.beginFirstReading(key, run, new Date(moment));

  it('has nothing left to read once its last page is stored, whoever ended its pass', async () => {
    for (const wasEnded of [false, true]) {
      await using at = await temporaryStore();
      const pass = await begins(at);
      if (pass === null) throw new Error('no pass');
      expect((await begins(at))?.passId).toBe(pass.passId);
      await at.store.upsertPage(page(pass.passId, entries(60), { from: pass.position }));
      if (wasEnded) await at.store.finishPass(pass.passId, finished);
      expect(await begins(at)).toBeNull();
      expect(await at.store.getPass(pass.passId)).toMatchObject({ outcome: 'completed' });
      const { pages, projects: views } = await at.store.refreshView('acme', projects, begun + dayMs);
      expect(views).toMatchObject([{ firstPass: null, cutAt: begun }]);
      expect(pages.length).toBeGreaterThan(0);
    }
  });

  it('is not needed any more when another sweep has read everything, though it has come to its end', async () => {
    await using at = await temporaryStore();
    const pass = await begins(at);
    if (pass === null) throw new Error('no pass');
    const all = entries(300);
    const mixed = all.map((_, place) => all[(place * 7_919) % 300] ?? entry('none')).slice(0, 100);
    await at.store.upsertPage(page(pass.passId, mixed, { from: pass.position, hasMore: true, nextCursor: 'c1' }));
    await expect(at.store.cutSlice(pass.passId, 'c1')).rejects.toThrow('cursor');
    await wholePass(at.store, 'by-a-person', all, { startedAt: new Date(begun + hourMs) });
    await at.store.prepareRefresh('acme', ['prj_1'], begun + 2 * hourMs);
    const view = await at.store.refreshView('acme', projects, begun + dayMs);
    expect(view.projects).toMatchObject([{ firstPass: null, cutAt: begun + 2 * hourMs }]);
    expect(view.pages.length).toBeGreaterThan(0);
    expect(await at.store.getPass(pass.passId)).toMatchObject({ outcome: 'cancelled' });
  });
});

describe('pages that cannot be read', () => {
  const minuteMs = 60_000;
  const pauseMs = 15 * minuteMs;

  /** Chooses as refresh does, by the place in the view, and gives up. */
  async function fails(at: TemporaryStore, moment: number, wholeProject = false): Promise<void> {
    const [chosen] = await pagesOf(at.store, moment);
    if (!chosen) throw new Error('no page');
    const { passId } = await at.store.beginReading('acme', chosen, run, new Date(moment));
    await at.store.abandonReading(passId, { at: moment, notBefore: moment + pauseMs, wholeProject });
  }

  it('have their whole project left alone when nothing was read between two of them, but for one a pause', async () => {
    await using at = await temporaryStore();
    const all = entries(1_000);
    await swept(at.store, all);
    const now = begun + dayMs;
    const count = (await pagesOf(at.store, now)).length;
    await fails(at, now);
    expect(await pagesOf(at.store, now)).toHaveLength(count - 1);
    const [other] = await pagesOf(at.store, now);
    if (!other) throw new Error('no page');
    await read(at.store, now + minuteMs, other, all);
    await fails(at, now + 2 * minuteMs);
    expect(await pagesOf(at.store, now + 2 * minuteMs)).toHaveLength(count - 2);
    await fails(at, now + 10 * minuteMs);
    expect(await pagesOf(at.store, now + 24 * minuteMs)).toEqual([]);
    const probed = new Set<number | null>();
    for (let probe = 0; probe < 3; probe += 1) {
      const moment = now + 25 * minuteMs + probe * pauseMs;
      probed.add((await pagesOf(at.store, moment))[0]?.from ?? null);
      await fails(at, moment);
      expect(await pagesOf(at.store, moment + pauseMs - 1)).toEqual([]);
    }
    // The one that was tried last is not tried first again: others may be readable.
    expect(probed.size).toBe(3);
    const back = now + 25 * minuteMs + 3 * pauseMs;
    const [good] = await pagesOf(at.store, back);
    if (!good) throw new Error('no page');
    await read(at.store, back, good, all);
    expect((await pagesOf(at.store, back + minuteMs)).length).toBeGreaterThan(count - 6);
  });

  it('have it left alone at once, with its first reading, when the service refuses the project', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(1_000));
    const now = begun + dayMs;
    await fails(at, now, true);
    const { pages, projects: views } = await at.store.refreshView('acme', projects, now + pauseMs - 1);
    expect(pages).toEqual([]);
    expect(views).toMatchObject([{ notBefore: now + pauseMs }]);
    expect(await pagesOf(at.store, now + pauseMs)).not.toEqual([]);
  });
});

describe('an entry that a complete reading has missed', () => {
  it('is tombstoned by the second reading, and counted in the row', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const served = all.filter(({ id }) => id !== 'e200');
    const chosen = (await pagesOf(at.store, begun + dayMs)).find(
      (one) => one.list === 'all' && (one.from ?? 0) <= begun - 201 * hourMs && (one.to ?? 9e15) > begun - 201 * hourMs,
    );
    if (!chosen) throw new Error('no such page');
    await read(at.store, begun + dayMs, chosen, served);
    expect(await gone(at)).toEqual([]);
    const again = (await pagesOf(at.store, begun + dayMs + 1_000)).filter((one) => one.again !== null);
    expect(again).toMatchObject([{ from: chosen.from, again: begun + dayMs }]);
    const { pass } = await read(at.store, begun + dayMs + 1_000, chosen, served);
    expect(await gone(at)).toEqual(['e200']);
    expect(await at.store.getPass(pass.passId)).toMatchObject({ entries: { tombstoned: 1 } });
    expect(await at.store.endRefreshRun(end(begun + dayMs + 2_000))).toMatchObject([
      { project: 'prj_1', inserted: 0, updated: 0, tombstoned: 1 },
    ]);
  });

  it('is not when another pass has seen it since the first of them began', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const chosen = await pageOf(at.store, 'all', true);
    const missing = all.filter(({ id }) => id !== 'e3');
    await read(at.store, begun + dayMs, chosen, missing);
    await wholePass(at.store, 'other', all.slice(0, 10), {
      pass: 'incremental',
      startedAt: new Date(begun + dayMs + 500),
    });
    await read(at.store, begun + dayMs + 1_000, chosen, missing);
    expect(await gone(at)).toEqual([]);
  });

  it('waits for a reading in another hour when a whole page is missing', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const { chosen, inPage } = await innerPage(at.store, all);
    const isLeft = (one: FeedbackEntry) => !inPage.includes(one);
    const served = all.filter(isLeft);
    expect((await read(at.store, begun + dayMs, chosen, served)).massMissing).toBe(chosen.entries);
    await read(at.store, begun + dayMs + 1_000, chosen, served);
    expect(await gone(at)).toEqual([]);
    // Wrongly empty: it comes back.
    await read(at.store, begun + dayMs + 2_000, chosen, all);
    await read(at.store, begun + dayMs + 2 * hourMs, chosen, served);
    expect(await gone(at)).toEqual([]);
    await read(at.store, begun + dayMs + 3 * hourMs + 1_000, chosen, served);
    expect(await gone(at)).toHaveLength(chosen.entries);
  });

  it('is missing after an answer without any entry, of which nothing is learnt', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(400));
    expect((await read(at.store, begun + dayMs, await pageOf(at.store, 'all', true), [])).massMissing).toBeGreaterThan(
      0,
    );
    expect(await gone(at)).toEqual([]);
  });

  it('from the open list is noted to have left it, until it is read again', async () => {
    await using at = await temporaryStore();
    const all = entries(60);
    await swept(at.store, all);
    const closed = all.map((one) => (one.id === 'e9' ? { ...one, status: 'resolved' } : one));
    await read(at.store, begun + dayMs, await pageOf(at.store, 'open', true), closed);
    const [mark] = await at.rows('select id, left_at from refresh_entries');
    expect(mark).toMatchObject({ id: 'e9' });
    expect(Number(mark?.left_at)).toBeGreaterThan(begun);
    expect(Number(mark?.left_at)).toBeLessThan(begun + dayMs);
    const head = await pageOf(at.store, 'all', true);
    expect(head.left).toBe(1);
    await read(at.store, begun + dayMs + 1_000, head, closed);
    expect((await pageOf(at.store, 'all', true)).left).toBe(0);
    expect(await at.rows("select status from feedback where id = 'e9'")).toEqual([{ status: 'resolved' }]);
  });
});

describe('a service that takes date-times for their days', () => {
  const midnight = (date: string) => (date.length > 1 ? `${date.slice(0, 10)}T00:00:00.000Z` : date);

  // One entry an hour, the newest first, but for those that are left out: 95 are a page.
  it.each([
    {
      name: 'the first entry of a day stands below the head, and another below the next page',
      newest: '2026-02-10T23:30:00.000Z',
      begin: ['2026-02-07T01:30:00.000Z', '2026-02-03T02:30:00.000Z'],
      without: (place: number) => place === 191,
      read: [0, 1, 1],
    },
    {
      name: 'a page lies between the first entry of a day and the last moment of another',
      newest: '2026-02-10T21:59:59.999Z',
      begin: ['2026-02-06T23:59:59.999Z', '2026-02-02T22:59:59.999Z'],
      without: (place: number) => [100, 101].includes(place) || (place > 192 && place < 214) || place > 300,
      read: [1, 2, 2],
    },
  ])('loses no entry where $name', async ({ newest, begin, without, read: places }) => {
    await using at = await temporaryStore();
    const all = Array.from({ length: 400 }, (_, place) =>
      entry(`e${place}`, {
        createdAt: new Date(Date.parse(newest) - place * hourMs).toISOString(),
        status: 'resolved',
      }),
    ).filter((_, place) => !without(place));
    await swept(at.store, all);
    const pages = (await pagesOf(at.store, begun + dayMs))
      .filter(({ list }) => list === 'all')
      .sort((a, b) => (b.from ?? 0) - (a.from ?? 0));
    expect(pages.slice(0, 2).map(({ from }) => from)).toEqual(begin.map((date) => Date.parse(date)));
    for (const [n, place] of places.entries()) {
      const chosen = pages[place];
      if (chosen === undefined) throw new Error(`no page ${place}`);
      await read(at.store, begun + dayMs + n * 1_000, chosen, all, { dated: midnight });
    }
    expect(await gone(at)).toEqual([]);
  });
});

describe('a clock that was a day ahead and is right again', () => {
  it('leaves nothing in the future: what was seen then counts as seen when it is right again', async () => {
    await using at = await temporaryStore();
    const all = entries(400);
    await swept(at.store, all);
    const ahead = begun + 2 * dayMs;
    const now = begun + dayMs;
    const head = await pageOf(at.store, 'all', true);
    const lower = (await pagesOf(at.store, ahead)).find((one) => one.list === 'all' && one.to === head.from);
    if (!lower) throw new Error('no second page');
    await read(at.store, ahead, head, all);
    const served = all.filter(({ id }) => id !== 'e100');
    await read(at.store, ahead + 1_000, lower, served);
    await at.store.saveRefreshPace('acme', { ...newPace(ahead + 1_000), credit: 0 });
    await at.store.prepareRefresh('acme', ['prj_1'], now);
    const { pages, projects: views, pace } = await at.store.refreshView('acme', projects, now);
    expect(pace.at).toBeLessThanOrEqual(now);
    expect(views).toMatchObject([{ headReadAt: now, cutAt: now }]);
    for (const one of pages) {
      expect(one.readAt).toBeLessThanOrEqual(now);
      expect(one.again ?? 0).toBeLessThanOrEqual(now);
    }
    expect(await at.rows(`select id from feedback where last_seen_at > '${new Date(now).toISOString()}'`)).toEqual([]);
    // What was read then is not what is worth most now.
    const project = views[0];
    if (!project) throw new Error('no project');
    const worth = (one: RefreshPage) => worthOf(one, project, now);
    const readThen = pages.filter(({ readAt }) => readAt === now);
    const others = pages.filter(({ readAt, list }) => readAt !== now && list === 'all');
    expect(readThen.length).toBeGreaterThan(1);
    expect(Math.max(...readThen.map(worth))).toBeLessThan(Math.min(...others.map(worth)));
    // The second reading that misses it, whatever the clock said at the first; one that was seen then is missed once.
    const again = pages.find((one) => one.again !== null);
    if (!again) throw new Error('no page to read again');
    const fewer = served.filter(({ id }) => id !== 'e101');
    await read(at.store, now + 1_000, again, fewer);
    expect(await gone(at)).toEqual(['e100']);
    await read(at.store, now + 2_000, again, fewer);
    expect(await gone(at)).toEqual(['e100', 'e101']);
  });

  it('leaves no page and no first reading alone for longer than six hours', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(400));
    const now = begun + dayMs;
    const count = (await pagesOf(at.store, now)).length;
    await at.store.deferFirstReading({ org: 'acme', project: 'prj_1' }, now + dayMs);
    await at.run(`update refresh_pages set not_before = ${now + dayMs}`);
    expect(await at.store.refreshView('acme', projects, now)).toMatchObject({ projects: [{ notBefore: 0 }] });
    expect(await pagesOf(at.store, now)).toHaveLength(count);
    await at.run(`update refresh_pages set not_before = ${now + 60_000}`);
    expect(await pagesOf(at.store, now)).toEqual([]);
  });
});

describe('the rows of runs', () => {
  it('are one an hour when nothing was found, and one a project when something was', async () => {
    await using at = await temporaryStore();
    const all = entries(60);
    await swept(at.store, all);
    const head = await pageOf(at.store, 'all', true);
    for (const minute of [0, 5, 10]) {
      await read(at.store, begun + dayMs + minute * 60_000, head, all);
      expect(await at.store.endRefreshRun(end(begun + dayMs + minute * 60_000, { runId: `run-${minute}` }))).toEqual(
        [],
      );
    }
    const rows = () =>
      at.rows(
        "select project_id, outcome, requests, inserted from sync_passes where pass = 'refresh' order by project_id",
      );
    expect(await rows()).toEqual([{ project_id: '', outcome: 'completed', requests: 3, inserted: 0 }]);
    const more = [entry('new', { createdAt: new Date(begun + hourMs).toISOString() }), ...all];
    await read(at.store, begun + dayMs + 900_000, head, more);
    await at.store.endRefreshRun(end(begun + dayMs + 900_000, { runId: 'run-15' }));
    expect(await rows()).toEqual([
      { project_id: '', outcome: 'completed', requests: 3, inserted: 0 },
      { project_id: 'prj_1', outcome: 'completed', requests: 1, inserted: 1 },
    ]);
    expect(await at.store.watermark('acme', 'prj_1')).toBe(new Date(begun + hourMs).toISOString());
  });

  it('keep the watermark of a reading to the end of what a pass that failed had brought', async () => {
    await using at = await temporaryStore();
    const all = entries(60);
    await swept(at.store, all);
    const head = await pageOf(at.store, 'all', true);
    const late = new Date(begun + hourMs).toISOString();
    const more = [entry('new', { createdAt: late }), ...all];
    await begin(at.store, 'failed', { pass: 'incremental' });
    await at.store.upsertPage(page('failed', more.slice(0, 1), { hasMore: true, nextCursor: 'rest' }));
    await at.store.finishPass('failed', { ...finished, outcome: 'failed', error: 'BadPage' });
    expect(await at.store.watermark('acme', 'prj_1')).toBe(all[0]?.createdAt);
    await read(at.store, begun + dayMs, head, more);
    expect(await at.store.endRefreshRun(end(begun + dayMs))).toEqual([]);
    expect(await at.store.watermark('acme', 'prj_1')).toBe(late);
  });

  it('hand a page that is read by half on to the next run, which goes on with its cursor', async () => {
    await using at = await temporaryStore();
    const all = entries(60);
    await swept(at.store, all);
    const head = await pageOf(at.store, 'all', true);
    await read(at.store, begun + dayMs, head, all.slice(0, 30), { hasMore: true, nextCursor: 'half' });
    await at.store.endRefreshRun(end(begun + dayMs));
    const view = await at.store.refreshView('acme', projects, begun + dayMs + 60_000);
    const pass = await at.store.getPass(view.projects[0]?.halfRead ?? '');
    expect(pass).toMatchObject({ outcome: 'running', position: { cursor: 'half' } });
    await read(at.store, begun + dayMs + 60_000, head, all.slice(30));
    expect(await gone(at)).toEqual([]);
    expect((await pageOf(at.store, 'all', true)).readAt).toBe(begun + dayMs);
    await at.store.endRefreshRun(end(begun + dayMs + 60_000, { runId: 'run-2' }));
    expect(await at.rows("select * from sync_passes where outcome = 'running'")).toEqual([]);
  });
});

describe('how late a project is known', () => {
  const window = { limit: 100, reserve: 0, windowMs: hourMs, otherClients: null };
  const organization = { id: 'acme', refresh: { everyMs: 60_000, share: 0.5 }, projects: [{ id: 'prj_1' }] };
  const after = begun + dayMs;

  it('is measured by the dates of what refresh has found since it first read the project, of a week', async () => {
    await using at = await temporaryStore();
    const all = entries(60);
    await swept(at.store, all);
    const delays = async (moment: number) =>
      (await at.store.refreshDelays(organization, window, moment)).get('prj_1')?.measured;
    expect(await delays(after)).toBeNull();
    const dates: [string, number][] = [
      ['before', begun + hourMs],
      ['first', after + 60_000],
      ['second', after + 120_000],
    ];
    for (const [id, created] of dates) {
      all.unshift(entry(id, { createdAt: new Date(created).toISOString() }));
      const readAt = Math.max(after, created + (id === 'first' ? 240_000 : 360_000));
      await read(at.store, readAt, await pageOf(at.store, 'all', true), all);
      await at.store.endRefreshRun(end(readAt, { runId: id }));
    }
    expect(await delays(after + hourMs)).toEqual({ newMs: 300_200, newMostMs: 360_200, entries: 2 });
    expect(await delays(after + 8 * dayMs)).toBeNull();
  });

  it('is expected of the share that other clients leave, also of those seen earlier; of nothing without a plan', async () => {
    await using at = await temporaryStore();
    await swept(at.store, entries(2_000));
    const expected = async (changes: Partial<typeof organization>, otherClients: number | null) => {
      const configured = { ...organization, ...changes };
      return (await at.store.refreshDelays(configured, { ...window, otherClients }, after)).get('prj_1')?.expected;
    };
    const alone = (await expected({}, null))?.silentMs ?? 0;
    const beside = (await expected({}, 80))?.silentMs ?? 0;
    expect(alone).toBeGreaterThan(0);
    expect(beside).toBeGreaterThan(2 * alone);
    await at.store.saveRefreshPace('acme', { ...newPace(after), others: { requests: 80, at: after } });
    expect((await expected({}, null))?.silentMs).toBe(beside);
    const { refresh: _, ...unplanned } = organization;
    expect((await at.store.refreshDelays(unplanned, window, after)).get('prj_1')?.expected).toBeNull();
  });
});
