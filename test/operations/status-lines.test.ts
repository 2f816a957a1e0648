import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { statusText } from '../../src/cli/commands/status.ts';
import type { Installation } from '../../src/operations/installation.ts';
import {
  type Facts,
  factSources,
  gatherFacts,
  needsPerson,
  projectLines as projectLinesAt,
  type Selection,
  shownLines,
  siteLines as siteLinesAt,
  totalsOf,
} from '../../src/operations/status.ts';
import type { RunningWork } from '../../src/temporal/runs.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';

const org = 'acme';
const domains = ['a', 'b', 'c', 'd', 'e', 'f'];
const selection = {
  sites: domains.map((domain) => ({ org, domain })),
  projects: ['p', 'q', 'r'].map((project) => ({ org, project })),
};
const runs = (domain: string, phase: string): RunningWork => ({
  workflowId: `export:acme:${domain}`,
  runId: 'r',
  type: 'exportSite',
  target: { kind: 'export', org, domain },
  startedAt: new Date(0),
  phase,
});
const reads = (project: string, pass: 'sweep' | 'review'): RunningWork => ({
  ...runs('', 'reading'),
  workflowId: `sync:acme:${project}:${pass}`,
  target: { kind: 'sync', org, project, pass },
});
const nothing = {
  lastPass: null,
  lastOutcome: null,
  lastAt: null,
  lastReason: null,
  newestReadAt: null,
  firstReading: false,
  verifiedUpTo: null,
  failingSince: null,
};

const facts: Facts = {
  live: {
    running: [
      runs('a', 'rendering'),
      runs('b', 'awaiting-approval'),
      runs('c', 'unauthorized'),
      reads('p', 'sweep'),
      reads('q', 'sweep'),
      reads('q', 'review'),
    ],
    starts: new Map([
      ['export:acme:e', { nextAt: '2026-11-22T06:00:00.000Z', thenAt: [], paused: false }],
      ['refresh:acme', { nextAt: '2026-11-22T06:00:00.000Z', thenAt: [], paused: false }],
    ]),
    syncs: { waiting: new Set(['sync:acme:p:sweep', 'sync:acme:q:sweep']), unauthorized: new Set() },
  },
  records: {
    sites: [
      {
        org,
        domain: 'e',
        lastOutcome: 'failed',
        lastAt: '2026-11-21T06:00:00.000Z',
        exportedAt: '2026-11-19T06:00:00.000Z',
        lastReason: 'the job failed',
        failingSince: '2026-11-20T06:00:00.000Z',
      },
    ],
    projects: [{ org, project: 'r', ...nothing, failingSince: '2026-11-19T06:00:00.000Z' }],
  },
  inService: new Map([['d', { current: 'v1', held: 'v1' }]]),
};

const now = Date.parse('2026-11-22T00:00:00.000Z');
const hourMs = 3_600_000;
const limits = [
  {
    id: org,
    sites: [{ domain: 'd', lateAfterMs: 26 * hourMs }, { domain: 'f' }],
    projects: [{ id: 'p', freshnessMs: 24 * hourMs }],
  },
];
const siteLines = (chosen: Selection, found: Facts) => siteLinesAt(chosen, found, limits, now);
const projectLines = (chosen: Selection, found: Facts) => projectLinesAt(chosen, found, limits, now);

describe('the lines of status', () => {
  it('are stale by the limits of the configuration alone', () => {
    const ended = (domain: string, exportedAt: string) => ({
      ...{ org, domain, exportedAt, lastOutcome: 'rejected' as const, lastReason: null, failingSince: null },
      lastAt: '2026-11-21T23:00:00.000Z',
    });
    // f runs weekly.
    const sites = [ended('d', '2026-11-20T12:00:00.000Z'), ended('f', '2026-11-16T00:00:00.000Z')];
    const projects = [
      { org, project: 'p', ...nothing, newestReadAt: '2026-11-20T00:00:00.000Z' },
      { org, project: 'q', ...nothing },
    ];
    const found = { ...facts, live: null, records: { sites, projects } };
    const lines = [...siteLines(selection, found), ...projectLines(selection, found)];
    expect(lines.flatMap((line) => (line.staleSince === null ? [] : [[line.staleSince, needsPerson(line)]]))).toEqual([
      ['2026-11-21T14:00:00.000Z', true],
      ['2026-11-21T00:00:00.000Z', true],
    ]);
  });

  it('have one state each', () => {
    expect(siteLines(selection, facts).map(({ state }) => state)).toEqual([
      'running',
      'awaiting-approval',
      'unauthorized',
      'held',
      'idle',
      'idle',
    ]);
    expect(projectLines(selection, facts).map(({ state }) => state)).toEqual(['waiting', 'running', 'idle']);
  });

  it('tell of a refused key that only the budget knows of', () => {
    const live = facts.live && { ...facts.live, syncs: { waiting: new Set<string>(), unauthorized: new Set([org]) } };
    const lines = projectLines(selection, { ...facts, live });
    expect(lines.map(({ state }) => state)).toEqual(['unauthorized', 'unauthorized', 'unauthorized']);
  });

  it('have the soonest next start, and no state while Temporal is away', () => {
    expect(projectLines(selection, facts)[2]).toMatchObject({ nextAt: '2026-11-22T06:00:00.000Z' });
    const away = { live: null, records: null, inService: null };
    expect(siteLines(selection, away)[3]).toMatchObject({ state: null, held: null, lastOutcome: null, paused: null });
    expect(projectLines(selection, away)[2]).toMatchObject({ nextAt: null, paused: null });
  });

  it('are known as far as Temporal has answered', async () => {
    const { live, records, inService } = facts;
    const { facts: found, unavailable } = await gatherFacts(
      {
        live: async () => ({
          live: { ...live, running: null } as NonNullable<Facts['live']>,
          failures: [{ unknown: 'running work (column state)', error: new Error('slow') }],
        }),
        records: async () => records as NonNullable<Facts['records']>,
        inService: async () => ({ found: inService ?? new Map(), failures: [] }),
      },
      () => ({ code: 'TemporalUnreachable', message: 'Temporal does not answer', hint: null }),
    );
    expect(unavailable).toMatchObject([{ part: 'temporal', unknown: 'running work (column state)' }]);
    const [sites, projects] = [siteLines(selection, found), projectLines(selection, found)];
    expect(sites[4]).toMatchObject({ state: null, nextAt: '2026-11-22T06:00:00.000Z', lastOutcome: 'failed' });
    const totals = { sites: totalsOf(sites), projects: totalsOf(projects) };
    const text = statusText({ sites, projects, totals }, 0, { paint: createColors(false), columns: 200 });
    expect(text).not.toContain('?');
    const [header, worst] = text.split('\n').map((line) => line.split(/ {2,}/));
    expect(header).toEqual(['site', 'last', 'ended (UTC)', 'next (UTC)', 'in service', 'note']);
    expect(worst?.[0]).toBe('e');
  });

  it('know what is in service but of sites whose record is damaged', async () => {
    const root = await tempFolder();
    const { store } = await publishSite({ root, domain: 'a', version: smallSiteVersion });
    for (const domain of ['b', 'c', 'd']) await publishSite({ root, domain, version: smallSiteVersion });
    for (const domain of ['a', 'b', 'c', 'd']) await store.moveCurrent(domain, smallSiteVersion, 0, new Date());
    await store.holds.place('a', { version: null, reason: null, at: new Date() });
    await writeFile(join(root, 'b', 'hold.json'), '{"vers');
    await writeFile(join(root, 'c', 'current.json'), '{"vers');
    const away = async () => Promise.reject(new Error('away'));
    const installation = { temporal: away, feedback: away, bundles: async () => store } as unknown as Installation;
    const explain = ({ message }: Error) => ({ code: 'StoreUnavailable', message, hint: null });
    const found = await gatherFacts(factSources(installation, selection), (error) => explain(error as Error));
    expect(siteLines(selection, found.facts).map(({ current, held }) => [current, held])).toEqual([
      [smallSiteVersion, smallSiteVersion],
      [null, null],
      [null, null],
      [smallSiteVersion, null],
      [null, null],
      [null, null],
    ]);
    expect(found.unavailable.filter(({ part }) => part === 'bundle store')).toMatchObject([
      {
        message: 'b/hold.json in the bundle store is damaged',
        unknown: 'versions in service and holds of b and 1 other site',
      },
    ]);
  });

  it('are left out by --failed and --since', () => {
    const sites = siteLines(selection, facts);
    const shown = (failed: boolean, since: string | null) =>
      shownLines(sites, { failed, since }).map(({ domain }) => domain);
    // The service refuses the key of c.
    expect(shown(true, null)).toEqual(['c', 'e']);
    expect(shown(false, '2026-11-21T05:00:00.000Z')).toEqual(['a', 'b', 'c', 'e']);
    expect(shown(true, '2026-11-21T07:00:00.000Z')).toEqual(['c']);
  });

  it('are counted, and one failure is one line', () => {
    const [sites, projects] = [siteLines(selection, facts), projectLines(selection, facts)];
    const totals = { sites: totalsOf(sites), projects: totalsOf(projects) };
    expect(totals.sites).toEqual({
      all: 6,
      failing: 1,
      running: 1,
      waiting: 0,
      'awaiting-approval': 1,
      unauthorized: 1,
      held: 1,
      idle: 2,
    });
    const text = statusText({ sites, projects, totals }, Date.parse('2026-11-22T00:00:00Z'), {
      paint: createColors(false),
      columns: Number.POSITIVE_INFINITY,
    });
    expect(text.split('\n').filter((line) => line.includes('failing since'))).toEqual([
      expect.stringMatching(
        /^e +idle +failed +2026-11-21 06:00 +2026-11-22 06:00 +- +failing since 2026-11-20 06:00: the job failed$/,
      ),
      expect.stringMatching(/^r +idle .* failing since 2026-11-19 06:00$/),
    ]);
    expect(text).toContain('3 projects: 1 running, 1 waiting, 1 idle, 1 failing');
  });
});
