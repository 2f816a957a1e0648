import { describe, expect, it } from 'vitest';
import { type ScheduleLine, SchedulesPage } from '../../../src/console/pages/schedules-page.tsx';

const viewer = { login: 'ada', mayAct: true, seesContacts: false, whyNot: null, formToken: 't', note: null };
const line: ScheduleLine = {
  id: 'export:acme:docs.acme.example',
  target: { kind: 'export', org: 'acme', domain: 'docs.acme.example' },
  when: '0 6 * * 1-5 Europe/Berlin',
  state: { nextAt: '2026-11-23T05:00:00.000Z', paused: false },
  thenAt: ['2026-11-24T05:00:00.000Z', '2026-11-25T05:00:00.000Z'],
  running: false,
};
const shown = (change: Partial<ScheduleLine>): string => {
  const lines = [{ ...line, ...change }];
  return String(SchedulesPage({ viewer, lines, unavailable: [], at: Date.parse('2026-11-22T12:00:00Z'), late: false }));
};
const startsIn = (page: string) => [...page.matchAll(/<time datetime="([^"]+)"/g)].map(([, at]) => at?.slice(0, 16));

describe('the page of schedules', () => {
  it('says of a cron expression when it starts next, and then', () => {
    expect(startsIn(shown({}))).toEqual(['2026-11-23T05:00', '2026-11-24T05:00', '2026-11-25T05:00']);
    expect(startsIn(shown({ thenAt: [] }))).toEqual(['2026-11-23T05:00']);
  });
});
