import { ask, bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import type {
  LeaseReport,
  PermitAnswer,
  PermitAsk,
  PermitWait,
  WindowSettings,
} from '../../../src/budget/rules/permits.ts';
import { report } from '../../../src/budget/rules/window.ts';
import { emptyWindow, type WindowState } from '../../../src/budget/rules/window-state.ts';

/** Ten requests a minute: small enough to count by hand. */
export const settings: WindowSettings = { requests: 10, reserve: 0, windowMs: 60_000, arrivalMs: 30_000 };
export const t0 = 1_000_000;
/** How much longer than the window a slot of `settings` stays occupied. */
const slackMs = 20;
export const occupancyMs = settings.windowMs + slackMs;

export type Granted = PermitAnswer & { kind: 'granted' };

let asked = 0;
/** A sweep of the holder's own project, unless told otherwise. */
export function question(holder: string, more: Partial<PermitAsk> = {}): PermitAsk {
  asked += 1;
  return { id: `ask-${asked}`, holder, project: `prj_${holder}`, class: 'refresh', wants: 20, attemptAt: 1, ...more };
}

export function granted(answer: PermitAnswer): Granted {
  if (answer.kind !== 'granted') throw new Error(`not granted but ${JSON.stringify(answer)}`);
  return answer;
}

export function waits(answer: PermitAnswer): PermitWait {
  if (answer.kind !== 'wait') throw new Error(`no wait but ${answer.kind}`);
  return answer;
}

/** A window that is told what happens, one thing after the other. */
export class Scene {
  state: WindowState;
  now: number;

  constructor(more: Partial<WindowSettings> = {}, now = t0) {
    this.state = emptyWindow({ ...settings, ...more }, now);
    this.now = now;
  }

  /** Sets the clock, in milliseconds after `t0`. */
  at(offset: number): this {
    this.now = t0 + offset;
    return this;
  }

  /** Takes over what a function of the model returns for now. */
  apply(change: (state: WindowState, at: number) => WindowState): this {
    this.state = change(this.state, this.now);
    return this;
  }

  ask(holder: string, more: Partial<PermitAsk> = {}): PermitAnswer {
    const [next, answer] = ask(this.state, question(holder, more), this.now);
    this.state = next;
    return answer;
  }

  granted(holder: string, more: Partial<PermitAsk> = {}): Granted {
    return granted(this.ask(holder, more));
  }

  waits(holder: string, more: Partial<PermitAsk> = {}): PermitWait {
    return waits(this.ask(holder, more));
  }

  report(lease: Granted, arrived: number[], more: Partial<LeaseReport> = {}): this {
    return this.apply((state, at) => report(state, { leaseId: lease.leaseId, arrived, ...more }, at));
  }

  /** Spends `count` slots now, one by one, by a holder that is gone afterwards. */
  spend(count: number, holder = 'spender'): this {
    for (let i = 0; i < count; i += 1) {
      this.report(this.granted(holder, { wants: 1 }), [this.now], { accepted: true });
    }
    return this;
  }
}

/** When the window is looked at again if no message comes. */
export const nextChange = (state: WindowState): number | null => bringWaitersForward(state, state.now).due;

/** Freezes a value throughout, so that changing it throws. */
export function frozen<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}
