import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addEntry,
  blankPage,
  type Cut,
  changeOfSums,
  covers,
  isHeadFull,
  listCutter,
  type PageSums,
  type RefreshPage,
  shiftHead,
  usualShape,
} from '../../../../src/feedback/rules/refresh/pages.ts';
import { noTallies, type RefreshEntry, ratesOf } from '../../../../src/feedback/rules/refresh/rates.ts';
import { cutPages } from '../../../tools/feedback/refresh-rules.ts';

const hour = 3_600_000;
const now = Date.UTC(2026, 5, 1);
const cut: Cut = { at: now, rates: ratesOf(noTallies, noTallies) };

/** Entries an hour apart, the newest first, just seen. */
function entries(count: number, changes: Partial<RefreshEntry> = {}): RefreshEntry[] {
  return Array.from({ length: count }, (_, n) => ({
    createdAt: now - n * hour,
    status: n % 4 === 0 ? 'pending' : 'resolved',
    seenAt: now,
    changedAt: null,
    leftAt: null,
    ...changes,
  }));
}

const sumsOf = ({ entries: count, rate, openRate, rateSeen, rateSeenSquared, left, leftSince }: PageSums) => ({
  count,
  rate,
  openRate,
  rateSeen,
  rateSeenSquared,
  left,
  leftSince,
});

function recounted(page: RefreshPage, all: readonly RefreshEntry[]): PageSums {
  const blank = blankPage(page.project, page.list, page.cutAt);
  for (const entry of all) {
    const isCovered = page.list === 'undated' || (entry.createdAt !== null && covers(page, entry.createdAt));
    if (isCovered) addEntry(blank, page.list, entry, cut);
  }
  return blank;
}

function expectSame(page: PageSums, other: PageSums): void {
  const [a, b] = [sumsOf(page), sumsOf(other)];
  for (const name of Object.keys(a) as (keyof typeof a)[]) expect(a[name], name).toBeCloseTo(b[name], 6);
}

const entry = fc.record<RefreshEntry>({
  createdAt: fc.option(fc.integer({ min: now - 90 * 24 * hour, max: now })),
  status: fc.constantFrom('pending', 'in_progress', 'resolved', 'dismissed', 'something else'),
  seenAt: fc.integer({ min: now - 24 * hour, max: now + 24 * hour }),
  changedAt: fc.option(fc.integer({ min: now - 90 * 24 * hour, max: now + 24 * hour })),
  leftAt: fc.option(fc.integer({ min: now - 24 * hour, max: now + 24 * hour })),
});

describe('the pages of a project', () => {
  it('hold every entry once in each of its lists, newest first, as many as the service sends', () => {
    const pages = cutPages('p', entries(400), cut);
    const all = pages.filter(({ list }) => list === 'all');
    expect(all.map((page) => page.entries)).toEqual([95, 95, 95, 95, 20]);
    expect([all[0]?.to, all.at(-1)?.from]).toEqual([null, null]);
    for (const [index, page] of all.entries()) expect(page.from).toBe(all[index + 1]?.to ?? null);
    expect(pages.filter(({ list }) => list === 'open').map((page) => page.entries)).toEqual([95, 5]);
    expect(pages.some(({ list }) => list === 'undated')).toBe(false);
  });

  it('keep sums that a recount finds, after any sequence of changes', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 250 }),
        fc.array(fc.tuple(fc.nat(), fc.option(entry))),
        (all, changes) => {
          const byDate = [...all].sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
          const pages = [...cutPages('p', byDate, cut), blankPage('p', 'undated', cut.at)].filter(
            ({ list }, index, list0) => list !== 'undated' || list0.findIndex((page) => page.list === list) === index,
          );
          const rows: (RefreshEntry | null)[] = [...byDate];
          for (const [place, change] of changes) {
            const before = rows[place % rows.length] ?? null;
            // The date of an entry stays; it may vanish and come back.
            const after = change && { ...change, createdAt: before?.createdAt ?? change.createdAt };
            rows[place % rows.length] = after;
            for (const page of pages) {
              const isIts = (row: RefreshEntry | null) =>
                row !== null && (page.list === 'undated' || (row.createdAt !== null && covers(page, row.createdAt)));
              const delta = changeOfSums(page.list, isIts(before) ? before : null, isIts(after) ? after : null, cut);
              for (const name of Object.keys(delta) as (keyof PageSums)[]) page[name] += delta[name];
            }
          }
          const left = rows.filter((row) => row !== null);
          for (const page of pages) expectSame(page, recounted(page, left));
        },
      ),
    );
  });

  it('leave together what has one moment, and read it with as many requests as it takes', () => {
    const same = entries(250, { createdAt: now - 5 * hour });
    const all = cutPages('p', [...entries(3), ...same], cut).filter(({ list }) => list === 'all');
    expect(all.map((page) => [page.entries, page.requests])).toEqual([[253, 3]]);
  });

  it('are one more for entries without a date, which costs a reading of everything', () => {
    const pages = cutPages('p', [...entries(150), ...entries(3, { createdAt: null })], cut);
    expect(pages.find(({ list }) => list === 'undated')).toMatchObject({
      entries: 3,
      requests: 2,
      from: null,
      to: null,
    });
  });

  it('begins its head no later than now, though entries be dated in the future', () => {
    const dated = Array.from({ length: 300 }, (_, n) => entries(1, { createdAt: now + (200 - n) * hour })).flat();
    for (const headFrom of [null, now + 100 * hour]) {
      const shape = { ...usualShape, headFrom, headBy: now };
      const lists = listCutter('p', cut, shape);
      for (const entry of dated) lists.add(entry);
      const [head] = lists.pages([]);
      expect(head).toMatchObject({ to: null, entries: 201, requests: 3 });
      expect(head?.from).toBe(now);
      if (!head) continue;
      const shifted = shiftHead(
        head,
        null,
        dated.filter(({ createdAt }) => covers(head, createdAt ?? 0)),
        cut,
        shape,
      );
      expect(shifted).toEqual([head]);
    }
  });

  it('were read when the least recently read of their predecessors was', () => {
    const before = cutPages('p', entries(400), cut).map((page, index) => ({ ...page, readAt: now + index }));
    const again = cutPages('p', entries(380), { ...cut, at: now + hour }, before);
    expect(again.every(({ readAt }) => readAt !== null && readAt >= now)).toBe(true);
    const [first, ...others] = before;
    const half = cutPages('p', entries(380), cut, first ? [{ ...first, readAt: null }, ...others] : []);
    expect(half[0]?.readAt).toBeNull();
  });

  it('are to be read again for what was missed only if all their predecessors are, since the first of them', () => {
    const before = cutPages('p', entries(400), cut);
    /** The head of lists without the newest entries, which reaches over the first two pages before. */
    const head = (...moments: (number | null)[]) => {
      const old = before.map((page, place) => {
        const again = moments[place] ?? null;
        return { ...page, again, againFrom: again && again + hour };
      });
      const [page] = cutPages('p', entries(400).slice(40), { ...cut, at: now + hour }, old);
      return [page?.again, page?.againFrom];
    };
    expect(head(now + 1, now + 2)).toEqual([now + 1, now + 1 + hour]);
    // It holds entries that no reading has missed yet.
    expect(head(now + 1)).toEqual([null, null]);
    expect(head(null, now + 2)).toEqual([null, null]);
  });

  it('make room in a head that fills, with nothing counted twice or lost', () => {
    let pages = cutPages('p', entries(130), cut).filter(({ list }) => list === 'all');
    let rows = entries(130);
    for (let n = 1; n <= 300; n += 1) {
      const fresh: RefreshEntry = {
        createdAt: now + n * 60_000,
        status: 'pending',
        seenAt: now,
        changedAt: null,
        leftAt: null,
      };
      rows = [fresh, ...rows];
      const [head, below, ...others] = pages;
      if (head === undefined) throw new Error('no head');
      addEntry(head, 'all', fresh, cut);
      if (!isHeadFull(head)) continue;
      const { from } = head;
      const its = rows.filter(({ createdAt }) => from === null || (createdAt ?? 0) >= from);
      pages = [...shiftHead(head, below ?? null, its, cut), ...others];
    }
    expect(pages.map((page) => page.entries).reduce((sum, count) => sum + count)).toBe(430);
    // 130 entries were in two pages; 300 more need four.
    expect(pages.length).toBeLessThanOrEqual(6);
    expect(pages.slice(1).map(({ to }) => to)).toEqual(pages.slice(0, -1).map(({ from }) => from));
    for (const page of pages) {
      expectSame(page, recounted(page, rows));
      expect(page.entries).toBeLessThanOrEqual(98);
    }
  });
});
