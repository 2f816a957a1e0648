import { describe, expect, it } from 'vitest';
import {
  chips,
  concernsOf,
  hasChip,
  type OverviewLine,
  overviewAddress,
  overviewQuery,
  searchText,
  sorted,
} from '../../../src/console/readings/overview-filter.ts';

const site = (given: Partial<OverviewLine> = {}): OverviewLine =>
  ({
    kind: 'site',
    title: 'docs.acme.example',
    org: 'acme',
    domain: 'docs.acme.example',
    state: 'idle',
    phase: null,
    lastOutcome: 'published',
    lastAt: '2026-11-22T11:00:00.000Z',
    nextAt: null,
    paused: false,
    current: 'v1',
    held: null,
    lastReason: null,
    failingSince: null,
    startedAt: null,
    drift: null,
    staleSince: null,
    ...given,
  }) as OverviewLine;
const project = (given: Partial<OverviewLine> = {}): OverviewLine =>
  ({
    kind: 'project',
    title: 'Product guide',
    org: 'acme',
    project: 'prj_1',
    state: 'idle',
    running: [],
    lastPass: 'sweep',
    lastOutcome: 'completed',
    lastAt: '2026-11-22T11:00:00.000Z',
    nextAt: null,
    paused: false,
    newestReadAt: '2026-11-22T11:00:00.000Z',
    verifiedUpTo: null,
    lastReason: null,
    failingSince: null,
    startedAt: null,
    drift: null,
    staleSince: null,
    ...given,
  }) as OverviewLine;

describe('the address of the overview', () => {
  it('says what is shown, and can be shared', () => {
    const address = '/?is=failed&q=docs&org=acme&sort=-next&group=org&page=3';
    expect(overviewAddress(overviewQuery(new URL(address, 'http://x').searchParams))).toBe(address);
    expect(overviewAddress(overviewQuery(new URLSearchParams()))).toBe('/');
  });

  it.each(['is=nothing&page=-1', 'page=1e99&is=', 'page=abc', 'is=__proto__'])('ignores nonsense: %s', (nonsense) => {
    expect(overviewAddress(overviewQuery(new URLSearchParams(`${nonsense}&sort=worst&group=x`)))).toBe('/');
  });

  it('cuts a search of megabytes', () => {
    expect(overviewQuery(new URLSearchParams({ q: 'x'.repeat(1e6) })).search).toHaveLength(200);
  });
});

describe('what the overview finds', () => {
  it('is by part of the name, of the id and of the title, and by organization', () => {
    const lines = [site(), project(), site({ org: 'b' })];
    const count = (search: string, org = '') => searchText(lines, { search, org }).length;
    expect([count(''), count('docs'), count('prj_'), count('product'), count('', 'b'), count('zzz')]).toEqual([
      3, 2, 1, 1, 1, 0,
    ]);
  });

  it.each<[string, OverviewLine, string[]]>([
    ['an idle site', site(), []],
    ['a failing site', site({ failingSince: '2026-11-21T00:00:00.000Z' }), ['failed']],
    [
      'one that waits for approval and is held',
      site({ state: 'awaiting-approval', held: 'v1' } as never),
      ['waiting', 'held'],
    ],
    ['one whose key is refused', site({ state: 'unauthorized' }), ['waiting']],
    ['one that runs', site({ state: 'running' }), ['running']],
    ['a site without a run within `lateAfter`', site({ staleSince: '2026-11-21T00:00:00.000Z' }), ['stale']],
    [
      'a site of which a target runs another version',
      site({ drift: { current: 'v1', reason: 'runs v0', since: '2026-11-22T10:00:00.000Z' } }),
      ['drifted'],
    ],
    [
      'one that was in service otherwise when that was seen',
      site({ drift: { current: 'v0', reason: 'runs v9', since: '2026-11-22T10:00:00.000Z' } }),
      [],
    ],
    ['a site without a schedule', site({ lastAt: '2026-01-01T00:00:00.000Z' }), []],
    ['a complete project', project(), []],
    ['a project last read two days ago', project({ staleSince: '2026-11-21T00:00:00.000Z' }), ['stale']],
    [
      'a project never complete that waits for requests',
      project({ newestReadAt: null, lastAt: null, state: 'waiting' } as never),
      ['waiting'],
    ],
    ['a project that was not read yet', project({ newestReadAt: null, lastAt: null } as never), []],
  ])('%s', (_what, line, expected) => {
    expect(chips.filter((chip) => hasChip(line, chip))).toEqual(expected);
  });
});

describe('the order of the overview', () => {
  const failing = site({ title: 'docs10', failingSince: '2026-11-21T00:00:00.000Z', lastReason: 'no room' });
  const waiting = site({ title: 'docs9', state: 'awaiting-approval', org: 'beta' } as never);
  const lines = [project(), waiting, failing];
  const titles = (asked: string) => sorted(lines, overviewQuery(new URLSearchParams(asked))).map(({ title }) => title);

  it('is the worst first, or what the address says', () => {
    expect(titles('')).toEqual(['docs10', 'docs9', 'Product guide']);
    expect(titles('sort=name')).toEqual(['docs9', 'docs10', 'Product guide']);
    expect(titles('sort=-name')).toEqual(['Product guide', 'docs10', 'docs9']);
    expect(titles('sort=name&group=org')).toEqual(['docs10', 'Product guide', 'docs9']);
  });

  it('makes one card of what has one reason, the oldest first seen', () => {
    const other = site({ ...failing, title: 'docs11', failingSince: '2026-11-20T00:00:00.000Z' } as never);
    const found = concernsOf([...lines, other]).map(({ health, lines, reason, since }) => [
      health,
      lines.length,
      reason,
      since,
    ]);
    expect(found).toEqual([
      ['waits for approval', 1, 'a new version waits for a decision', null],
      ['failing', 2, 'no room', '2026-11-20T00:00:00.000Z'],
    ]);
  });

  it('has one card of each kind before a second one, decisions first', () => {
    const failures = ['no room', 'no route', 'no answer', 'no disk'].map((lastReason) =>
      site({ ...failing, title: lastReason, lastReason } as never),
    );
    const drifted = site({
      title: 'docs12',
      drift: { current: 'v', reason: 'runs another', since: '' },
      current: 'v',
    } as never);
    const kinds = concernsOf([...failures, drifted, waiting]).map(({ health }) => health);
    expect(kinds.slice(0, 3)).toEqual(['waits for approval', 'failing', 'drifted']);
  });
});
