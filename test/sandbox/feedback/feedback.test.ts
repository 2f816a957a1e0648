import { describe, expect, it } from 'vitest';
import { plantedMarkers } from '../../../sandbox/index.ts';
import { get, getAll, getFeedback, getPage, jsonOf, sandboxWith } from '../support.ts';

const now = '2026-06-01T00:00:00.000Z';

describe('authentication', () => {
  it.each([undefined, 'Bearer', 'Bearer dk_admin_wrong', 'Basic dk_admin_sandbox_acme_planted_key'])(
    'refuses %s with 401',
    async (authorization) => {
      const sandbox = await sandboxWith();
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const response = await fetch(`${sandbox.url}/v1/analytics/prj_1/feedback`, { headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toEqual({ error: expect.any(String) });
      expect(sandbox.stats().organizations.acme?.analyticsRequests).toBe(0);
    },
  );

  it('keeps organizations apart', async () => {
    const sandbox = await sandboxWith({
      organizations: [
        { id: 'acme', projects: [{ id: 'prj_1' }] },
        { id: 'other', apiKey: 'dk_admin_other', projects: [{ id: 'prj_2' }] },
      ],
    });
    expect((await get(sandbox, '/v1/analytics/prj_2/feedback', 'dk_admin_other')).status).toBe(200);
    expect((await get(sandbox, '/v1/analytics/prj_2/feedback')).status).toBe(404);
  });
});

describe('validation', () => {
  it.each([
    'dateFrom=yesterday',
    'dateFrom=2026-02-30',
    'dateTo=2026-13-01',
    'dateTo=2026-01-01T25:00:00Z',
    'source=email',
    'status=pending,open',
    'status=',
    'limit=0',
    'limit=101',
    'limit=ten',
    'limit=1.5',
    'limit=10&limit=20',
    'cursor=abc',
    'cursor=',
  ])('refuses %s with 400 and a detail', async (query) => {
    const sandbox = await sandboxWith();
    const response = await get(sandbox, `/v1/analytics/prj_1/feedback?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.any(String), details: [{ message: expect.any(String) }] });
  });

  it('names every problem at once', async () => {
    const sandbox = await sandboxWith();
    const { details } = await jsonOf(await getFeedback(sandbox, { limit: 0, source: 'x', status: 'y' }));
    expect(details).toHaveLength(3);
  });

  it('does not know other projects, endpoints or methods', async () => {
    const sandbox = await sandboxWith();
    expect((await getFeedback(sandbox, {}, 'prj_9')).status).toBe(404);
    expect((await get(sandbox, '/v1/analytics/prj_1/clicks')).status).toBe(404);
    expect((await get(sandbox, '/v2/anything')).status).toBe(404);
    const headers = { authorization: `Bearer ${sandbox.apiKey}` };
    const posted = await fetch(`${sandbox.url}/v1/analytics/prj_1/feedback`, { method: 'POST', headers });
    expect(posted.status).toBe(405);
  });
});

describe('entries', () => {
  it('have exactly the fields of their variant, with nulls, Unicode and long texts among them', async () => {
    const sandbox = await sandboxWith({ entries: 400, nullDates: 0.05 });
    const entries = await getAll(sandbox, { limit: 100 });
    const base = ['id', 'path', 'comment', 'createdAt', 'source', 'status'];
    const extra: Record<string, string[]> = {
      contextual: ['helpful', 'contact'],
      code_snippet: ['code', 'filename', 'lang'],
    };
    for (const entry of entries) {
      expect(Object.keys(entry)).toEqual([...base, ...(extra[String(entry.source)] ?? [])]);
    }
    expect(new Set(entries.map(({ source }) => source)).size).toBe(4);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(400);
    for (const field of ['comment', 'createdAt', 'contact', 'lang', 'filename']) {
      expect(
        entries.some((entry) => entry[field] === null),
        field,
      ).toBe(true);
    }
    expect(entries.some(({ comment }) => String(comment).length >= 100_000)).toBe(true);
    const text = JSON.stringify(entries);
    for (const marker of [...plantedMarkers, '👩‍💻', 'ß', 'ページ']) expect(text).toContain(marker);
  });

  it('are the same for the same seed and moment, and others for another seed', async () => {
    const truth = async (seed: number) => [...(await sandboxWith({ seed, now: now })).truth('prj_1')];
    expect(await truth(7)).toEqual(await truth(7));
    expect(await truth(7)).not.toEqual(await truth(8));
  });

  it('are spread over the days before the given moment, some at the same time', async () => {
    const sandbox = await sandboxWith({ entries: 1_000, days: 10, now: now, nullDates: 0 });
    const times = [...sandbox.truth('prj_1')].map((entry) => Date.parse((entry as { createdAt: string }).createdAt));
    expect(Math.max(...times)).toBeLessThanOrEqual(Date.parse(now));
    expect(Math.min(...times)).toBeGreaterThan(Date.parse(now) - 10 * 86_400_000);
    expect(Math.min(...times)).toBeLessThan(Date.parse(now) - 9 * 86_400_000);
    expect(new Set(times).size).toBeLessThan(1_000);
  });

  it('drift, break and carry odd text when asked', async () => {
    const sandbox = await sandboxWith({ entries: 300, drift: 0.3, rejects: 0.1, oddText: 0.1 });
    const truth = [...sandbox.truth('prj_1')];
    const known = truth.filter((entry) => typeof entry === 'object' && entry !== null) as Record<string, unknown>[];
    expect(truth.some((entry) => entry === null)).toBe(true);
    expect(truth.some((entry) => typeof entry === 'string')).toBe(true);
    expect(truth.some((entry) => Array.isArray(entry))).toBe(true);
    expect(known.some(({ id }) => typeof id === 'number')).toBe(true);
    expect(known.some(({ source }) => source === 'voice_note')).toBe(true);
    expect(known.some(({ status }) => status === 'snoozed')).toBe(true);
    expect(known.some((entry) => 'reviewer' in entry)).toBe(true);
    const served = await (await getFeedback(sandbox, { limit: 100 })).text();
    expect(served).toContain('\\u0000');
    expect(served).toContain('\\ud83d and');
    expect(await getAll(sandbox, { limit: 100 })).toHaveLength(300);
  });
});

describe('pages', () => {
  it.each(['newest', 'oldest'] as const)('give every entry exactly once, %s first, undated last', async (order) => {
    const sandbox = await sandboxWith({ order, nullDates: 0.1, entries: 230 });
    const entries = await getAll(sandbox, { limit: 7 });
    const truth = [...sandbox.truth('prj_1')];
    expect(entries.toSorted(byId)).toEqual((truth as { id: string }[]).toSorted(byId));
    const times = entries.map(({ createdAt }) => createdAt);
    const dated = times.filter((time) => time !== null).map(String);
    expect(dated.length).toBeLessThan(230);
    expect(times.slice(0, dated.length)).toEqual(order === 'oldest' ? dated.toSorted() : dated.toSorted().reverse());
  });

  it('hold 50 entries unless told otherwise', async () => {
    const sandbox = await sandboxWith();
    expect((await getPage(sandbox)).feedback).toHaveLength(50);
    expect((await getPage(sandbox, { limit: 100 })).feedback).toHaveLength(100);
  });

  it('end with a null cursor and hasMore false, also when the last page is full', async () => {
    const sandbox = await sandboxWith({ entries: 10 });
    const first = await getPage(sandbox, { limit: 5 });
    expect(first.hasMore).toBe(true);
    const second = await getPage(sandbox, { limit: 5, cursor: first.nextCursor ?? '' });
    expect(second).toMatchObject({ nextCursor: null, hasMore: false });
    expect(second.feedback).toHaveLength(5);
  });

  it('stay complete while entries come and go, with cursors that name a place', async () => {
    const sandbox = await sandboxWith({ entries: 60, nullDates: 0 });
    const first = await getPage(sandbox, { limit: 20 });
    sandbox.addEntries('prj_1', { count: 5 });
    sandbox.deleteEntries('prj_1', [String(first.feedback[3]?.id)]);
    const rest = await getAll(sandbox, { limit: 20, cursor: first.nextCursor ?? '' });
    expect(new Set([...first.feedback, ...rest].map(({ id }) => id)).size).toBe(60);
  });

  it('shift with cursors that count', async () => {
    const sandbox = await sandboxWith({ entries: 60, nullDates: 0, cursorKind: 'offset' });
    const first = await getPage(sandbox, { limit: 20 });
    sandbox.addEntries('prj_1', { count: 5 });
    const second = await getPage(sandbox, { limit: 20, cursor: first.nextCursor ?? '' });
    expect(second.feedback.slice(0, 5)).toEqual(first.feedback.slice(-5));
  });

  it('refuse a cursor of another query, and one that is too old', async () => {
    const sandbox = await sandboxWith();
    const cursor = (await getPage(sandbox, { limit: 5 })).nextCursor ?? '';
    expect((await getFeedback(sandbox, { limit: 5, cursor, source: 'agent' })).status).toBe(400);
    expect((await getFeedback(sandbox, { limit: 5, cursor })).status).toBe(200);
    const hasty = await sandboxWith({ cursorTtlMs: 1 });
    const short = (await getPage(hasty, { limit: 5 })).nextCursor ?? '';
    await new Promise((resolve) => setTimeout(resolve, 20));
    const late = await getFeedback(hasty, { limit: 5, cursor: short });
    expect(late.status).toBe(400);
    expect(await late.json()).toMatchObject({ details: [{ message: 'cursor has expired' }] });
  });

  it('can be asked for after a restart with the same seed', async () => {
    const options = { seed: 5, now: now };
    const before = await sandboxWith(options);
    const { nextCursor } = await getPage(before, { limit: 5 });
    const after = await sandboxWith(options);
    const page = await getPage(after, { limit: 5, cursor: nextCursor ?? '' });
    expect(page.feedback).toHaveLength(5);
    expect(page).toEqual(await getPage(before, { limit: 5, cursor: nextCursor ?? '' }));
  });
});

describe('filters', () => {
  it('select by source and by several statuses', async () => {
    const sandbox = await sandboxWith({ openShare: 0.5 });
    const truth = [...sandbox.truth('prj_1')] as Record<string, unknown>[];
    const open = truth.filter(({ status }) => status === 'pending' || status === 'in_progress');
    expect((await getAll(sandbox, { status: 'pending,in_progress', limit: 9 })).toSorted(byId)).toEqual(
      open.toSorted(byId),
    );
    const both = open.filter(({ source }) => source === 'agent');
    expect(both.length).toBeGreaterThan(0);
    const found = await getAll(sandbox, { status: 'in_progress,pending', source: 'agent' });
    expect(found.toSorted(byId)).toEqual(both.toSorted(byId));
  });

  const days = ['2026-03-01T00:00:00.000Z', '2026-03-01T12:00:00.000Z', '2026-03-02T00:00:00.000Z', null];
  it.each([
    { query: { dateFrom: '2026-03-01', dateTo: '2026-03-02' }, rules: {}, found: [0, 1] },
    { query: { dateFrom: '2026-03-01T12:00:00Z' }, rules: {}, found: [1, 2] },
    { query: { dateTo: '2026-03-01T12:00:00.000Z' }, rules: {}, found: [0] },
    { query: { dateTo: '2026-03-01T14:00:00+02:00' }, rules: {}, found: [0] },
    { query: { dateFrom: '2026-03-01T12:00:00Z' }, rules: { dateFrom: 'exclusive' }, found: [2] },
    { query: { dateFrom: '2026-03-01' }, rules: { dateFrom: 'exclusive' }, found: [2] },
    { query: { dateFrom: '2026-03-01T12:00:00Z' }, rules: { dateTimes: 'as-dates' }, found: [0, 1, 2] },
    { query: { dateTo: '2026-03-01T12:00:00Z' }, rules: { dateTimes: 'as-dates' }, found: [] },
    { query: { dateTo: '2026-03-02' }, rules: { dateOffset: '+02:00' }, found: [0, 1] },
    { query: { dateFrom: '2026-03-02' }, rules: { dateOffset: '+02:00' }, found: [2] },
    { query: { dateFrom: '2026-03-02' }, rules: { dateOffset: '-12:00' }, found: [] },
    { query: { dateFrom: '2026-03-02', dateTo: '2026-03-01' }, rules: {}, found: [] },
    { query: {}, rules: {}, found: [0, 1, 2, 3] },
  ] as const)('select $found by $query under $rules', async ({ query, rules, found }) => {
    const sandbox = await sandboxWith({ entries: 0, order: 'oldest', ...rules });
    const ids = days.flatMap((createdAt) => sandbox.addEntries('prj_1', { createdAt }));
    const entries = await getAll(sandbox, query);
    expect(entries.map(({ id }) => ids.indexOf(String(id)))).toEqual(found);
  });
});

describe('entries without createdAt', () => {
  it.each(['newest', 'oldest'] as const)(
    'stand first where that is asked for, on every page (%s first)',
    async (order) => {
      const sandbox = await sandboxWith({ entries: 120, nullDates: 0.2, nulls: 'first', order });
      const dates: unknown[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof getPage>> = await getPage(sandbox, {
          limit: 7,
          ...(cursor && { cursor }),
        });
        dates.push(...page.feedback.map(({ createdAt }) => createdAt));
        cursor = page.nextCursor;
      } while (cursor !== null);
      const undated = dates.filter((date) => date === null).length;
      expect(undated).toBeGreaterThan(7);
      expect(dates).toHaveLength(120);
      expect(dates.slice(0, undated).every((date) => date === null)).toBe(true);
      const dated = dates.slice(undated).map(String);
      expect(dated).toEqual(order === 'oldest' ? dated.toSorted() : dated.toSorted().reverse());
      expect(await getAll(sandbox, { dateFrom: '2000-01-01' })).toHaveLength(120 - undated);
    },
  );
});

describe('odd dates', () => {
  it('are written in other forms, at the place of the moment they mean', async () => {
    const sandbox = await sandboxWith({ entries: 200, nullDates: 0, oddDates: 0.5, order: 'oldest' });
    const dates = (await getAll(sandbox)).map(({ createdAt }) => String(createdAt));
    const iso = dates.filter((date) => date.endsWith('Z'));
    expect(iso.length).toBeGreaterThan(60);
    expect(iso).toEqual(iso.toSorted());
    for (const form of [/\+05:30$/, /^\d{13}$/, /^\d{10}$/, / GMT$/, /^on day /]) {
      expect(dates.some((date) => form.test(date))).toBe(true);
    }
    const india = dates.findIndex((date) => date.endsWith('+05:30'));
    const before = dates.slice(0, india).findLast((date) => date.endsWith('Z')) ?? '';
    expect(Date.parse(dates[india] ?? '')).toBeGreaterThanOrEqual(Date.parse(before || '1970-01-01'));
  });
});

describe('changes at run time', () => {
  it('show in what is served and in the truth', async () => {
    const sandbox = await sandboxWith({ entries: 3, nullDates: 0 });
    const [kept, gone] = (await getAll(sandbox)).map(({ id }) => String(id));
    sandbox.changeEntries('prj_1', [{ id: String(kept), status: 'dismissed', fields: { comment: 'changed' } }]);
    sandbox.deleteEntries('prj_1', [String(gone)]);
    const [added] = sandbox.addEntries('prj_1', {
      source: 'contextual',
      status: 'pending',
      fields: { contact: 'a@b.c' },
    });
    sandbox.addEntries('prj_1', { createdAt: null, raw: 17 });

    const entries = await getAll(sandbox);
    expect(entries).toHaveLength(4);
    expect(entries.find(({ id }) => id === kept)).toMatchObject({ status: 'dismissed', comment: 'changed' });
    expect(entries.find(({ id }) => id === added)).toMatchObject({ source: 'contextual', contact: 'a@b.c' });
    expect(entries.at(-1)).toBe(17);
    expect(entries.some(({ id }) => id === gone)).toBe(false);
    expect([...sandbox.truth('prj_1')]).toHaveLength(4);
    expect(() => sandbox.deleteEntries('prj_1', [String(gone)])).toThrow('has no entry');
    expect(() => sandbox.truth('prj_9')).toThrow('no project');
  });
});

function byId(a: Record<string, unknown>, b: Record<string, unknown>): number {
  return String(a.id) < String(b.id) ? -1 : 1;
}
