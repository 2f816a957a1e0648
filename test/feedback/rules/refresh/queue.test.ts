import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addEntry, blankPage, type Cut, type RefreshPage } from '../../../../src/feedback/rules/refresh/pages.ts';
import { judged, nextPage, type RefreshProject, worthOf } from '../../../../src/feedback/rules/refresh/queue.ts';
import {
  arrivalRate,
  arrived,
  classCount,
  faded,
  lessonOf,
  noTallies,
  pooled,
  type RefreshEntry,
  ratesOf,
} from '../../../../src/feedback/rules/refresh/rates.ts';
import { taught } from '../../../tools/feedback/refresh-rules.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.UTC(2026, 5, 1);
const cut: Cut = { at: now, rates: Array.from({ length: classCount }, () => 0.01) };

const entryOf = (changes: Partial<RefreshEntry> = {}): RefreshEntry => ({
  createdAt: now - 100 * day,
  status: 'resolved',
  seenAt: now,
  changedAt: null,
  leftAt: null,
  ...changes,
});

const projectOf = (project: string, changes: Partial<RefreshProject> = {}): RefreshProject => ({
  project,
  weight: 1,
  atMostMs: null,
  arrivals: { at: now, long: 0, short: 0 },
  headReadAt: now,
  ...changes,
});

function pageOf(project: string, entries: readonly RefreshEntry[], changes: Partial<RefreshPage> = {}): RefreshPage {
  const page = { ...blankPage(project, 'all', now), to: now - day, readAt: now, ...changes };
  for (const entry of entries) addEntry(page, page.list, entry, cut);
  return page;
}

describe('what reading a page is worth', () => {
  it('is Σ rate · age² / 2 of its entries, times the weight of the project, for each request', () => {
    const entries = [entryOf(), entryOf({ seenAt: now - 2 * hour })];
    const expected = (0.01 * 3 ** 2 + 0.01 * 5 ** 2) / 2;
    const at = now + 3 * hour;
    expect(worthOf(pageOf('p', entries), projectOf('p'), at)).toBeCloseTo(expected);
    expect(worthOf(pageOf('p', entries, { requests: 3 }), projectOf('p', { weight: 6 }), at)).toBeCloseTo(2 * expected);
  });

  it('counts new entries ten times, on heads only, since any head was read', () => {
    const project = projectOf('p', { arrivals: { at: now, long: 336, short: 24 }, headReadAt: now + hour });
    const rate = arrivalRate(project.arrivals, now + 3 * hour);
    expect(rate).toBeCloseTo(1, 1);
    expect(worthOf(pageOf('p', [], { to: null }), project, now + 3 * hour)).toBeCloseTo((10 * rate * 2 ** 2) / 2);
    expect(worthOf(pageOf('p', []), project, now + 3 * hour)).toBe(0);
  });

  it('grows with entries that have left the open list, and most where little else changes', () => {
    const left = entryOf({ status: 'pending', leftAt: now + hour });
    const quiet = worthOf(pageOf('p', [left]), projectOf('p'), now + 2 * hour);
    const many = Array.from({ length: 90 }, () => entryOf({ seenAt: now + 2 * hour }));
    const busy = worthOf(pageOf('p', [left, ...many]), projectOf('p'), now + 2 * hour);
    expect(busy).toBeCloseTo(1);
    expect(quiet).toBeGreaterThan(1_000);
  });
});

describe('the next page', () => {
  const entries = [entryOf()];
  const worst = pageOf('a', [entryOf({ seenAt: now + hour })]);
  const best = pageOf('b', entries);
  const projects = new Map(['a', 'b'].map((id) => [id, projectOf(id)]));
  const options = { nextRunAt: now + 3 * hour, deadlinesLeft: true };

  it('is that with the most worth, of all projects, among those that have been read', () => {
    expect(nextPage([worst, best], projects, now + 2 * hour, options)).toEqual({ page: best, why: 'worth' });
    expect(nextPage([worst, { ...best, readAt: null }], projects, now + 2 * hour, options)?.page).toBe(worst);
    expect(nextPage([{ ...best, project: 'removed' }], projects, now, options)).toBeNull();
  });

  it('is what must be read again, then a head whose deadline would pass before the next run', () => {
    const head = pageOf('a', [], { to: null });
    const late = new Map([...projects, ['a', projectOf('a', { atMostMs: 2 * hour })]]);
    expect(nextPage([best, head], late, now + 2 * hour, options)).toEqual({ page: head, why: 'deadline' });
    expect(nextPage([best, head], late, now + 2 * hour, { ...options, deadlinesLeft: false })?.why).toBe('worth');
    expect(nextPage([best, head], late, now + hour / 2, { ...options, nextRunAt: now + hour })?.why).toBe('worth');
    const again = { ...worst, again: now, againFrom: now + hour };
    expect(nextPage([best, head, again], late, now + 2 * hour, options)).toEqual({ page: again, why: 'again' });
    expect(nextPage([best, head, again], late, now + hour / 2, options)?.why).not.toBe('again');
  });

  it('is found among 15,000 pages without a look at entries, in a small part of 50 ms', () => {
    const many = Array.from({ length: 15_000 }, (_, n) => ({ ...(n === 7_777 ? best : worst), project: `${n % 100}` }));
    const all = new Map(Array.from({ length: 100 }, (_, n) => [`${n}`, projectOf(`${n}`)]));
    expect(nextPage(many, all, now + 2 * hour, options)?.page).toBe(many[7_777]);
  });
});

describe('what a complete reading says', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, n) => ({ ...entryOf(), id: `f${n}` }));
  const reading = (seenAgain: number, changes: Partial<Parameters<typeof judged>[0]> = {}) => {
    const startedAt = changes.startedAt ?? now + hour;
    const entries = ids(90).map((entry, n) => (n < seenAgain ? { ...entry, seenAt: startedAt } : entry));
    const page = pageOf('p', entries);
    return judged({ page, startedAt, entries, requests: 1, stored: 1_000, missingElsewhere: 0, ...changes });
  };

  it('of the open list: what is missing has left it, in the middle between the two readings', () => {
    const entries = ids(3).map((entry) => ({ ...entry, status: 'pending' }));
    const page = pageOf('p', entries, { list: 'open' });
    const { left, page: after } = judged({
      page,
      startedAt: now + 2 * hour,
      entries: entries.map((entry, n) => (n === 1 ? entry : { ...entry, seenAt: now + 2 * hour })),
      requests: 1,
      stored: 3,
      missingElsewhere: 0,
    });
    expect(left).toEqual([{ id: 'f1', leftAt: now + hour }]);
    expect(after).toEqual({ readAt: now + 2 * hour, again: null, againFrom: null, requests: 1 });
  });

  it('of all: what is missing is looked for again at once, and is gone when that misses it too', () => {
    const first = reading(88);
    expect(first).toMatchObject({ missing: 2, tombstoned: [], isMass: false, page: { again: now + hour } });
    const page = { ...pageOf('p', ids(90)), ...first.page };
    const second = reading(88, { page, startedAt: now + hour + 1_000 });
    expect(second).toMatchObject({ tombstoned: ['f88', 'f89'], missing: 0, page: { again: null } });
    expect(reading(89, { page, startedAt: now + hour + 1_000 }).tombstoned).toEqual(['f89']);
  });

  it('of all: a reading that missed them by a clock that was ahead does not count', () => {
    const page = { ...pageOf('p', ids(90)), again: now + day, againFrom: now + day };
    expect(reading(88, { page })).toMatchObject({ tombstoned: [], missing: 2, page: { again: now + hour } });
  });

  it('is believed only in another hour when a tenth of a project or a whole page is missing', () => {
    for (const [seen, others] of [
      [0, { stored: 1_000 }],
      [60, { stored: 250 }],
      [88, { stored: 250, missingElsewhere: 24 }],
    ] as const) {
      const first = reading(seen, others);
      expect(first).toMatchObject({ isMass: true, page: { again: now + hour, againFrom: now + 2 * hour } });
      const page = { ...pageOf('p', ids(90)), ...first.page };
      const soon = reading(seen, { ...others, page, startedAt: now + hour + 60_000 });
      expect(soon).toMatchObject({ tombstoned: [], isMass: true, page: { again: now + hour } });
      const later = reading(seen, { ...others, page: { ...page, ...soon.page }, startedAt: now + 2 * hour });
      expect(later.tombstoned).toHaveLength(90 - seen);
    }
  });

  it('tombstones nothing that any reading saw after the one began that missed it first', () => {
    const seenAt = fc.integer({ min: now - hour, max: now + 4 * hour });
    fc.assert(
      fc.property(
        fc.array(seenAt, { minLength: 1, maxLength: 100 }),
        fc.nat(3 * hour),
        fc.option(fc.nat(3 * hour)),
        (seen, started, again) => {
          const entries = seen.map((at, n) => ({ ...entryOf({ seenAt: at }), id: `${n}` }));
          const since = again === null ? null : now + again;
          const startedAt = Math.max(now + started, since ?? 0);
          const page = { ...pageOf('p', entries), again: since, againFrom: since };
          const found = judged({ page, startedAt, entries, requests: 1, stored: 1_000, missingElsewhere: 0 });
          if (since === null) expect(found.tombstoned).toEqual([]);
          for (const id of found.tombstoned) expect(entries[Number(id)]?.seenAt).toBeLessThan(since ?? 0);
        },
      ),
    );
  });
});

describe('rates', () => {
  const pending = entryOf({ status: 'pending', createdAt: now - 100 * day, seenAt: now - 10 * hour });

  it('follow what was seen: of the organization where a project has shown little, of the project where it has much', () => {
    const lesson = lessonOf(pending, now, false);
    if (lesson === null) throw new Error('no lesson');
    expect(lesson).toMatchObject({ changes: 0, hours: 10 });
    const never = taught(
      noTallies,
      Array.from({ length: 1_000 }, () => lesson),
    );
    const often = taught(
      noTallies,
      Array.from({ length: 1_000 }, () => ({ ...lesson, changes: 1 })),
    );
    const all = pooled([never, often]);
    const [own, other, fresh] = [never, often, noTallies].map((tallies) => ratesOf(tallies, all)[lesson.kind] ?? 0);
    expect(fresh).toBeCloseTo(0.05, 2);
    expect(own).toBeLessThan(0.001);
    expect(other).toBeCloseTo(0.1, 2);
  });

  it('of entries that nobody looks at fall with the time since they last changed', () => {
    const kinds = [1, 10, 100].map(
      (days) => lessonOf({ ...pending, createdAt: now - days * day }, now, true)?.kind ?? -1,
    );
    const rates = ratesOf(noTallies, noTallies);
    const [first = 0, second = 0, third = 0] = kinds.map((kind) => rates[kind] ?? 0);
    expect(first).toBeGreaterThan(second);
    expect(second).toBeGreaterThan(third);
    const moved = lessonOf({ ...pending, changedAt: now - day }, now, false)?.kind;
    expect(moved).toBe(kinds[0]);
  });

  it('learn nothing from clocks that went back, and forget half in a month', () => {
    expect(lessonOf(pending, pending.seenAt, true)).toBeNull();
    const kind = lessonOf(pending, now, true)?.kind ?? 0;
    const old = faded(taught(noTallies, [{ kind, changes: 4, hours: 80 }]), 30 * day);
    expect(old[kind]).toEqual({ changes: 2, hours: 40 });
  });

  it('of new entries notice a project that wakes within the day, and that it sleeps again', () => {
    const quiet = arrived({ at: now - 400 * day, long: 0, short: 0 }, [now - 30 * day]);
    expect(arrivalRate(quiet, now)).toBeLessThan(0.01);
    const awake = arrived(
      quiet,
      Array.from({ length: 40 }, (_, n) => now - n * 10 * 60_000),
    );
    expect(arrivalRate(awake, now)).toBeGreaterThan(0.8);
    expect(arrivalRate(awake, now + 60 * day)).toBeLessThan(0.01);
  });
});
