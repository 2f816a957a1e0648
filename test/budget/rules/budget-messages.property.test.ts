import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packed } from '../../../src/budget/rules/carry-window.ts';
import { ask, bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import {
  overrideProblem,
  readOverride,
  readPause,
  readQuestion,
  readReport,
  readSettings,
  readViewMoment,
} from '../../../src/budget/rules/permits.ts';
import { configure, ignore, report, setOverride, setPause } from '../../../src/budget/rules/window.ts';
import { emptyWindow, readBudgetInput, type WindowState } from '../../../src/budget/rules/window-state.ts';
import { describeWindow, viewOf } from '../../../src/budget/rules/window-view.ts';
import { Misshapen, type Reader } from '../../../src/rules/messages.ts';
import { propertyRuns } from '../../tools/property-runs.ts';
import { granted, question, Scene, settings } from '../../tools/window/window-support.ts';

const t0 = Date.UTC(2026, 10, 22);

type Handler = (state: WindowState, input: unknown, at: number) => WindowState;

/** As the workflow hands them to the model; each throws `Misshapen` for what it refuses. */
const handlers = {
  ask: (state, input, at) => ask(state, readQuestion(input), at)[0],
  report: (state, input, at) => report(state, readReport(input), at),
  configure: (state, input, at) => configure(state, readSettings(input), at),
  override: (state, input, at) => {
    const asked = readOverride(input);
    if (asked && overrideProblem(state.settings, asked) !== null) throw new Misshapen('refused');
    const until = asked?.forMs === null || asked === null ? null : at + asked.forMs;
    return setOverride(state, asked && { ...asked, until }, at);
  },
  pause: (state, input, at) => {
    const asked = readPause(input);
    return setPause(state, asked && { until: asked.forMs === null ? null : at + asked.forMs }, at);
  },
} satisfies Record<string, Handler>;

const sound: Record<keyof typeof handlers, object> = {
  ask: { ...question('sync:a'), remaining: 5, mayWait: true, leave: 1 },
  report: { leaseId: 'known', arrived: [t0], accepted: true, throttled: { retryAfterMs: 1 }, unauthorized: false },
  configure: settings,
  override: { requests: 5, reserve: 1, forMs: 1_000 },
  pause: { forMs: 1_000 },
};

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(undefined, null, -1, 0, 1e300, 0.5, '', '\ud800', '\u0000', '__proto__', 'x'.repeat(2_000)),
);

/** Arbitrary JSON, or a sound message of which some fields are arbitrary, missing, or too many. */
const message = fc.constantFrom(...(Object.keys(handlers) as (keyof typeof handlers)[])).chain((kind) => {
  const spoilt = fc
    .dictionary(fc.constantFrom(...Object.keys(sound[kind]), 'more'), odd, { maxKeys: 3 })
    .map((fields): unknown => ({ ...sound[kind], ...fields }));
  return fc.record({ kind: fc.constant(kind), input: fc.oneof(odd, spoilt, spoilt), after: fc.nat(100_000) });
});

/** What the workflow does with a window after every message. */
function look(state: WindowState, at: number): void {
  const { state: next, due } = bringWaitersForward(state, at);
  assert.ok(due === null || Number.isFinite(due));
  const view = viewOf(next, at);
  for (const count of [view.limit, view.reserve, view.used, view.available]) assert.ok(Number.isInteger(count));
  assert.equal(typeof describeWindow('acme', view, at), 'string');
  // Plain JSON: NaN would come back as null.
  assert.deepEqual(JSON.parse(JSON.stringify(next)), next);
}

describe('messages to a budget of any shape (X5)', () => {
  it('leave a window that counts, shows itself and can be carried on', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        let state = emptyWindow(settings, t0);
        let at = t0;
        for (const { kind, input, after } of messages) {
          at += after;
          try {
            state = handlers[kind](state, input, at);
          } catch (error) {
            assert.ok(error instanceof Misshapen, `${kind}: ${error}`);
            assert.match(error.message, /^(the input|[\w.[\]]+): expected|^refused$/);
          }
          look(state, at);
        }
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('are refused with the field that is wrong', () => {
    const problem = (reader: Reader<unknown>, input: unknown) => {
      expect(() => reader(input)).toThrow(Misshapen);
      try {
        reader(input);
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
      return '';
    };
    expect(problem(readSettings, { requests: 50 })).toBe('reserve: expected a whole number from 0 to 10000');
    expect(problem(readReport, undefined)).toBe('leaseId: expected a text of 1 to 300 characters');
    expect(problem(readReport, { leaseId: 'q', arrived: [1, null] })).toMatch(/^arrived\[1\]: expected a number/);
    expect(problem(readReport, { leaseId: 'q', arrived: [], throttled: {} })).toMatch(/^throttled\.retryAfterMs: /);
    expect(problem(readQuestion, { ...question('a'), class: 'urgent' })).toMatch(/^class: expected one of on-demand/);
    // The server refuses a workflow's task that signals a waiter without an id.
    expect(problem(readQuestion, question(''))).toMatch(/^holder: /);
    expect(problem(readPause, {})).toMatch(/^forMs: /);
    expect(problem(readPause, 'soon')).toBe('the input: expected an object');
    expect(problem(readBudgetInput, undefined)).toMatch(/^org: /);
    const carried = packed(emptyWindow(settings, t0));
    const spoiltLedgers = [
      1,
      { ...carried, spent: ['x'] },
      { ...carried, leases: [null] },
      { ...carried, lapsed: [['id']] },
      { ...carried, rows: [null] },
      { ...carried, programs: { a: {} } },
      { ...carried, keyChecks: null },
      { ...carried, now: null },
    ];
    for (const spoilt of spoiltLedgers) {
      expect(problem(readBudgetInput, { org: 'acme', settings, carried: spoilt })).toMatch(/^carried: /);
    }
    // One of an older version, which knew no programs.
    const { programs: _, ...older } = carried;
    expect(readBudgetInput({ org: 'acme', settings, carried: older }).carried).toEqual(older);
  });

  it('keep what they know of fields that only a newer client has', () => {
    expect(readSettings({ ...settings, more: 1 })).toEqual(settings);
    expect(readViewMoment({ at: 5 })).toBe(5);
    for (const input of [undefined, null, 'now', { at: 'now' }]) expect(readViewMoment(input)).toBeNull();
  });

  it('hold 0 where JSON holds −0: the next run would read 0', () => {
    const { remaining, attemptAt } = readQuestion({ ...sound.ask, remaining: -0, attemptAt: -0 });
    expect([remaining, attemptAt, readSettings({ ...settings, reserve: -0 }).reserve]).toEqual([0, 0, 0]);
  });

  it('never shut out later attempts by claiming to be from the future', () => {
    const scene = new Scene();
    scene.granted('sync:a', { attemptAt: 4e12, wants: 1 });
    expect(scene.at(1_000).granted('sync:a', { attemptAt: scene.now, wants: 1 }).kind).toBe('granted');
  });

  it('are counted when they are ignored', () => {
    const state = ignore(ignore(emptyWindow(settings, t0), t0), t0);
    expect(viewOf(state, t0).ignored).toBe(2);
    expect(describeWindow('acme', viewOf(state, t0), t0)).toContain('2 signals that made no sense');
    expect(granted(ask(state, question('a'), t0)[1]).notBefore).toHaveLength(5);
  });
});
