import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../sandbox/index.ts';
import type { WindowSettings } from '../../src/budget/rules/permits.ts';
import type { PassKind } from '../../src/feedback/rules/sync.ts';
import { type ActivityScene, activityScene } from '../tools/activity-dependencies.ts';
import { compareWithTruth, type Differences } from '../tools/feedback/feedback-truth.ts';
import { type PassEnd, runPass } from '../tools/feedback/sync-pass.ts';

/*
 * Whatever the service does: after each pass the store equals the sandbox's truth, field by field, or the pass has
 * failed and says what is missing (S1, S3, S4). At the end the table of what it cost is printed.
 */

interface Case {
  name: string;
  sandbox: SandboxOptions;
  /** Passes one after the other; before each but the first, `between` changes the world. Default: one sweep. */
  passes?: PassKind[];
  between?: (scene: ActivityScene, pass: number) => void;
  window?: WindowSettings;
  /** Type of the failure of the last pass, and what its message names. Default: none. */
  fails?: { type: string; names: RegExp; storesAtLeast: number };
  /** Requests the last pass may take. */
  most?: number;
}

/** Large enough that no pass waits. */
const plenty: WindowSettings = { requests: 1_000, reserve: 0, windowMs: 1_000, arrivalMs: 500 };
/** Waits after every ten requests, long enough for cursors of `shortLife` to die. */
const tight: WindowSettings = { requests: 10, reserve: 0, windowMs: 500, arrivalMs: 200 };
const shortLife = { cursorTtlMs: 150 };

const rows: string[] = [];
afterAll(() => {
  process.stdout.write(`\n${['case | exit | requests | stored', ...rows].join('\n')}\n`);
});

async function play(given: Case): Promise<{ end: PassEnd; found: Differences; stored: number }> {
  const { sandbox, passes = ['sweep'], between, window = plenty } = given;
  const scene = await activityScene({ requests: 1_000_000, entries: 1_500, ...sandbox }, window);
  try {
    let end: PassEnd | null = null;
    for (const [index, pass] of passes.entries()) {
      if (index > 0) between?.(scene, index);
      end = await runPass(scene, pass);
    }
    if (end === null) throw new Error('a case has a pass');
    const { entries } = await scene.deps.feedback.countEntries('acme', 'prj_1');
    rows.push([given.name, end.failure?.type ?? 0, end.requests, entries].join(' | '));
    return { end, found: compareWithTruth(scene), stored: entries };
  } finally {
    await scene.end();
  }
}

const orders = ['newest', 'oldest'] as const;

const cases: Case[] = [
  ...orders.map((order) => ({ name: `${order} first`, sandbox: { order }, most: 16 })),
  ...orders.flatMap((order) =>
    (['inclusive', 'exclusive'] as const).flatMap((dateFrom) =>
      (['exact', 'as-dates'] as const).flatMap((dateTimes) =>
        (['+00:00', '+14:00', '-11:00'] as const).map((dateOffset) => ({
          name: `${order} first, dateFrom ${dateFrom}, date-times ${dateTimes}, zone ${dateOffset}`,
          sandbox: { order, dateFrom, dateTimes, dateOffset, days: 40 },
          passes: ['sweep', 'incremental', 'review'] as PassKind[],
          between: changeAndAdd,
        })),
      ),
    ),
  ),
  ...orders.flatMap((order) =>
    (['first', 'last'] as const).map((nulls) => ({
      name: `cursors that expire, ${order} first, nulls ${nulls}`,
      sandbox: { ...shortLife, order, nulls, entries: 2_500, nullDates: 0.05 },
      window: tight,
    })),
  ),
  {
    name: 'cursors that expire, dates as days of another zone',
    sandbox: { ...shortLife, entries: 2_500, dateTimes: 'as-dates', dateOffset: '+09:00', dateFrom: 'exclusive' },
    window: tight,
  },
  {
    name: 'cursors that expire before the entries without a date of any status are reached',
    sandbox: { ...shortLife, entries: 2_500, openShare: 0, nullDates: 0.05, cursorTtlMs: 1 },
    window: { ...tight, requests: 2 },
    fails: { type: 'OutOfReach', names: /without createdAt|lead past the entries of/, storesAtLeast: 100 },
  },
  {
    name: 'a cursor that repeats',
    sandbox: { faults: { loopCursor: 4 } },
    fails: {
      type: 'BadPage',
      names: /^page \d+ of project prj_1 .* given before .*what follows them is missing/,
      storesAtLeast: 400,
    },
    most: 6,
  },
  {
    name: 'cursors A, B, A, B',
    sandbox: { faults: { loopCursor: 4, loopLength: 2 } },
    fails: { type: 'BadPage', names: /^page \d+ of project prj_1/, storesAtLeast: 400 },
    most: 7,
  },
  {
    name: 'hasMore with a null cursor',
    sandbox: { faults: { nullCursor: 6 } },
    fails: { type: 'BadPage', names: /^page 6 of project prj_1 .*gave no cursor \(\d+ entries/, storesAtLeast: 600 },
    most: 8,
  },
  { name: 'an empty page with more to follow', sandbox: { faults: { emptyPage: 4 } } },
  { name: 'a page cut short', sandbox: { faults: { cutBody: 1 } }, most: 18 },
  { name: 'a malformed page', sandbox: { faults: { badJson: 1 } }, most: 17 },
  { name: 'a page that is malformed four times', sandbox: { faults: { badJson: 4 } }, most: 20 },
  {
    name: 'malformed pages for ever',
    sandbox: { faults: { badJson: 1_000 } },
    fails: { type: 'BadPage', names: /^page 1 of project prj_1 cannot be read/, storesAtLeast: 0 },
    most: 5,
  },
  { name: '20 % errors and resets', sandbox: { faults: { errorRate: 0.1, resetRate: 0.05, resetAfterRate: 0.05 } } },
  { name: 'unknown sources, statuses and fields', sandbox: { drift: 0.2 } },
  { name: 'missing and mistyped fields', sandbox: { rejects: 0.1 } },
  { name: 'NUL, lone surrogates, emoji, long texts', sandbox: { oddText: 0.2 } },
  {
    name: 'a text of two megabytes',
    sandbox: { entries: 50 },
    passes: ['sweep', 'incremental'],
    between: addMegabytes,
  },
  { name: 'dates in odd formats', sandbox: { oddDates: 0.3 } },
  {
    name: 'dates in odd formats, cursors that expire',
    sandbox: { ...shortLife, oddDates: 0.05, entries: 2_500 },
    window: tight,
  },
  { name: 'no dates at all', sandbox: { nullDates: 1 } },
  { name: 'dates in the future', sandbox: {}, passes: ['sweep', 'incremental'], between: addFuture },
  { name: 'deletions', sandbox: { nullDates: 0.05 }, passes: ['sweep', 'sweep', 'sweep'], between: deleteSome },
  {
    name: 'deletions, dates as days of another zone',
    sandbox: { dateTimes: 'as-dates', dateOffset: '-07:00', dateFrom: 'exclusive', days: 60 },
    passes: ['sweep', 'sweep', 'sweep'],
    between: deleteSome,
  },
  ...(['keyset', 'offset'] as const).map((cursorKind) => ({
    name: `entries added and deleted while one reads, ${cursorKind} cursors, caught by the next readings`,
    sandbox: { cursorKind, faults: { churnAdded: 2, churnDeleted: 3 } },
    passes: ['sweep', 'sweep', 'sweep'] as PassKind[],
    between: ({ sandbox }: ActivityScene) => sandbox.setFaults({ churnAdded: 0, churnDeleted: 0 }),
  })),
];

describe('whatever the service does', () => {
  it.each(cases)(
    '$name',
    async (given) => {
      const { end, found, stored } = await play(given);
      if (given.fails === undefined) {
        expect(end.failure).toBeNull();
        expect(found).toMatchObject({ missing: 0, different: 0, surplus: 0, unrejected: 0 });
      } else {
        expect(end.failure?.type).toBe(given.fails.type);
        expect(end.failure?.message).toMatch(given.fails.names);
        expect(stored).toBeGreaterThanOrEqual(given.fails.storesAtLeast);
        expect(found).toMatchObject({ different: 0, surplus: 0 });
      }
      expect(end.requests).toBeLessThanOrEqual(given.most ?? Number.POSITIVE_INFINITY);
    },
    120_000,
  );
});

/** Closes what was open, opens what was closed, among entries of all ages that have a date; adds some. */
function changeAndAdd({ sandbox }: ActivityScene, pass: number): void {
  if (pass > 1) return;
  const dated = [...sandbox.truth('prj_1')].filter((entry): entry is { id: string; status: string } => isDated(entry));
  const isOpen = ({ status }: { status: string }) => status === 'pending' || status === 'in_progress';
  const closed = dated.filter((entry) => !isOpen(entry)).filter((_, index) => index % 90 === 0);
  const opened = dated.filter(isOpen).filter((_, index) => index % 2 === 0);
  sandbox.changeEntries('prj_1', [
    ...opened.map(({ id }) => ({ id, status: 'resolved' })),
    ...closed.map(({ id }) => ({ id, status: 'pending' })),
  ]);
  sandbox.addEntries('prj_1', { count: 20 });
}

function isDated(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'createdAt' in entry && entry.createdAt !== null;
}

function addMegabytes({ sandbox }: ActivityScene): void {
  sandbox.addEntries('prj_1', { source: 'contextual', fields: { comment: '👩‍💻 ß\u0000\ud83d'.repeat(200_000) } });
}

function addFuture({ sandbox }: ActivityScene): void {
  sandbox.addEntries('prj_1', { createdAt: '2999-01-01T00:00:00.000Z' });
  sandbox.addEntries('prj_1', { count: 3 });
}

/** Before the second pass, of all kinds; those without a date show only in two sweeps. */
function deleteSome({ sandbox }: ActivityScene, pass: number): void {
  if (pass > 1) return;
  const all = [...sandbox.truth('prj_1')].map((entry) => (entry as { id: string }).id);
  const undated = [...sandbox.truth('prj_1')].filter((entry) => !isDated(entry)).slice(0, 5);
  const chosen = [
    ...all.filter((_, index) => index % 400 === 3),
    ...undated.map((entry) => (entry as { id: string }).id),
  ];
  sandbox.deleteEntries('prj_1', [...new Set(chosen)]);
}
