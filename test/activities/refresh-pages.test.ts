import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createWatchActivities } from '../../src/activities/watch-steps.ts';
import type { FeedbackQuery } from '../../src/service/documentation-service.ts';
import { BadRequest, MalformedResponse, PlanRequired, ServerError } from '../../src/service/errors.ts';
import { Database } from '../../src/sqlite.ts';
import { type ActivityScene, mockActivity } from '../tools/activity-dependencies.ts';
import { compareWithTruth } from '../tools/feedback/feedback-truth.ts';
import { hourMs, refresh, refreshScene } from '../tools/feedback/refresh-run.ts';

let scene: ActivityScene;
afterEach(async () => {
  vi.useRealTimers();
  await scene?.end();
});

/** Time passes by Temporal's clock and the service's; the store and the lease see it too. */
function later(ms: number): void {
  const now = Date.now() + ms;
  vi.useFakeTimers({ toFake: ['Date'], now });
}

const analytics = () => scene.sandbox.log().filter((entry) => entry.kind === 'analytics');

describe('refreshPages', () => {
  it('reads a project for the first time with all that is left, then keeps to its share', async () => {
    scene = await refreshScene({ entries: 1_000, requests: 100_000 });
    const first = await refresh(scene);
    expect(first).toMatchObject({
      entries: { inserted: 1_000 },
      projects: [{ project: 'prj_1', inserted: 1_000 }],
      webhooks: ['chat'],
    });
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
    const spent = analytics().length;
    later(hourMs / 2);
    await refresh(scene);
    expect(analytics().length - spent).toBeLessThanOrEqual(25);
  });
});

/** Rows of the scene's store. */
function rows(query: string): Record<string, unknown>[] {
  const db = new Database(join(scene.folder, 'feedback.db'), { readOnly: true });
  try {
    return db.prepare<Record<string, unknown>>(query).all();
  } finally {
    db.close();
  }
}

describe('a clock that was a day ahead', () => {
  it('costs no reading and no entry: the pace is back at once, and what was read then is not read again first', async () => {
    scene = await refreshScene({ entries: 2_500, days: 250, requests: 1e6 }, { share: 0.25 });
    await refresh(scene);
    const ids = [...scene.sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id);
    const runs = async (count: number) => {
      const before = analytics().length;
      for (let run = 0; run < count; run += 1) {
        later(300_000);
        await refresh(scene);
      }
      return analytics().length - before;
    };
    later(24 * hourMs);
    const then = Date.now();
    expect(await runs(6)).toBeGreaterThan(10);
    scene.sandbox.deleteEntries('prj_1', ids.slice(300, 303));
    later(-24 * hourMs);
    scene.resetBudget();
    const now = Date.now();
    expect(await runs(1)).toBeGreaterThan(0);
    const pages = rows(`select list, date_from from refresh_pages where read_at between ${now} and ${Date.now()}`);
    expect(await runs(11)).toBeGreaterThan(20);
    expect(rows(`select * from refresh_pages where read_at >= ${then}`)).toEqual([]);
    const kept = rows(`select * from refresh_pages where read_at between ${now} and ${now + 360_000}`);
    expect(kept.length).toBeGreaterThan(pages.length / 2);
    const gone = rows('select id from feedback where deleted_at is not null').map(({ id }) => `${id}`);
    expect(gone.filter((id) => !ids.slice(300, 303).includes(id))).toEqual([]);
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0 });
  });

  it('leaves the alarm for stale feedback true: none at once, and one when nothing is read any more', async () => {
    scene = await refreshScene({ entries: 100, requests: 1e6 }, { freshnessMs: hourMs });
    const { lookAround } = createWatchActivities(scene.deps);
    const stale = async () => {
      await mockActivity().run(lookAround, { org: 'acme', last: { since: 0, absent: [], at: null } });
      return (await scene.deps.feedback.noticeRows('acme')).some(({ type }) => type === 'feedback.stale');
    };
    await refresh(scene);
    later(24 * hourMs);
    await refresh(scene);
    later(-24 * hourMs);
    expect(await stale()).toBe(false);
    later(hourMs - 1_000);
    expect(await stale()).toBe(false);
    later(60_000);
    expect(await stale()).toBe(true);
  });
});

const tombstoned = () => rows('select id from feedback where deleted_at is not null').length;
const sent = () => scene.delivered.map(({ event }) => `${event.type} ${'state' in event.data ? event.data.state : ''}`);

describe('a project', () => {
  it('read by half says how far it was read, and is read to its end by later runs', async () => {
    const settings = { requests: 4, reserve: 0, windowMs: hourMs, arrivalMs: 500 };
    scene = await refreshScene({ entries: 1_000, days: 100, requests: 1e6 }, { settings });
    const state = async () => {
      const [stored] = await scene.deps.feedback.storedProjects([{ org: 'acme', project: 'prj_1' }], 0);
      return { reading: stored?.firstReading ?? null, entries: stored?.entries };
    };
    expect((await state()).reading).toBeNull();
    await refresh(scene);
    const { reading, entries } = await state();
    const [oldest] = rows('select min(created_at_utc) as moment from feedback');
    expect(reading).toMatchObject({ pages: (entries ?? 0) / 100, order: 'newest' });
    expect(Date.parse(reading?.reached ?? '')).toBeGreaterThan(Date.parse(`${oldest?.moment}`));
    expect(Date.parse(reading?.reached ?? '')).toBeLessThan(Date.now() - 30 * 24 * hourMs);
    expect(entries).toBeLessThan(500);
    for (let hour = 0; hour < 12 && (await state()).reading !== null; hour += 1) {
      later(hourMs);
      await refresh(scene);
    }
    expect(await state()).toEqual({ reading: null, entries: 1_000 });
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
  });

  it('whose first reading was interrupted after its last page competes in the next run', async () => {
    scene = await refreshScene({ entries: 150, requests: 1e6 });
    const { feedback } = scene.deps;
    const dying = { ...feedback, endFirstReading: () => Promise.reject(new Error('killed')) };
    Object.assign(scene.deps, { feedback: dying });
    await expect(refresh(scene)).rejects.toThrow('killed');
    Object.assign(scene.deps, { feedback });
    scene.sandbox.addEntries('prj_1', { count: 2 });
    await refresh(scene);
    later(hourMs / 2);
    await refresh(scene);
    expect(compareWithTruth(scene)).toMatchObject({ entries: 152, missing: 0, surplus: 0 });
    expect(rows("select outcome from sync_passes where pass = 'sweep'")).toEqual([{ outcome: 'completed' }]);
  });

  it('that was emptied loses its entries only by a reading in another hour, and a person is told before', async () => {
    scene = await refreshScene({ entries: 250, nullDates: 0, requests: 1e6 });
    await refresh(scene);
    scene.sandbox.deleteEntries(
      'prj_1',
      [...scene.sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id),
    );
    for (let run = 0; run < 5; run += 1) {
      later(600_000);
      await refresh(scene);
    }
    expect(sent()).toContain('feedback.missing happened');
    expect(tombstoned()).toBe(0);
    for (let run = 0; run < 48 && tombstoned() < 250; run += 1) {
      later(600_000);
      await refresh(scene);
    }
    expect(tombstoned()).toBe(250);
    // It comes back as it was.
    scene.sandbox.addEntries('prj_1', { count: 3 });
    later(hourMs);
    await refresh(scene);
    expect(compareWithTruth(scene)).toMatchObject({ entries: 3, missing: 0, surplus: 0 });
  });

  it('that was renamed at the service keeps its entries, and is named as failing until it is found again', async () => {
    scene = await refreshScene({ entries: 150, requests: 1e6 });
    await refresh(scene);
    const [organization] = scene.deps.organizations;
    if (!organization) throw new Error('no organization');
    const { service } = organization;
    const renamed = {
      ...service,
      getFeedbackPage: (_: string, ...rest: [never, never]) => service.getFeedbackPage('renamed', ...rest),
    };
    Object.assign(organization, { service: renamed });
    let spent = analytics().length;
    for (let run = 0; run < 12; run += 1) {
      later(300_000);
      const { projects } = await refresh(scene);
      if (run === 0) expect(projects).toMatchObject([{ problem: expect.stringContaining('NotFound') }]);
    }
    expect(analytics().length - spent).toBeLessThanOrEqual(12);
    expect(tombstoned()).toBe(0);
    Object.assign(organization, { service });
    spent = analytics().length;
    scene.sandbox.addEntries('prj_1', { count: 2 });
    later(hourMs / 2);
    expect(await refresh(scene)).toMatchObject({ entries: { inserted: 2 } });
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
  });

  it('whose store was restored from yesterday is brought up to date, and nothing is lost', async () => {
    scene = await refreshScene({ entries: 250, requests: 1e6 });
    await refresh(scene);
    const backup = join(scene.folder, 'backup.db');
    const db = new Database(join(scene.folder, 'feedback.db'), { readOnly: true });
    db.exec(`vacuum into '${backup}'`);
    db.close();
    const ids = [...scene.sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id);
    const [first = '', second = '', third = ''] = ids;
    for (let run = 0; run < 24; run += 1) {
      if (run === 2) scene.sandbox.addEntries('prj_1', { count: 3 });
      if (run === 4) scene.sandbox.changeEntries('prj_1', [{ id: first, status: 'dismissed' }]);
      if (run === 6) scene.sandbox.deleteEntries('prj_1', [second, third]);
      later(hourMs);
      await refresh(scene);
    }
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
    await scene.restoreFeedback(backup);
    expect(compareWithTruth(scene)).not.toMatchObject({ missing: 0, surplus: 0 });
    for (let run = 0; run < 4; run += 1) {
      later(hourMs / 2);
      await refresh(scene);
    }
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0, surplus: 0 });
    expect(tombstoned()).toBe(2);
  });
});

/** Has the service fail where `errorOf` says so; returns what ends that. */
function failWhere(errorOf: (project: string, query: FeedbackQuery) => Error | null): () => void {
  const [organization] = scene.deps.organizations;
  if (!organization) throw new Error('no organization');
  const { service } = organization;
  const failing = {
    ...service,
    getFeedbackPage: (...request: Parameters<typeof service.getFeedbackPage>) => {
      const [project, query, options] = request;
      const error = errorOf(project, query);
      if (error === null) return service.getFeedbackPage(...request);
      options?.beforeSend?.();
      return Promise.reject(error);
    },
  };
  Object.assign(organization, { service: failing });
  return () => void Object.assign(organization, { service });
}

describe('what cannot be read', () => {
  it('leaves a project that the service does not know to its problem, and reads the others', async () => {
    scene = await refreshScene({ entries: 150 }, { projects: ['prj_1', 'renamed'] });
    const result = await refresh(scene);
    expect(result.projects).toContainEqual(
      expect.objectContaining({ project: 'renamed', problem: expect.stringContaining('NotFound') }),
    );
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0 });
    // It is left alone for a while.
    const spent = analytics().length;
    later(60_000);
    expect((await refresh(scene)).projects).toEqual([]);
    expect(analytics().length - spent).toBeLessThan(3);
  });

  it('stays known to people until it is read, also of a project beyond those that a result names', async () => {
    const organizations = [{ id: 'acme', projects: [{ id: 'prj_1' }, { id: 'prj_2' }], domains: [] }];
    const unknown = Array.from({ length: 25 }, (_, n) => `typo_${n}`);
    const projects = ['prj_1', 'prj_2', ...unknown];
    scene = await refreshScene({ entries: 150, requests: 1e6, organizations }, { projects });
    const failing = async () => {
      const found = (await scene.deps.feedback.noticeRows('acme')).filter(({ open }) => open);
      return found.map(({ type, subject, since }) => `${type} ${subject} ${since}`);
    };
    await refresh(scene);
    const first = await failing();
    expect(first).toHaveLength(25);
    expect(first[0]).toContain('pass.failed typo_0/refresh');
    for (let run = 0; run < 8; run += 1) {
      later(300_000);
      await refresh(scene);
      expect(await failing()).toEqual(first);
    }
    const { service } = scene.deps.organizations[0] ?? {};
    if (!service) throw new Error('no organization');
    const found = {
      ...service,
      getFeedbackPage: (project: string, ...rest: [never, never]) =>
        service.getFeedbackPage(project === 'typo_0' ? 'prj_2' : project, ...rest),
    };
    Object.assign(scene.deps.organizations[0] ?? {}, { service: found });
    for (let run = 0; run < 4; run += 1) {
      later(300_000);
      await refresh(scene);
    }
    expect(await failing()).toEqual(first.slice(1));
  });

  it('stays known while other pages of its project are read', async () => {
    scene = await refreshScene({ entries: 1_500, days: 150, nullDates: 0, requests: 1e6 });
    await refresh(scene);
    const { service } = scene.deps.organizations[0] ?? {};
    if (!service) throw new Error('no organization');
    const broken = {
      ...service,
      getFeedbackPage: (...request: Parameters<typeof service.getFeedbackPage>) => {
        const [, { dateTo, status }, options] = request;
        if (dateTo !== undefined || status !== undefined) return service.getFeedbackPage(...request);
        options?.beforeSend?.();
        return Promise.reject(new BadRequest('no such list', []));
      },
    };
    Object.assign(scene.deps.organizations[0] ?? {}, { service: broken });
    const open = async () => (await scene.deps.feedback.noticeRows('acme')).filter((row) => row.open);
    const since = new Set<string>();
    let pages = 0;
    for (let run = 0; run < 12; run += 1) {
      later(300_000);
      pages += (await refresh(scene)).pages;
      if (run > 3) expect(await open()).toMatchObject([{ type: 'pass.failed', reason: 'no such list' }]);
      for (const row of await open()) since.add(row.since);
    }
    expect(pages).toBeGreaterThan(12);
    expect(since.size).toBe(1);
    Object.assign(scene.deps.organizations[0] ?? {}, { service });
    for (let run = 0; run < 6; run += 1) {
      later(300_000);
      await refresh(scene);
    }
    expect(await open()).toEqual([]);
  });

  it.each([
    ['a server that failed for a moment', new ServerError('the service has a problem (502)', 502, null), 4],
    ['a project that the service refused once', new PlanRequired('not allowed', ''), 1],
  ])('is read again when its pause ends, not an hour later: %s', async (_what, error, requests) => {
    scene = await refreshScene({ entries: 60, requests: 1e6 });
    await refresh(scene);
    let left = requests;
    failWhere(() => {
      if (left === 0) return null;
      left -= 1;
      return error;
    });
    later(hourMs / 2);
    expect((await refresh(scene)).projects).toMatchObject([{ problem: expect.stringContaining(error.name) }]);
    expect(left).toBe(0);
    const [paused] = rows('select min(not_before) as until from refresh_pages');
    expect(paused?.until).toBeGreaterThan(Date.now());
    expect(scene.postponed.at(-1)).toBe(paused?.until);
    later(Number(paused?.until) - Date.now());
    expect((await refresh(scene)).pages).toBeGreaterThan(0);
  });

  const two = ['prj_1', 'prj_2'];
  const twoProjects = [{ id: 'acme', projects: two.map((id) => ({ id })), domains: [] }];
  const unreadable = () => new MalformedResponse('the service answered with HTML');
  const broken = () => new ServerError('the service has a problem (500)', 500, null);
  const openNotices = async () => (await scene.deps.feedback.noticeRows('acme')).filter(({ open }) => open);
  const isNamed = [{ type: 'pass.failed', subject: 'prj_1/refresh' }];

  it.each([
    ['an unreadable one', unreadable, 12, { share: 0.25, everyMs: 300_000 }],
    ['one that the server fails to send', broken, 12, { share: 0.5, everyMs: 60_000 }],
    ['one that it fails to send, with a request every three hours', broken, 40, { share: 0.004, everyMs: hourMs }],
  ])('is named and leaves others their turn at any pace: %s', async (_what, error, runs, pace) => {
    scene = await refreshScene({ entries: 60, requests: 1e6, organizations: twoProjects }, { ...pace, projects: two });
    await refresh(scene);
    later(pace.everyMs);
    await refresh(scene);
    const asked: Record<string, number> = { prj_1: 0, prj_2: 0 };
    const mend = failWhere((project, { status }) => {
      asked[project] = (asked[project] ?? 0) + 1;
      return project === 'prj_1' && status === undefined ? error() : null;
    });
    for (let run = 0; run < runs; run += 1) {
      later(pace.everyMs);
      await refresh(scene);
    }
    expect(asked.prj_2).toBeGreaterThan((asked.prj_1 ?? 0) / 2);
    expect(await openNotices()).toMatchObject(isNamed);
    mend();
    for (let run = 0; run < 2 * runs && (await openNotices()).length > 0; run += 1) {
      later(pace.everyMs);
      await refresh(scene);
    }
    expect(await openNotices()).toEqual([]);
  });

  it('is named and leaves others their turn when it is the first reading of a project', async () => {
    const settings = { requests: 4, reserve: 0, windowMs: hourMs, arrivalMs: 500 };
    scene = await refreshScene({ entries: 60, requests: 1e6, organizations: twoProjects }, { projects: two, settings });
    failWhere((project) => (project === 'prj_1' ? unreadable() : null));
    for (let run = 0; run < 3; run += 1) {
      await refresh(scene);
      later(hourMs / 2);
    }
    expect(compareWithTruth(scene, 'prj_2')).toMatchObject({ missing: 0 });
    expect(await openNotices()).toMatchObject(isNamed);
  });

  it('is not named when a first reading fails again that has gone on in between', async () => {
    const settings = { requests: 4, reserve: 0, windowMs: hourMs, arrivalMs: 500 };
    scene = await refreshScene({ entries: 5_000, days: 100, requests: 1e6 }, { settings });
    let left = 0;
    failWhere(() => {
      if (left === 0) return null;
      left -= 1;
      return unreadable();
    });
    for (let run = 0; run < 10; run += 1) {
      left = run === 2 || run === 9 ? 4 : 0;
      const { projects } = await refresh(scene);
      expect(projects.some(({ problem }) => problem !== null)).toBe(left === 0 && (run === 2 || run === 9));
      later(hourMs);
    }
    expect(await openNotices()).toEqual([]);
  });

  it.each([0.02, 0.25, 0.5])('names no page while the whole service is down, at a share of %d', async (share) => {
    scene = await refreshScene({ entries: 60, requests: 1e6, organizations: twoProjects }, { share, projects: two });
    await refresh(scene);
    const mend = failWhere(broken);
    for (let run = 0; run < 8; run += 1) {
      later(hourMs / 4);
      await refresh(scene).catch(() => {});
    }
    expect(await openNotices()).toEqual([]);
    mend();
    for (const project of two) scene.sandbox.addEntries(project, { count: 2 });
    for (let run = 0; run < 8; run += 1) {
      later(hourMs);
      await refresh(scene);
    }
    for (const project of two) expect(compareWithTruth(scene, project)).toMatchObject({ missing: 0 });
    expect(await openNotices()).toEqual([]);
  });

  it('costs a request a pause, however many pages a project has that is gone, and is read when it is back', async () => {
    scene = await refreshScene({ entries: 1_500, days: 150, requests: 1e6 });
    await refresh(scene);
    const [organization] = scene.deps.organizations;
    if (!organization) throw new Error('no organization');
    const { service } = organization;
    const renamed = {
      ...service,
      getFeedbackPage: (_: string, ...rest: [never, never]) => service.getFeedbackPage('renamed', ...rest),
    };
    Object.assign(organization, { service: renamed });
    const spent = analytics().length;
    for (let run = 0; run < 12; run += 1) {
      later(300_000);
      await refresh(scene);
    }
    expect(analytics().length - spent).toBeLessThanOrEqual(4);
    Object.assign(organization, { service });
    scene.sandbox.addEntries('prj_1', { count: 2 });
    later(hourMs / 2);
    expect(await refresh(scene)).toMatchObject({ entries: { inserted: 2 } });
  });

  it('begins a first reading anew when its cursor died and nothing shows where to go on', async () => {
    scene = await refreshScene({ entries: 250, requests: 1e6 });
    const [organization] = scene.deps.organizations;
    if (!organization) throw new Error('no organization');
    const { service } = organization;
    let isDead = true;
    const byNothing = {
      ...service,
      getFeedbackPage: async (...[project, query, options]: Parameters<typeof service.getFeedbackPage>) => {
        const cursor = query.cursor !== undefined && isDead ? { cursor: 'dead' } : {};
        const page = await service.getFeedbackPage(project, { ...query, ...cursor }, options);
        return { ...page, entries: page.entries.map((_, n, all) => all[(n * 37) % all.length] ?? all[0]) };
      },
    };
    Object.assign(organization, { service: byNothing });
    expect((await refresh(scene)).projects).toMatchObject([{ problem: expect.stringContaining('OutOfReach') }]);
    isDead = false;
    later(hourMs);
    await refresh(scene);
    expect(compareWithTruth(scene)).toMatchObject({ missing: 0, different: 0 });
    expect(rows("select outcome from sync_passes where pass = 'sweep' order by outcome")).toEqual([
      { outcome: 'completed' },
      { outcome: 'failed' },
    ]);
  });

  it('holds no permit while an unreadable page is given time', async () => {
    scene = await refreshScene({ entries: 60, requests: 1e6 });
    await refresh(scene);
    later(hourMs / 2);
    let left = 2;
    failWhere(() => {
      left -= 1;
      return left < 0 ? null : unreadable();
    });
    const { permits } = scene.deps;
    const ask = permits.ask.bind(permits);
    const held: number[] = [];
    vi.spyOn(permits, 'ask').mockImplementation((org, question) => {
      held.push(scene.window().holders.length);
      return ask(org, question);
    });
    expect((await refresh(scene)).pages).toBeGreaterThan(0);
    expect(held).toEqual([0, 0, 0]);
  });

  it('goes on behind a page that cannot be read', async () => {
    scene = await refreshScene(
      { entries: 300, organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }, { id: 'prj_2' }], domains: [] }] },
      { projects: ['prj_1', 'prj_2'] },
    );
    scene.sandbox.setFaults({ badJson: 5 });
    const result = await refresh(scene);
    expect(result.projects).toContainEqual(expect.objectContaining({ problem: expect.stringContaining('BadPage') }));
    later(hourMs);
    for (let run = 0; run < 3; run += 1) await refresh(scene);
    for (const project of ['prj_1', 'prj_2']) expect(compareWithTruth(scene, project)).toMatchObject({ missing: 0 });
  });

  it('is the service after three failures in a row: the run ends for Temporal to try again', async () => {
    const projects = ['prj_1', 'prj_2'];
    const organizations = [{ id: 'acme', projects: projects.map((id) => ({ id })), domains: [] }];
    scene = await refreshScene({ entries: 400, nullDates: 0, requests: 1e6, organizations }, { projects });
    await refresh(scene);
    for (const project of projects) {
      const ids = [...scene.sandbox.truth(project)].map((entry) => (entry as { id: string }).id);
      scene.sandbox.deleteEntries(project, ids);
    }
    const [organization] = scene.deps.organizations;
    if (!organization) throw new Error('no organization');
    const { service } = organization;
    let [wasMissed, refused] = [false, 0];
    const down = {
      ...service,
      getFeedbackPage: (...request: Parameters<typeof service.getFeedbackPage>) => {
        const [, query, options] = request;
        if (!wasMissed) {
          // Only a reading of all entries tells that some are missing.
          wasMissed = query.status === undefined;
          return service.getFeedbackPage(...request);
        }
        options?.beforeSend?.();
        refused += 1;
        return Promise.reject(new ServerError('the service has a problem (503)', 503, null));
      },
    };
    Object.assign(organization, { service: down });
    later(hourMs);
    await expect(refresh(scene)).rejects.toThrow('503');
    // Each of the pages twice.
    expect(refused).toBe(6);
    // What the page before was missing is told once.
    expect(sent().filter((one) => one === 'feedback.missing happened')).toHaveLength(1);
  });

  it('asks no more after a 429 or a 401, and says until when', async () => {
    scene = await refreshScene({ entries: 300 });
    scene.sandbox.setFaults({ force429: 1, force429WaitMs: 90_000 });
    expect(await refresh(scene)).toMatchObject({ outcome: 'waiting', requests: 1, throttled: 1 });
    expect(analytics()).toHaveLength(1);
    later(120_000);
    scene.sandbox.setFaults({ unauthorized: true });
    expect(await refresh(scene)).toMatchObject({ outcome: 'waiting', waiting: { reason: 'unauthorized' } });
    expect(analytics()).toHaveLength(2);
  });

  it('has the schedule wait until a request is due', async () => {
    scene = await refreshScene({ entries: 50 }, { share: 0.01 });
    await refresh(scene);
    later(2 * hourMs);
    const { nextDueAt } = await refresh(scene);
    expect(nextDueAt).toBeGreaterThan(Date.now() + hourMs / 2);
    expect(scene.postponed.at(-1)).toBe(Math.min(nextDueAt, Date.now() + hourMs));
  });
});
