import { jsx } from 'hono/jsx';
import { describe, expect, it } from 'vitest';
import { type ScheduleLine, SchedulesPage, scheduleQuery } from '../../../src/console/pages/schedules-page.tsx';
import { htmlOf } from '../../../src/console/routes/answers.tsx';

const viewer = { login: 'ada', mayAct: true, seesContacts: false, whyNot: null, formToken: 't', note: null };
const line: ScheduleLine = {
  id: 'export:acme:docs.acme.example',
  target: { kind: 'export', org: 'acme', domain: 'docs.acme.example' },
  when: '0 6 * * 1-5 Europe/Berlin',
  state: { nextAt: '2026-11-23T05:00:00.000Z', paused: false },
  thenAt: ['2026-11-24T05:00:00.000Z', '2026-11-25T05:00:00.000Z'],
  running: false,
};
const pageOf = (lines: readonly ScheduleLine[], asked = ''): string => {
  const query = scheduleQuery(new URLSearchParams(asked));
  const at = Date.parse('2026-11-22T12:00:00Z');
  const page = jsx(SchedulesPage, { query, organizations: ['acme'], lines, unavailable: [], at });
  return htmlOf(page, { viewer, read: null });
};
const shown = (change: Partial<ScheduleLine>): string => pageOf([{ ...line, ...change }]);
const startsIn = (page: string) => [...page.matchAll(/<time datetime="([^"]+)"/g)].map(([, at]) => at?.slice(0, 16));

describe('the page of schedules', () => {
  it('says of a cron expression when it starts next, and then', () => {
    expect(startsIn(shown({}))).toEqual(['2026-11-23T05:00', '2026-11-24T05:00', '2026-11-25T05:00']);
    expect(startsIn(shown({ thenAt: [] }))).toEqual(['2026-11-23T05:00']);
  });

  it('shows the soonest first, and those that an address asks for', () => {
    const named = (domain: string, nextAt: string | null) => ({
      ...line,
      id: `export:acme:${domain}`,
      target: { ...line.target, domain } as ScheduleLine['target'],
      state: { nextAt, paused: nextAt === null },
      thenAt: [],
    });
    const lines = [
      named('paused.example', null),
      named('late.example', '2026-11-24T05:00:00.000Z'),
      named('soon.example', '2026-11-23T05:00:00.000Z'),
    ];
    const found = (asked: string) =>
      [...pageOf(lines, asked).matchAll(/id="to-export:acme:([^"]+)"/g)].map(([, name]) => name);
    expect(found('')).toEqual(['soon.example', 'late.example', 'paused.example']);
    expect(found('is=paused')).toEqual(['paused.example']);
    expect(found('q=LATE')).toEqual(['late.example']);
    expect(found('org=other')).toEqual([]);
    expect(found('is=__proto__')).toEqual(found(''));
  });

  it('counts a start that is due, though its moment has passed, among those of the next day', () => {
    const due = shown({ state: { nextAt: '2026-11-22T11:59:58.000Z', paused: false }, thenAt: [] });
    expect(due).toContain('1 of 1 schedules start');
    expect(due).toMatch(/data-name="next start"[^>]*>now</);
    expect(startsIn(due)).toEqual([]);
    expect(shown({ state: { nextAt: '2026-11-23T12:00:00.000Z', paused: false } })).toContain('0 of 1 schedules start');
  });

  it('shows two hundred of ten thousand at a time, and leads on', () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => ({ ...line, id: `export:acme:s${n}.example` }));
    const rows = (page: string) => [...page.matchAll(/id="to-export:acme:(s\d+)\./g)].map(([, name]) => name);
    const second = pageOf(lines, 'page=2&q=docs');
    expect([rows(second).length, rows(second)[0]]).toEqual([200, 's200']);
    expect(second).toContain('Page 2 of 50: 10,000 lines');
    expect(second).toContain('href="/schedules?q=docs&amp;page=3"');
    expect(rows(pageOf(lines, 'page=999'))[0]).toBe('s9800');
    expect(rows(pageOf(lines, 'page=x'))[0]).toBe('s0');
  });
});
