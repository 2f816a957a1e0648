import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { packed, unpacked } from '../../../src/budget/rules/carry-window.ts';
import { bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import { type PermitAsk, permitClasses } from '../../../src/budget/rules/permits.ts';
import {
  advance,
  capacityOf,
  configure,
  latestReleases,
  retryKey,
  setOverride,
  setPause,
} from '../../../src/budget/rules/window.ts';
import {
  blockedBy,
  placeOf,
  readBudgetInput,
  rulesOf,
  turnOf,
  type WindowState,
} from '../../../src/budget/rules/window-state.ts';
import { viewOf } from '../../../src/budget/rules/window-view.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { question, settings, t0 } from '../../tools/window/window-support.ts';
import { World } from '../../tools/window/window-world.ts';

const numRuns = propertyRuns(1_000);

const holders = ['a', 'b', 'c', 'd', 'e'] as const;
const projects = ['p', 'q', 'r'] as const;
const often = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 5_000 }));
const span = fc.oneof(often, fc.integer({ min: 0, max: 40_000 }));

const asking = fc.record({
  kind: fc.constant('ask' as const),
  after: span,
  holder: fc.constantFrom(...holders),
  project: fc.constantFrom(...projects),
  class: fc.constantFrom(...permitClasses),
  wants: fc.integer({ min: -1, max: 25 }),
  remaining: fc.option(fc.integer({ min: 0, max: 300 })),
  older: fc.boolean(),
  mayWait: fc.boolean(),
  repeats: fc.boolean(),
  uses: fc.integer({ min: 0, max: 20 }),
  pace: often,
  flight: fc.integer({ min: 0, max: 45_000 }),
  delay: span,
  fate: fc.constantFrom(
    'reports',
    'reports',
    'reports',
    'reports twice',
    'dies',
    'throttled',
    'unauthorized',
    'unanswered',
  ),
  retryAfterMs: fc.option(fc.integer({ min: -10, max: 100_000 })),
});
const until = fc.option(fc.integer({ min: -1_000, max: 200_000 }));
const other = fc.oneof(
  fc.record({
    kind: fc.constant('configure' as const),
    after: span,
    requests: fc.integer({ min: 1, max: 12 }),
    reserve: fc.constantFrom(0, 0, 1, 5),
    windowMs: fc.constantFrom(10_000, 60_000, 90_000),
    arrivalMs: fc.constantFrom(5_000, 30_000, 45_000),
  }),
  fc.record({
    kind: fc.constant('override' as const),
    after: span,
    requests: fc.option(fc.integer({ min: 1, max: 12 })),
    reserve: fc.option(fc.integer({ min: 0, max: 3 })),
    until,
  }),
  fc.record({ kind: fc.constant('pause' as const), after: span, until }),
  fc.record({ kind: fc.constantFrom('resume' as const, 'reset' as const, 'retry key' as const), after: span }),
  fc.record({
    kind: fc.constantFrom('continue as new' as const, 'wake' as const, 'look' as const, 'late clock' as const),
    after: span,
  }),
);
const steps = fc.array(fc.oneof({ arbitrary: asking, weight: 5 }, { arbitrary: other, weight: 1 }), {
  minLength: 1,
  maxLength: 60,
});
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never;
type Asking = Step & { kind: 'ask' };

const permitAsk = (step: Asking, now: number): PermitAsk =>
  question(step.holder, {
    project: step.project,
    class: step.class,
    wants: step.wants,
    attemptAt: step.older ? now - 1_000 : now,
    mayWait: step.mayWait,
    ...(step.remaining === null ? {} : { remaining: step.remaining }),
  });

/** As the next run reads it from its input, which refuses what it does not know as a ledger. */
function carriedOn(state: WindowState): WindowState {
  const carried = JSON.parse(JSON.stringify(packed(state)));
  const input = readBudgetInput({ org: 'acme', settings: state.settings, carried });
  if (!input.carried) throw new Error('nothing was carried');
  return unpacked(input.carried);
}

function take(world: World, step: Step): void {
  world.pass(step.after);
  const at = world.now;
  if (step.kind === 'ask') {
    const lease = world.ask(permitAsk(step, at), step.repeats);
    if (lease) world.use(lease, step);
  } else if (step.kind === 'configure') {
    const { requests, reserve, windowMs, arrivalMs } = step;
    world.apply((state) => configure(state, { requests, reserve, windowMs, arrivalMs }, at));
  } else if (step.kind === 'override') {
    const limits = {
      ...(step.requests === null ? {} : { requests: step.requests }),
      ...(step.reserve === null ? {} : { reserve: step.reserve }),
    };
    world.apply((state) => setOverride(state, { ...limits, until: step.until === null ? null : at + step.until }, at));
  } else if (step.kind === 'pause') {
    world.apply((state) => setPause(state, { until: step.until === null ? null : at + step.until }, at));
  } else if (step.kind === 'resume') world.apply((state) => setPause(state, null, at));
  else if (step.kind === 'reset') world.apply((state) => setOverride(state, null, at));
  else if (step.kind === 'retry key') world.apply((state) => retryKey(state, at));
  else if (step.kind === 'continue as new') world.state = carriedOn(world.state);
  else if (step.kind === 'wake') world.wake();
  else if (step.kind === 'late clock') world.apply((state) => advance(state, state.now - 10_000));
  else {
    viewOf(world.state, at);
    bringWaitersForward(world.state, at);
  }
}

/** Slots occupied now or, for permits granted for later, soon: until then they occupy one more. */
function mostHeld(state: WindowState, used: number): number {
  const later = state.leases.flatMap(({ notBefore }) => notBefore).filter((moment) => moment > state.now);
  return Math.max(used, ...later.map((moment) => latestReleases(state).filter((until) => until > moment).length));
}

describe('whatever askers, workers, operators and messages do, the window', () => {
  it('never lets more requests arrive in any window than the limit under which the last was granted (B1)', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 12 }), (taken, requests) => {
        const world = new World({ ...settings, requests }, t0);
        for (const step of taken) {
          take(world, step);
          world.checkSmall(holders.length, projects.length * permitClasses.length);
        }
        world.checkNeverOver();
      }),
      { numRuns },
    );
  });

  it('grants when a slot is free, no claim is ahead and nothing blocks (B2)', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 12 }), (taken, requests) => {
        const world = new World({ ...settings, requests }, t0);
        for (const step of taken) {
          if (step.kind !== 'ask') {
            take(world, step);
            continue;
          }
          world.pass(step.after);
          const before = advance(world.state, world.now);
          const mine = permitAsk({ ...step, older: false }, world.now);
          const since = before.waiters.find(({ holder }) => holder === mine.holder)?.since ?? before.now;
          const servedAt = before.served.find(({ turn }) => turn === turnOf(mine))?.at ?? null;
          const inFront = placeOf({ ...mine, since, servedAt }, before.waiters, rulesOf(before)).ahead;
          const alone = before.waiters.length + before.leases.length === 0;
          const { available, used } = viewOf(before, world.now);
          const due = before.probe !== null;
          const mayGo = blockedBy(before, mine) === null;
          const lease = world.ask(mine);
          if (mayGo && mostHeld(before, used) < capacityOf(before) && inFront === 0) assert.ok(lease, 'not granted');
          if (mayGo && alone && !due && available > 0) {
            const share = Math.max(1, Math.ceil(capacityOf(before) / 2));
            const most = Math.min(Math.max(1, step.wants), 10, share);
            assert.ok(lease && lease.notBefore.length >= Math.min(most, available), 'granted too few');
          }
          if (lease) world.use(lease, step);
        }
      }),
      { numRuns },
    );
  });
});
