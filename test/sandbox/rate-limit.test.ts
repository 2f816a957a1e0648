import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FixedWindow, mostInAnyWindow, SlidingWindow } from '../../sandbox/sliding-log.ts';
import { get, getFeedback, sandboxWith } from './support.ts';

const quick = { requests: 3, windowMs: 250 };

async function statuses(sandbox: Awaited<ReturnType<typeof sandboxWith>>, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let left = count; left > 0; left--) found.push((await getFeedback(sandbox, { limit: 1 })).status);
  return found;
}

describe('the rate limit', () => {
  it('is 100 requests per organization and hour, shared by all projects and analytics endpoints', async () => {
    const sandbox = await sandboxWith({
      organizations: [
        { id: 'acme', projects: [{ id: 'prj_1' }, { id: 'prj_2' }] },
        { id: 'other', apiKey: 'dk_admin_other', projects: [{ id: 'prj_3' }] },
      ],
    });
    for (let count = 0; count < 33; count++) {
      await getFeedback(sandbox, { limit: 1 });
      await getFeedback(sandbox, { limit: 1 }, 'prj_2');
      await get(sandbox, '/v1/analytics/prj_1/views');
    }
    expect(await statuses(sandbox, 2)).toEqual([200, 429]);
    expect((await get(sandbox, '/v1/analytics/prj_1/views')).status).toBe(429);
    expect((await get(sandbox, '/v1/analytics/prj_3/feedback', 'dk_admin_other')).status).toBe(200);
    expect(sandbox.stats().organizations.acme).toMatchObject({
      analyticsRequests: 102,
      counted: 100,
      throttled: 2,
      maxInAnyWindow: 102,
      maxFeedbackInAnyWindow: 68,
      maxOthersInAnyWindow: 34,
    });
  });

  it('never lets more through than the limit in any window, and lets one through as soon as there is room', async () => {
    const sandbox = await sandboxWith(quick);
    for (let count = 0; count < 15; count++) {
      // Together, so that a slow machine sends more than the limit in a window too.
      await Promise.all(Array.from({ length: 4 }, () => getFeedback(sandbox, { limit: 1 })));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    expect(sandbox.maxInAnyWindow('acme', ({ counted }) => counted)).toBe(3);
    expect(sandbox.maxInAnyWindow('acme')).toBeGreaterThan(3);
    const counted = sandbox.log().filter((entry) => entry.counted);
    for (const entry of sandbox.log()) {
      const before = counted.filter(({ atMono }) => atMono < entry.atMono && entry.atMono - atMono < quick.windowMs);
      expect(entry.status).toBe(before.length < 3 ? 200 : 429);
    }
  });

  it('counts what is refused for other reasons, but not a wrong key', async () => {
    const sandbox = await sandboxWith({ requests: 3 });
    await get(sandbox, '/v1/analytics/prj_1/feedback', 'dk_admin_wrong');
    await getFeedback(sandbox, { limit: 0 });
    await getFeedback(sandbox, {}, 'prj_9');
    expect(await statuses(sandbox, 2)).toEqual([200, 429]);
  });

  it('lets refused requests use up the window too when asked', async () => {
    const sandbox = await sandboxWith({ ...quick, countRejected: true });
    for (let count = 0; count < 5; count++) {
      await Promise.all(Array.from({ length: 4 }, () => getFeedback(sandbox, { limit: 1 })));
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
    const log = sandbox.log();
    for (const [index, entry] of log.entries()) {
      const before = log.slice(0, index).filter(({ atMono }) => entry.atMono - atMono < quick.windowMs);
      expect(entry).toMatchObject({ counted: true, status: before.length < 3 ? 200 : 429 });
    }
    expect(log.some(({ status }) => status === 429)).toBe(true);
  });

  it('can be a fixed window', async () => {
    const sandbox = await sandboxWith({ requests: 2, windowMs: 100_000_000, windowKind: 'fixed' });
    expect(await statuses(sandbox, 3)).toEqual([200, 200, 429]);
  });
});

describe('a 429', () => {
  it('says the seconds to wait, rounded up', async () => {
    const sandbox = await sandboxWith({ requests: 1, windowMs: 90_500 });
    await getFeedback(sandbox);
    const response = await getFeedback(sandbox);
    expect(response.headers.get('retry-after')).toBe('91');
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  it('says the moment to wait for by its own clock, not too early', async () => {
    const sandbox = await sandboxWith({
      requests: 1,
      windowMs: 60_000,
      clockSkewMs: 3_600_000,
      faults: { retryAfter: 'date' },
    });
    await getFeedback(sandbox);
    const response = await getFeedback(sandbox);
    const moment = Date.parse(response.headers.get('retry-after') ?? '');
    const freed = (sandbox.log()[0]?.at ?? 0) + 60_000 + 3_600_000;
    expect(moment).toBeGreaterThanOrEqual(Math.floor(freed));
    expect(moment).toBeLessThan(freed + 1_001);
    expect(Date.parse(response.headers.get('date') ?? '')).toBeGreaterThan(Date.now() + 3_500_000);
  });

  it('can come without Retry-After', async () => {
    const sandbox = await sandboxWith({ requests: 1, faults: { retryAfter: 'none' } });
    await getFeedback(sandbox);
    expect((await getFeedback(sandbox)).headers.has('retry-after')).toBe(false);
  });

  it('can be forced, as often as asked', async () => {
    const sandbox = await sandboxWith({ faults: { force429: 2, force429WaitMs: 7_000 } });
    const response = await getFeedback(sandbox);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await statuses(sandbox, 2)).toEqual([429, 200]);
  });
});

describe('mostInAnyWindow', () => {
  it.each([
    { times: [], most: 0 },
    { times: [0, 1, 2], most: 3 },
    { times: [0, 9.999], most: 2 },
    { times: [0, 10], most: 1 },
    { times: [0, 5, 10, 15], most: 2 },
    { times: [0, 8, 9, 10, 11, 30], most: 4 },
  ])('holds $most of $times in 10 ms', ({ times, most }) => {
    expect(mostInAnyWindow(times, 10)).toBe(most);
  });

  it('agrees with counting at every request', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200)), fc.integer({ min: 1, max: 50 }), (unsorted, windowMs) => {
        const times = unsorted.toSorted((a, b) => a - b);
        const counts = times.map((from) => times.filter((time) => time >= from && time < from + windowMs).length);
        expect(mostInAnyWindow(times, windowMs)).toBe(Math.max(0, ...counts));
      }),
    );
  });
});

describe('SlidingWindow', () => {
  it('takes a request exactly one window after the one it replaces, and not before', () => {
    const window = new SlidingWindow(2, 1_000);
    window.count(0);
    window.count(400);
    expect(window.hasRoom(999.9)).toBe(false);
    expect(window.untilNextFree(999)).toBe(1);
    expect(window.hasRoom(1_000)).toBe(true);
    window.count(1_000);
    expect(window.untilNextFree(1_000)).toBe(400);
  });

  it('waits for as many to leave as are above the limit', () => {
    const window = new SlidingWindow(1, 1_000);
    window.count(0);
    window.count(300);
    expect(window.untilNextFree(300)).toBe(1_000);
  });

  it('never lets more through than its limit in any window, and never less than it could', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (gaps, limit) => {
        const window = new SlidingWindow(limit, 100);
        const taken: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const inWindow = taken.filter((time) => now - time < 100).length;
          expect(window.hasRoom(now)).toBe(inWindow < limit);
          if (inWindow < limit) {
            window.count(now);
            taken.push(now);
          }
        }
        expect(mostInAnyWindow(taken, 100)).toBeLessThanOrEqual(limit);
      }),
    );
  });
});

describe('FixedWindow', () => {
  it('starts over at each multiple of its length', () => {
    const window = new FixedWindow(1, 1_000);
    window.count(1_900);
    expect(window.hasRoom(1_999)).toBe(false);
    expect(window.untilNextFree(1_990)).toBe(10);
    expect(window.hasRoom(2_000)).toBe(true);
  });
});
