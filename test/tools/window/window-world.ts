import assert from 'node:assert/strict';
import { ask, bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import type { LeaseReport, PermitAsk, WindowSettings } from '../../../src/budget/rules/permits.ts';
import { advance, report } from '../../../src/budget/rules/window.ts';
import { blockedBy, emptyWindow, type WindowState } from '../../../src/budget/rules/window-state.ts';
import { frozen, type Granted, granted, question } from './window-support.ts';

/** A request that a permit allowed, as the service sees it, with what was in force when the permit was granted. */
interface Sent {
  arrival: number;
  limit: number;
  windowMs: number;
}

/** How a worker uses its lease. */
interface Conduct {
  /** Permits it uses at most. */
  uses: number;
  /** Time between two requests. */
  pace: number;
  /** Time from the last check to the arrival. */
  flight: number;
  /** How long its report is under way. */
  delay: number;
  fate: 'reports' | 'reports twice' | 'dies' | 'throttled' | 'unauthorized' | 'unanswered';
  retryAfterMs: number | null;
}

const prompt: Conduct = { uses: 20, pace: 0, flight: 50, delay: 0, fate: 'reports', retryAfterMs: null };

/**
 * Workers and a service around a window: keeps its own book of what was sent under which limit and of who probes, and
 * checks each answer against it.
 */
export class World {
  state: WindowState;
  now: number;
  readonly sent: Sent[] = [];
  #mostOccupied = 0;
  #late: { at: number; result: LeaseReport }[] = [];
  /** After a refusal: whether one request is due to go first, or which lease is it. */
  #probe: 'due' | { id: string; useBy: number } | null = null;

  constructor(settings: WindowSettings, now: number) {
    this.state = emptyWindow(settings, now);
    this.now = now;
  }

  /** As set by hand or configured; other clients only lower it. */
  get limit(): number {
    const { override, settings } = advance(this.state, this.now);
    return Math.max(1, (override?.requests ?? settings.requests) - (override?.reserve ?? settings.reserve));
  }

  pass(ms: number): void {
    this.now += ms;
    const due = this.#late.filter(({ at }) => at <= this.now);
    this.#late = this.#late.filter(({ at }) => at > this.now);
    for (const { result } of due) this.deliver(result);
  }

  /** Takes over what the model makes of the state, which must be plain and must not have been touched. */
  apply(change: (state: WindowState, at: number) => WindowState): void {
    const before = frozen(this.state);
    const after = change(before, this.now);
    assert.ok(after.now >= before.now, 'time ran backwards');
    assert.deepEqual(JSON.parse(JSON.stringify(after)), after);
    this.state = after;
  }

  ask(asker: PermitAsk, repeats = false): Granted | null {
    const mine = question(asker.holder, asker);
    const before = advance(this.state, this.now);
    const blocked = blockedBy(before, mine);
    let answer = ask(before, mine, this.now)[1];
    this.apply((state, at) => {
      const [next, given] = ask(state, mine, at);
      answer = given;
      return next;
    });
    if (repeats) {
      const [again, second] = ask(frozen(this.state), mine, this.now);
      if (answer.kind === 'granted') {
        assert.deepEqual(second, answer);
        assert.deepEqual(again, this.state);
      }
    }
    if (answer.kind === 'wait') assert.ok(answer.waitUntil > this.now, 'told to come back at once');
    if (answer.kind !== 'granted') return null;
    assert.equal(blocked, null);
    const lease = granted(answer);
    this.#checkProbe(lease);
    return lease;
  }

  /**
   * Wakes waiters and has them ask at once: no waiter is woken for nothing again and again, and the next look is in the
   * future.
   */
  wake(): void {
    const woken = this.#lookAtWaiters();
    assert.deepEqual(this.#lookAtWaiters(), [], 'woken although expected now');
    for (const holder of woken) {
      const waiter = this.state.waiters.find((other) => other.holder === holder);
      if (!waiter) continue;
      const lease = this.ask(question(holder, { ...waiter, attemptAt: this.now, remaining: waiter.remaining ?? 0 }));
      if (lease) this.use(lease, prompt);
      else assert.ok(!this.#lookAtWaiters().includes(holder), 'woken, refused and woken again at the same moment');
    }
  }

  #lookAtWaiters(): string[] {
    let woken: string[] = [];
    this.apply((state, at) => {
      const { holders, due, state: next } = bringWaitersForward(state, at);
      assert.ok(due === null || due > next.now, 'looks again at once');
      woken = holders;
      return next;
    });
    return woken;
  }

  /** Uses a lease, and has it reported some time. */
  use(lease: Granted, { uses, pace, flight, delay, fate, retryAfterMs }: Conduct): void {
    const { limit } = this;
    const { windowMs } = this.state.settings;
    const arrived: number[] = [];
    let clock = this.now;
    for (const notBefore of lease.notBefore.slice(0, uses)) {
      clock = Math.max(clock + pace, notBefore);
      if (clock >= lease.useBy) break;
      const answered = fate !== 'dies' && fate !== 'unanswered';
      const arrival = clock + Math.min(flight, answered ? 1_000 : lease.arrivalMs);
      this.sent.push({ arrival, limit, windowMs });
      if (answered) clock = arrival;
      arrived.push(answered ? arrival : clock + lease.arrivalMs);
    }
    if (fate === 'dies') return;
    const result: LeaseReport = {
      leaseId: lease.leaseId,
      arrived,
      accepted: arrived.length > 0 && (fate === 'reports' || fate === 'reports twice'),
      ...(fate === 'throttled' && arrived.length > 0 ? { throttled: { retryAfterMs } } : {}),
      ...(fate === 'unauthorized' && arrived.length > 0 ? { unauthorized: true } : {}),
    };
    this.#late.push({ at: clock + delay, result });
    if (fate === 'reports twice') this.#late.push({ at: clock + 2 * delay + 1, result });
  }

  deliver(result: LeaseReport): void {
    this.#lapseProbe();
    this.apply((state, at) => report(state, result, at));
    const probing = this.#probe !== null && this.#probe !== 'due' && this.#probe.id === result.leaseId;
    if (result.throttled || result.unauthorized) this.#probe = 'due';
    else if (probing) this.#probe = result.accepted ? null : 'due';
  }

  /** B1: of the permits granted up to any one, no interval of the window's length with it has more than its limit. */
  checkNeverOver(): void {
    for (const [last, { arrival, limit, windowMs }] of this.sent.entries()) {
      const near = this.sent
        .slice(0, last + 1)
        .map((other) => other.arrival)
        .filter((moment) => Math.abs(moment - arrival) < windowMs)
        .sort((a, b) => a - b);
      let from = 0;
      for (const [to, moment] of near.entries()) {
        while (moment - (near[from] ?? moment) >= windowMs) from += 1;
        assert.ok(to - from + 1 <= limit, `${to - from + 1} requests within a window, ${limit} allowed`);
      }
    }
  }

  /**
   * The state holds no more slots than were ever allowed at once, and those that follow on others within the horizon;
   * it knows few that are gone.
   */
  checkSmall(holders: number, turns: number): void {
    this.#mostOccupied = Math.max(this.#mostOccupied, this.limit);
    const { spent, leases, waiters, attempts, served } = this.state;
    const slots = spent.length + leases.reduce((sum, { notBefore }) => sum + notBefore.length, 0);
    assert.ok(slots <= 2 * this.#mostOccupied, `${slots} slots`);
    assert.ok(waiters.length <= holders);
    assert.equal(new Set(waiters.map(({ holder }) => holder)).size, waiters.length);
    assert.ok(attempts.length <= holders);
    assert.ok(served.length <= turns);
    assert.ok(this.state.returned.length <= 20);
  }

  #lapseProbe(): void {
    if (this.#probe !== null && this.#probe !== 'due' && this.#probe.useBy <= this.now) this.#probe = 'due';
  }

  #checkProbe(lease: Granted): void {
    this.#lapseProbe();
    if (this.#probe === null) return;
    assert.equal(this.#probe, 'due', 'two requests probe');
    assert.equal(lease.notBefore.length, 1);
    this.#probe = { id: lease.leaseId, useBy: lease.useBy };
  }
}
