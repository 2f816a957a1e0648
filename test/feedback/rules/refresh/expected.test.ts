import { describe, expect, it } from 'vitest';
import {
  delaysText,
  delayText,
  expectedDelays,
  firstReadingText,
} from '../../../../src/feedback/rules/refresh/expected.ts';
import type { Cut, RefreshPage } from '../../../../src/feedback/rules/refresh/pages.ts';
import type { RefreshProject } from '../../../../src/feedback/rules/refresh/queue.ts';
import { arrived, noTallies, type RefreshEntry, ratesOf } from '../../../../src/feedback/rules/refresh/rates.ts';
import { cutPages } from '../../../tools/feedback/refresh-rules.ts';

const hour = 3_600_000;
const now = Date.UTC(2026, 5, 1);
const cut: Cut = { at: now, rates: ratesOf(noTallies, noTallies) };

/** A project with an entry every `everyHours`, a tenth of them open, all just read. */
function projectOf(id: string, count: number, everyHours: number, changes: Partial<RefreshProject> = {}) {
  const entries = Array.from(
    { length: count },
    (_, n): RefreshEntry => ({
      createdAt: now - n * everyHours * hour,
      status: n % 10 === 0 ? 'pending' : 'resolved',
      seenAt: now,
      changedAt: null,
      leftAt: null,
    }),
  );
  const pages = cutPages(id, entries, cut).map((page): RefreshPage => ({ ...page, readAt: now }));
  const arrivals = arrived(
    { at: 0, long: 0, short: 0 },
    entries.map(({ createdAt }) => createdAt ?? 0),
  );
  const project: RefreshProject = { project: id, weight: 1, atMostMs: null, arrivals, headReadAt: now, ...changes };
  return { pages, project };
}

function expected(parts: ReturnType<typeof projectOf>[], perHour: number, everyMs = 60_000) {
  const pages = parts.flatMap((part) => part.pages);
  return expectedDelays(
    pages,
    parts.map(({ project }) => project),
    { perHour, everyMs, at: now },
  );
}

describe('expected delays', () => {
  it('fall with the requests there are, as the inverse where nothing else limits them', () => {
    const parts = [projectOf('a', 5_000, 1)];
    const [few, many] = [expected(parts, 10), expected(parts, 20)];
    for (const name of ['newMs', 'newMostMs', 'statusMs', 'silentMs'] as const) {
      expect((few[name] ?? 0) / (many[name] ?? 1), name).toBeGreaterThan(1.6);
      expect((few[name] ?? 0) / (many[name] ?? 1), name).toBeLessThan(2.4);
    }
    expect(many.newMs).toBeLessThan(many.statusMs ?? 0);
    expect(many.statusMs).toBeLessThan(many.silentMs ?? 0);
    expect((many.newMostMs ?? 0) / (many.newMs ?? 1)).toBeCloseTo(1.9, 1);
  });

  it('are never later with more requests, also for small projects whose lists hold the same entries', () => {
    const sizes = [[81], [3, 60], [1_469, 77], [1_583, 69, 28, 1_010], [5_000]];
    for (const [place, counts] of sizes.entries()) {
      const parts = counts.map((count, n) => projectOf(`p${n}`, count, 0.03 * 3 ** ((place + n) % 5)));
      for (const everyMs of [60_000, 300_000, 900_000]) {
        let before: ReturnType<typeof expected> | null = null;
        for (const perHour of [1, 2.5, 3, 4, 5, 7.5, 9, 25, 50, 75, 90]) {
          const after = expected(parts, perHour, everyMs);
          for (const name of ['newMs', 'newMostMs', 'statusMs', 'silentMs'] as const) {
            const said = `${counts} ${name} every ${everyMs} with ${perHour}`;
            expect(after[name], said).toBeLessThanOrEqual((before?.[name] ?? Number.POSITIVE_INFINITY) * 1.001);
            expect(after[name], said).toBeGreaterThan(everyMs / 2 - 1);
          }
          before = after;
        }
      }
    }
  });

  it('are shorter for a busy project, for one with more weight, and within a deadline', () => {
    const { projects } = expected([projectOf('busy', 2_000, 0.5), projectOf('quiet', 2_000, 8)], 20);
    expect(projects[0]?.newMs).toBeLessThan(projects[1]?.newMs ?? 0);
    const heavy = expected([projectOf('busy', 2_000, 0.5), projectOf('quiet', 2_000, 8, { weight: 20 })], 20);
    expect(heavy.projects[1]?.newMs).toBeLessThan((projects[1]?.newMs ?? 0) / 2);
    const timed = expected([projectOf('busy', 2_000, 0.5), projectOf('quiet', 2_000, 8, { atMostMs: hour / 6 })], 20);
    expect(timed.projects[1]?.intervalMs).toBeLessThanOrEqual(hour / 6);
    expect(timed.projects[0]?.silentMs).toBeGreaterThan(projects[0]?.silentMs ?? 0);
  });

  it('leave out projects that have not been read, and are unknown without any', () => {
    const { pages, project } = projectOf('a', 300, 1);
    const unread = { pages: pages.map((page) => ({ ...page, readAt: null })), project };
    expect(expected([unread], 50)).toEqual({
      newMs: null,
      newMostMs: null,
      statusMs: null,
      silentMs: null,
      projects: [],
    });
  });

  it('read as one sentence', () => {
    const delays = { newMs: 8 * 60_000, newMostMs: 18 * 60_000, statusMs: 34 * 60_000, silentMs: 7 * hour };
    expect(delaysText(delays)).toBe(
      'new entries after 8 min on average (95 %: 18 min), changes of status 34 min, silent edits and deletions 7 h',
    );
    expect([1, 40_000, 100 * 60_000, 60 * hour].map(delayText)).toEqual(['1 s', '40 s', '1.7 h', '2.5 days']);
  });
});

describe('a first reading', () => {
  it.each([
    [
      { pages: 12, order: 'newest', reached: '2026-05-01T10:00:00.000Z' },
      '12 pages so far, entries up to 2026-05-01 are missing',
    ],
    [
      { pages: 1, order: 'oldest', reached: '2026-05-01T10:00:00.000Z' },
      '1 page so far, entries from 2026-05-01 on are missing',
    ],
    [{ pages: 3, order: 'mixed', reached: '2026-05-01T10:00:00.000Z' }, '3 pages so far, the rest is missing'],
    [{ pages: 0, order: null, reached: null }, '0 pages so far, the rest is missing'],
  ] as const)('says how far it has come, and on which side entries are missing', (reading, text) => {
    expect(firstReadingText(reading)).toBe(text);
  });
});
