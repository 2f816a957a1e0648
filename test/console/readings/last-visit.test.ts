import { describe, expect, it } from 'vitest';
import { nextVisit } from '../../../src/console/readings/feedback-query.ts';

const minuteMs = 60_000;
const first = Date.parse('2026-11-20T08:00:00.000Z');

/** Looks at these moments, in minutes after the first. */
function looks(minutes: readonly number[], login = 'ada') {
  let kept: string | undefined;
  return minutes.map((minute) => {
    const visit = nextVisit(kept, login, first + minute * minuteMs);
    kept = visit.kept;
    return visit.since;
  });
}

describe('the last visit of a login', () => {
  it('is the last look before this visit, however often the page is loaded in it', () => {
    const day = 24 * 60;
    const before = '2026-11-20T08:20:00.000Z';
    expect(looks([0, 10, 20, day, day + 25, day + 50, day + 75])).toEqual([
      null,
      null,
      null,
      before,
      before,
      before,
      before,
    ]);
  });

  it('is forgotten when another login uses the browser', () => {
    const { kept } = nextVisit(undefined, 'ada', first);
    const later = first + 60 * minuteMs;
    expect(nextVisit(kept, 'ada', later).since).toBe('2026-11-20T08:00:00.000Z');
    expect(nextVisit(kept, 'eve', later).since).toBeNull();
  });

  it.each(['', 'x', '....', `${'a'.repeat(16)}.1.2`, `${'a'.repeat(16)}.9999999999999.9999999999999`, '\u0000'])(
    'is none when the browser sends nonsense: %j',
    (kept) => {
      expect(nextVisit(kept, 'ada', first).since).toBeNull();
    },
  );

  it('is not in the future, whatever the clock said before', () => {
    const { kept } = nextVisit(undefined, 'ada', first + 365 * 24 * 60 * minuteMs);
    expect(nextVisit(kept, 'ada', first).since).toBeNull();
  });
});
