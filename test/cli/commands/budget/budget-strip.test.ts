import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { untouchedView, type WindowView } from '../../../../src/budget/rules/window-view.ts';
import {
  budgetDocument,
  budgetTable,
  budgetText,
  releaseStrip,
  windowStrip,
} from '../../../../src/cli/commands/budget/budget-show.ts';

const plain = createColors(false);
const terminal = { paint: plain, columns: 80 };
const now = Date.parse('2026-11-21T14:00:00Z');
const budget = { requests: 100, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
const acme = { id: 'acme', budget };
const empty = untouchedView(budget);

describe('the window as strips', () => {
  it('shows used, free and reserved slots in proportion, always at full width', () => {
    expect(windowStrip({ ...empty, used: 50, reserve: 20 }, plain)).toBe(
      '█'.repeat(25) + '░'.repeat(15) + '▒'.repeat(10),
    );
    for (const used of [0, 1, 99, 100, 130]) {
      expect(windowStrip({ ...empty, used, reserve: 30 }, plain)).toHaveLength(50);
    }
  });

  it('shows when slots come free, higher where more do', () => {
    const releases = [now, now + 1_800_000, now + 1_800_000, now + 9_000_000];
    expect(releaseStrip({ ...empty, releases }, now, plain)).toBe(
      `▄${'·'.repeat(24)}█${'·'.repeat(23)}▄ until 15:00:00 UTC`,
    );
  });
});

describe('the window in words', () => {
  const view: WindowView = {
    ...empty,
    used: 60,
    available: 8,
    reserve: 32,
    otherClients: 32,
    throttledInWindow: 1,
    nextFreeAt: now + 60_000,
    override: { requests: 100, until: now + 7_200_000 },
    holders: [{ workflowId: 'sync:acme:prj_1:sweep', class: 'refresh', permits: 5, since: now, forecast: null }],
    waiters: [
      {
        workflowId: 'sync:acme:prj_2:incremental',
        class: 'on-demand',
        since: now,
        expectedAt: now + 60_000,
        forecast: { doneAt: now + 300_000, pages: 212, windows: 2 },
      },
    ],
  };

  it('names holders, waiters with class, time and forecast, other clients, refusals and what was set by hand', () => {
    const text = budgetText(acme, view, now, terminal);
    expect(text).toContain(
      'waiting        sync:acme:prj_2:incremental (on-demand), expected 14:01:00 UTC, done ≈ 14:05:00 UTC, 212 pages, 2 windows',
    );
    expect(text).toContain('in use         5 by sync:acme:prj_1:sweep (refresh) since 14:00:00 UTC');
    expect(text).toContain('others use     about 32 of 100');
    expect(text).toContain('refused (429)  1 in this window');
    expect(text).toContain('set by hand    100 requests until 16:00:00 UTC');
  });

  it('says how it differs from docferry.yaml, and what takes that back', () => {
    expect(budgetDocument(acme, view)).toMatchObject({ configured: budget, differs: false });
    expect(budgetText(acme, view, now, terminal)).not.toContain('docferry.yaml');
    const raised = { ...view, configured: { ...budget, requests: 500, reserve: 5 } };
    expect(budgetDocument(acme, raised)).toMatchObject({ configured: { requests: 500 }, differs: true });
    const text =
      'differs from docferry.yaml: 500 requests, 5 left to others instead of 100 requests, 0 left to others; ' +
      '`docferry budget reset acme` takes it back';
    expect(budgetText(acme, raised, now, terminal)).toContain(text);
    expect(budgetTable([{ item: acme, ok: true, answer: raised }], now, terminal)).toContain(
      'differs from docferry.yaml',
    );
  });

  it('has no forecast while a pause has no end', () => {
    const text = budgetText(acme, { ...view, pausedBy: 'paused', pausedUntil: null }, now, terminal);
    expect(text).toContain('waiting        sync:acme:prj_2:incremental (on-demand), until resumed');
    expect(text).not.toContain('≈');
  });

  it.each([
    [80, 44],
    [82, 46],
    [120, 50],
    [40, 4],
  ])('fits a terminal of %i columns', (columns, cells) => {
    const { holders: _holders, waiters: _waiters, ...rest } = view;
    const all = budgetText(acme, { ...rest, holders: [], waiters: [], releases: [now] }, now, {
      paint: plain,
      columns,
    });
    const strips = all.split('\n').filter((line) => /[█░▒·]/.test(line));
    expect(strips).toHaveLength(2);
    expect(Math.max(...strips.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(strips[1]?.match(/[█·]+/)?.[0]).toHaveLength(cells);
  });

  it.each([
    ['throttled', now + 60_000, 'by the service (429) until 14:01:00 UTC'],
    [
      'unauthorized',
      now + 60_000,
      'the service refuses the API key (401); the next try is at 14:01:00 UTC, or at once by `docferry doctor --key`',
    ],
    ['paused', null, 'by hand until resumed'],
    ['paused', now + 2 * 86_400_000, 'by hand until 2026-11-23 14:00:00 UTC'],
  ] as const)('says why no waiter is served: %s', (pausedBy, pausedUntil, words) => {
    expect(budgetText(acme, { ...view, pausedBy, pausedUntil }, now, terminal)).toContain(words);
  });
});
