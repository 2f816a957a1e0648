import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { bar, exportStep, syncStep } from '../../../src/cli/terminal/progress.ts';
import type { ExportProgress, ExportState } from '../../../src/exports/rules/site-export.ts';
import { noEntries } from '../../../src/feedback/rules/feedback-entry.ts';
import type { SyncState } from '../../../src/feedback/rules/sync.ts';

const plain = createColors(false);
const now = Date.UTC(2026, 10, 21, 4, 0, 0);

const progress: ExportProgress = {
  startedAt: now - 60_000,
  storeId: 'store',
  jobId: 'job_1',
  jobStartedAt: now - 60_000,
  jobsStarted: 1,
  possibleDuplicates: 0,
  polls: 3,
  percent: 42.7,
  pageCount: 9,
  samples: [],
  linksRequested: 0,
  runningMs: 0,
};

const rendering: ExportState = {
  org: 'acme',
  domain: 'docs.acme.example',
  phase: 'rendering',
  parameters: {},
  progress,
  nextPoll: { at: now + 90_000, reason: '42 % after 60 s', expectedAt: null },
  unauthorized: null,
  download: null,
  version: null,
  approval: null,
  rollouts: [],
  ignored: 0,
};

const reading: SyncState = {
  org: 'acme',
  project: 'prj_1',
  pass: 'sweep',
  phase: 'reading',
  progress: {
    passId: 'pass',
    storeId: 'store',
    pages: 12,
    requests: 12,
    throttled: 0,
    waitedMs: 0,
    entries: { ...noEntries, seen: 1200 },
  },
  waiting: null,
  ignored: 0,
  forecast: null,
};

describe('bar', () => {
  it.each([
    [0, '░░░░░░░░░░░░░░░░░░░░ 0 %'],
    [50, '██████████░░░░░░░░░░ 50 %'],
    [99.9, '████████████████████ 99 %'],
    [140, '████████████████████ 100 %'],
    [-3, '░░░░░░░░░░░░░░░░░░░░ 0 %'],
    [null, '░░░░░░░░░░░░░░░░░░░░'],
  ])('of %s percent', (percent, text) => {
    expect(bar(percent, plain)).toBe(text);
  });
});

describe('a step of an export', () => {
  it('shows phase, percent, pages and the next poll', () => {
    const { text, line } = exportStep(rendering, now, plain);
    expect(text).toBe('rendering  ████████▌░░░░░░░░░░░ 42 %  9 pages  next poll in 1 min 30 s'.replace('▌', '█'));
    expect(line).toBe('rendering, 42 %, 9 pages, next poll 04:01:30 UTC (42 % after 60 s)');
  });

  it('shows how far the download is, with speed and time left', () => {
    const download = { offset: 45_000_000, total: 120_000_000, bytesPerSecond: 12_500_000, at: now };
    const { text, line, key } = exportStep({ ...rendering, phase: 'fetching', download }, now, plain);
    expect(text).toBe('fetching  ████████░░░░░░░░░░░░ 37 %  42.9 MiB of 114.4 MiB  11.9 MiB/s  6 s left');
    expect(line).toBe('fetching, 37 %, 42.9 MiB of 114.4 MiB, 11.9 MiB/s, 6 s left');
    const later = { ...download, offset: 47_000_000, bytesPerSecond: 1 };
    expect(exportStep({ ...rendering, phase: 'fetching', download: later }, now, plain).key).toBe(key);
    expect(exportStep({ ...rendering, phase: 'verifying', download }, now, plain).text).toBe('verifying');
  });

  it('says why a start is repeated, and counts no possible duplicate as a job', () => {
    const failedStart = { attempt: 2, reason: 'StartUncertain: jobId: missing', nextAt: null };
    const { text } = exportStep({ ...rendering, phase: 'starting', failedStart }, now, plain);
    expect(text).toBe('starting  startJob failed; it is being tried again now (attempt 2): jobId: missing');
    const uncertain = { ...progress, jobsStarted: 2, possibleDuplicates: 1 };
    expect(exportStep({ ...rendering, progress: uncertain }, now, plain).text).not.toContain('job 2');
  });

  it('changes with each phase, tenth and job, and not in between', () => {
    const keyOf = (change: Partial<ExportProgress>, phase: ExportState['phase'] = 'rendering') =>
      exportStep({ ...rendering, phase, progress: { ...progress, ...change } }, now, plain).key;
    expect(keyOf({ percent: 44 })).toBe(keyOf({ percent: 49, polls: 4 }));
    const keys = [
      keyOf({}),
      keyOf({ percent: 51 }),
      keyOf({ jobsStarted: 2 }),
      keyOf({ percent: null }),
      keyOf({}, 'fetching'),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('names the version once there is one', () => {
    const state: ExportState = { ...rendering, phase: 'rolling-out', nextPoll: null, version: 'v1' };
    expect(exportStep(state, now, plain)).toMatchObject({ text: 'rolling-out  v1', line: 'rolling-out, v1' });
  });
});

describe('a step of a pass', () => {
  it('shows pages and entries', () => {
    expect(syncStep(reading, now, plain)).toMatchObject({ line: 'reading, 12 pages, 1,200 entries' });
  });

  it('shows when the pass will be done', () => {
    const forecast = { doneAt: now + 7_200_000, pages: 212, windows: 2 };
    expect(syncStep({ ...reading, forecast }, now, plain).line).toBe(
      'reading, 12 pages, 1,200 entries, done ≈ 06:00:00 UTC, 212 pages, 2 windows',
    );
  });

  it('names the day unless it is today', () => {
    const forecast = { doneAt: now + 86_400_000, pages: 1, windows: 24 };
    expect(syncStep({ ...reading, forecast }, now, plain).line).toContain('done ≈ 2026-11-22 04:00:00 UTC, 1 page');
  });

  it('uses the singular for one', () => {
    if (reading.progress === null) throw new Error('reading without progress');
    const one = { ...reading.progress, pages: 1, entries: { ...noEntries, seen: 1 } };
    expect(syncStep({ ...reading, progress: one }, now, plain).line).toBe('reading, 1 page, 1 entry');
  });

  it('has no forecast while the budget is paused by hand', () => {
    const waiting = { until: now + 3_600_000, place: 1, behind: [], reason: 'paused' as const };
    const forecast = { doneAt: now + 3_600_000, pages: 1, windows: 1 };
    const step = syncStep({ ...reading, phase: 'waiting-for-budget', waiting, forecast }, now, plain);
    expect(step.line).toBe('waiting-for-budget, 12 pages, 1,200 entries, the budget was paused by hand');
  });

  it('says that the key is refused, and when it is tried again', () => {
    const waiting = { until: now + 60_000, place: 1, behind: [], reason: 'unauthorized' as const };
    expect(syncStep({ ...reading, phase: 'unauthorized', waiting }, now, plain).text).toBe(
      'unauthorized  12 pages  1,200 entries  the API key is refused (401), next try at 04:01:00 UTC',
    );
    const unauthorized = { since: now, triedAt: now, nextTryAt: now + 60_000 };
    expect(exportStep({ ...rendering, unauthorized }, now, plain).text).toBe(
      'rendering  the API key is refused (401), next try at 04:01:00 UTC',
    );
  });

  it('shows until when it waits for the budget and behind which others', () => {
    const waiting = {
      until: now + 61_000,
      place: 2,
      behind: ['sync:acme:prj_2:sweep'],
      reason: 'window-full' as const,
    };
    const step = syncStep({ ...reading, phase: 'waiting-for-budget', waiting }, now, plain);
    expect(step.text).toBe(
      'waiting-for-budget  12 pages  1,200 entries  for another 1 min 1 s, behind sync:acme:prj_2:sweep',
    );
    expect(step.line).toContain('until 04:01:01 UTC, behind sync:acme:prj_2:sweep');
  });
});
