import { packed } from '../../src/budget/rules/carry-window.ts';
import { ask, bringWaitersForward } from '../../src/budget/rules/grant-or-wait.ts';
import type { PermitAsk, WindowSettings } from '../../src/budget/rules/permits.ts';
import { configure, report } from '../../src/budget/rules/window.ts';
import { emptyWindow, type WindowState } from '../../src/budget/rules/window-state.ts';

export const windowMs = 3_600_000;

export const settingsOf = (slots: number): WindowSettings => ({
  requests: slots,
  reserve: 0,
  windowMs,
  arrivalMs: 30_000,
});

let asked = 0;
export function questionOf(holder: string, more: Partial<PermitAsk> = {}): PermitAsk {
  asked += 1;
  const id = `00000000-0000-4000-8000-${String(asked).padStart(12, '0')}`;
  const project = `prj_${holder}`;
  return { id, holder, project, class: 'refresh', wants: 20, remaining: 40, attemptAt: 1, ...more };
}

/** A full window of so many slots, used one after the other, and so many passes that wait for them. */
export function busyWindow(waiters: number, slots: number, now: number): WindowState {
  const start = now - windowMs / 2;
  let state = emptyWindow(settingsOf(slots), start);
  for (let used = 0; used < slots; ) {
    const at = start + Math.floor((used * windowMs) / 2 / slots);
    const question = questionOf(`sync:acme:reader_${used}:sweep`, { wants: Math.min(10, slots - used) });
    const [next, answer] = ask(state, question, at);
    if (answer.kind !== 'granted') throw new Error('the window is full too early');
    const arrived = answer.notBefore.map(() => at);
    state = report(next, { leaseId: question.id, arrived, accepted: true }, at);
    used += arrived.length;
  }
  for (let i = 0; i < waiters; i += 1) state = ask(state, questionOf(holderOf(i)), now)[0];
  return bringWaitersForward(state, now).state;
}

export const holderOf = (i: number): string => `sync:acme:project_${i}:sweep`;

export interface ModelCost {
  waiters: number;
  slots: number;
  /** Milliseconds of one message of each kind with what the workflow does after it: the median. */
  ask: number;
  report: number;
  config: number;
  wake: number;
  /** Bytes of the state as a run hands it to the next. */
  bytes: number;
}

/** Times messages to the pure model. */
export function modelCost(waiters: number, slots: number): ModelCost {
  const now = Date.UTC(2026, 10, 22);
  const state = busyWindow(waiters, slots, now);
  const settle = (next: WindowState) => bringWaitersForward(next, now + 1_000);
  const held = ask({ ...state, settings: settingsOf(slots + 10) }, questionOf('sync:acme:held:sweep'), now);
  const [holding, lease] = held;
  const leaseId = lease.kind === 'granted' ? lease.leaseId : 'none';
  let turn = 0;
  const someone = () => holderOf((turn++ * 7) % Math.max(1, waiters));
  return {
    waiters,
    slots,
    ask: median(() => settle(ask(state, questionOf(someone()), now + 1_000)[0])),
    report: median(() => settle(report(holding, { leaseId, arrived: [now + 500], accepted: true }, now + 1_000))),
    config: median(() => settle(configure(state, settingsOf(slots), now + 1_000))),
    wake: median(() => settle({ ...state, settings: settingsOf(slots + 1) })),
    bytes: Buffer.byteLength(JSON.stringify(packed(state))),
  };
}

/** The median time of a call in milliseconds, once it is compiled. */
function median(call: () => unknown): number {
  const times: number[] = [];
  const until = performance.now() + 600;
  const warm = performance.now() + 200;
  while (performance.now() < until || times.length < 20) {
    const since = performance.now();
    call();
    if (since > warm) times.push(performance.now() - since);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
