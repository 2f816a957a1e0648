import { setTimeout as sleep } from 'node:timers/promises';
import type { PermitSource } from '../../../src/budget/lease.ts';
import { ask, bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import type { LeaseReport, PermitAnswer, PermitAsk, WindowSettings } from '../../../src/budget/rules/permits.ts';
import { report } from '../../../src/budget/rules/window.ts';
import { emptyWindow, type WindowState } from '../../../src/budget/rules/window-state.ts';

/** A budget without Temporal, by this machine's clock. */
export class BudgetInMemory implements PermitSource {
  state: WindowState;
  /** All that came, in order. */
  readonly questions: PermitAsk[] = [];
  readonly reports: LeaseReport[] = [];
  /** The most questions that were open at the same time. */
  mostAtOnce = 0;
  #open = 0;
  /** How long it takes to answer. */
  answerMs = 0;
  /** Set to make it unreachable. */
  isDown = false;

  constructor(settings: Partial<WindowSettings> = {}) {
    this.state = emptyWindow({ requests: 10, reserve: 0, windowMs: 60_000, arrivalMs: 5_000, ...settings }, Date.now());
  }

  async ask(_org: string, question: PermitAsk): Promise<PermitAnswer> {
    this.questions.push(question);
    this.#open += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#open);
    await sleep(this.answerMs);
    this.#open -= 1;
    if (this.isDown) throw new Error('unreachable');
    const [state, answer] = ask(this.state, question, Date.now());
    this.#take(state);
    return answer;
  }

  async report(_org: string, result: LeaseReport): Promise<void> {
    this.reports.push(result);
    this.#take(report(this.state, result, Date.now()));
  }

  #take(state: WindowState): void {
    this.state = bringWaitersForward(state, Date.now()).state;
  }
}
