import { describe, expect, it } from 'vitest';
import type { Faults, Sandbox } from '../../../sandbox/index.ts';
import { get, getFeedback, getPage, sandboxWith } from '../support.ts';

async function outcome(sandbox: Sandbox): Promise<number | 'broken'> {
  try {
    const response = await getFeedback(sandbox, { limit: 5 });
    await response.text();
    return response.status;
  } catch {
    return 'broken';
  }
}

/** Cursors of the first `count` pages, as long as there are any. */
async function cursors(sandbox: Sandbox, count: number): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof getPage>> = await getPage(sandbox, { limit: 5, ...(cursor && { cursor }) });
    cursor = page.nextCursor;
    found.push(cursor);
  } while (cursor !== null && found.length < count);
  return found;
}

describe('analytics faults', () => {
  it.each([
    { faults: { errors: 1 }, seen: 500, counted: true },
    { faults: { resets: 1 }, seen: 'broken', counted: false },
    { faults: { resetsAfter: 1 }, seen: 'broken', counted: true },
    { faults: { cutBody: 1 }, seen: 'broken', counted: true },
  ] as const)('$faults strikes once, counted: $counted', async ({ faults, seen, counted }) => {
    const sandbox = await sandboxWith({ faults });
    expect(await outcome(sandbox)).toBe(seen);
    expect(await outcome(sandbox)).toBe(200);
    expect(sandbox.log()[0]).toMatchObject({ counted, fault: expect.any(String) });
    expect(sandbox.log()[1]).toMatchObject({ counted: true, fault: null, status: 200 });
  });

  it('answers with the HTML of a gateway', async () => {
    const sandbox = await sandboxWith({ faults: { gatewayErrors: 12 } });
    const seen = new Set<number>();
    for (let count = 0; count < 12; count++) {
      const response = await getFeedback(sandbox);
      seen.add(response.status);
      expect(response.headers.get('content-type')).toContain('text/html');
      expect(await response.text()).toContain('<html>');
    }
    expect([...seen].toSorted()).toEqual([502, 503, 504]);
    expect(await outcome(sandbox)).toBe(200);
  });

  it.each([
    ['errorRate', 500],
    ['gatewayRate', 502],
    ['resetRate', 'broken'],
    ['resetAfterRate', 'broken'],
  ] as const)('%s strikes a share of requests, the same ones for the same seed', async (name, seen) => {
    const run = async (): Promise<boolean[]> => {
      const sandbox = await sandboxWith({ seed: 3, faults: { [name]: 0.3 } });
      const struck: boolean[] = [];
      for (let count = 0; count < 40; count++) {
        const result = await outcome(sandbox);
        struck.push(seen === 502 ? Number(result) > 500 : result === seen);
      }
      return struck;
    };
    const struck = await run();
    expect(struck.filter(Boolean).length).toBeGreaterThan(3);
    expect(struck.filter(Boolean).length).toBeLessThan(25);
    expect(await run()).toEqual(struck);
  });

  it('sends malformed JSON with status 200', async () => {
    const sandbox = await sandboxWith({ faults: { badJson: 1 } });
    const response = await getFeedback(sandbox);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text.length).toBeGreaterThan(100);
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(await outcome(sandbox)).toBe(200);
  });

  it('announces more than it sends when it cuts a body', async () => {
    const sandbox = await sandboxWith({ faults: { cutBody: 1 } });
    const response = await getFeedback(sandbox);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(sandbox.log()[0]?.bytes).toBeLessThan(Number(response.headers.get('content-length')));
  });

  it('answers late: what was received is not answered yet', async () => {
    const sandbox = await sandboxWith();
    const page = await getPage(sandbox);
    sandbox.setFaults({ slowMs: 300 });
    const late = getPage(sandbox);
    while (sandbox.log().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(sandbox.log()[1]).toMatchObject({ status: null, counted: true });
    expect(await late).toEqual(page);
  });

  it('sends slowly: the head of an answer comes long before its end', async () => {
    const sandbox = await sandboxWith();
    const page = await getPage(sandbox);
    sandbox.setFaults({ slowBody: 1_000 });
    const response = await getFeedback(sandbox);
    expect(sandbox.log()[1]?.bytes).toBeLessThan(Number(response.headers.get('content-length')));
    expect(await response.json()).toEqual(page);
  });

  it('repeats a cursor from a page on', async () => {
    const sandbox = await sandboxWith({ faults: { loopCursor: 3 } });
    const found = await cursors(sandbox, 6);
    expect(new Set(found.slice(0, 2)).size).toBe(2);
    expect(new Set(found.slice(1)).size).toBe(1);
  });

  it.each([0, 60_000])('repeats two cursors in turn (lifetime %d)', async (cursorTtlMs) => {
    const sandbox = await sandboxWith({ cursorTtlMs, faults: { loopCursor: 4, loopLength: 2 } });
    const found = await cursors(sandbox, 9);
    expect(new Set(found).size).toBeLessThanOrEqual(5);
    expect(found.slice(5, 7)).toEqual(found.slice(7, 9));
    expect(found[5]).not.toBe(found[6]);
  });

  it('says hasMore with a null cursor', async () => {
    const sandbox = await sandboxWith({ faults: { nullCursor: 2 } });
    const first = await getPage(sandbox, { limit: 5 });
    expect(await getPage(sandbox, { limit: 5, cursor: first.nextCursor ?? '' })).toMatchObject({
      nextCursor: null,
      hasMore: true,
    });
  });

  it('ignores filters and the size asked for, sends a page in no order, and an empty answer', async () => {
    const sandbox = await sandboxWith({
      faults: { pageLimit: 7, ignoreStatus: true, ignoreDates: true, unordered: true },
    });
    const page = await getPage(sandbox, { limit: 50, status: 'pending', dateTo: '2000-01-01' });
    expect(page).toMatchObject({ hasMore: true });
    const moments = page.feedback.map(({ createdAt }) => `${createdAt}`);
    expect(moments).toHaveLength(7);
    expect(moments).not.toEqual(moments.toSorted().reverse());
    expect(new Set(page.feedback.map(({ status }) => status)).size).toBeGreaterThan(1);
    sandbox.setFaults({ emptyAnswers: 1 });
    expect(await getPage(sandbox, { limit: 50 })).toEqual({ feedback: [], nextCursor: null, hasMore: false });
    expect((await getPage(sandbox, { limit: 50 })).feedback).toHaveLength(7);
  });

  it('slips in an empty page and loses nothing', async () => {
    const sandbox = await sandboxWith({ faults: { emptyPage: 2 } });
    const ids = new Set<unknown>();
    const sizes: number[] = [];
    let query: { limit: number; cursor?: string } = { limit: 50 };
    for (;;) {
      const page = await getPage(sandbox, query);
      for (const { id } of page.feedback) ids.add(id);
      sizes.push(page.feedback.length);
      if (page.nextCursor === null) break;
      query = { limit: 50, cursor: page.nextCursor };
    }
    expect(sizes).toEqual([50, 0, 50, 20]);
    expect(ids.size).toBe(120);
  });

  it.each([
    ['keyset', 0, 0],
    ['offset', 1, 0],
    ['offset', 0, 1],
  ] as const)('adds and deletes during reads (%s, %d added, %d deleted)', async (cursorKind, added, deleted) => {
    const sandbox = await sandboxWith({ entries: 300, nullDates: 0, order: 'newest', cursorKind });
    const before = new Set([...sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id));
    sandbox.setFaults({ churnAdded: added, churnDeleted: deleted });
    const read: unknown[] = [];
    let query: Record<string, string | number> = { limit: 20 };
    for (;;) {
      const page = await getPage(sandbox, query);
      read.push(...page.feedback.map(({ id }) => id));
      if (page.nextCursor === null) break;
      query = { limit: 20, cursor: page.nextCursor };
    }
    const after = new Set([...sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id));
    const missed = [...before].filter((id) => after.has(id) && !read.includes(id));
    expect(read.length - new Set(read).size > 0).toBe(added > 0);
    expect(missed.length > 0).toBe(deleted > 0);
    expect([...after].filter((id) => !before.has(id)).length > 0).toBe(added > 0);
    expect([...before].filter((id) => !after.has(id)).length > 0).toBe(deleted > 0);
  });

  it('lets keys stop working, and work again', async () => {
    const sandbox = await sandboxWith({ faults: { unauthorized: true } });
    expect(await outcome(sandbox)).toBe(401);
    expect((await get(sandbox, '/v1/static-export/jobs/x')).status).toBe(401);
    sandbox.setFaults({ unauthorized: false });
    expect(await outcome(sandbox)).toBe(200);
  });

  it('hits the other analytics endpoint too', async () => {
    const sandbox = await sandboxWith({ faults: { errors: 1 } });
    expect((await get(sandbox, '/v1/analytics/prj_1/views')).status).toBe(500);
    expect((await get(sandbox, '/v1/analytics/prj_1/views')).status).toBe(200);
  });

  it('sets all faults or none', async () => {
    const sandbox = await sandboxWith();
    expect(() => sandbox.setFaults({ errors: 1, errorRate: 2 })).toThrow('errorRate must be a number from 0 to 1');
    expect(() => sandbox.setFaults({ nonsense: 1 } as Partial<Faults>)).toThrow('no fault "nonsense"');
    expect(sandbox.faults.errors).toBe(0);
  });
});
