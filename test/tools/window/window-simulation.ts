import { SlidingWindow } from '../../../sandbox/sliding-log.ts';
import { ask, bringWaitersForward } from '../../../src/budget/rules/grant-or-wait.ts';
import type { LeaseReport, PermitAsk } from '../../../src/budget/rules/permits.ts';
import { report } from '../../../src/budget/rules/window.ts';
import type { WindowState } from '../../../src/budget/rules/window-state.ts';
import { type Granted, question } from './window-support.ts';

/** A reader of pages: asks, uses the lease, reports and asks again. */
export interface Reader extends Pick<PermitAsk, 'holder' | 'project' | 'class' | 'wants'> {
  startsAt: number;
  /** Without end if absent. */
  pages?: number;
  /** Time from one request to the next; a request arrives half way. */
  pace: number;
  /** Rest after a lease. */
  rest: number;
}

/** The service and the other clients it counts. */
interface Service {
  limit: number;
  windowMs: number;
  /** Other clients send one request each time this passes; null when there are none. */
  othersEvery: number | null;
  saysRetryAfter: boolean;
  countsRefused: boolean;
}

/** What happened, in milliseconds of the simulation. */
interface Happened {
  grants: { holder: string; at: number; permits: number }[];
  accepted: number[];
  refused: number[];
  /** Refused requests of other clients. */
  displaced: number[];
}

interface Course {
  until: number;
  wakes: boolean;
  /** Looks at the window right after a lease was granted. */
  afterGrant?: (state: WindowState, holder: string) => void;
}

/** Plays readers against a window and a service for a while; `wakes`: as the budget's workflow does. */
export function simulate(
  start: WindowState,
  readers: readonly Reader[],
  service: Service,
  { until, wakes, afterGrant }: Course,
): Happened {
  const happened: Happened = { grants: [], accepted: [], refused: [], displaced: [] };
  const log = new SlidingWindow(service.limit, service.windowMs);
  const events: { at: number; run: () => void }[] = [];
  let state = start;
  let now = start.now;
  const schedule = (at: number, run: () => void) => {
    const later = events.findIndex((event) => event.at > at);
    events.splice(later < 0 ? events.length : later, 0, { at, run });
  };

  const receive = (): { retryAfterMs: number | null } | null => {
    const room = log.hasRoom(now);
    const retryAfterMs = service.saysRetryAfter ? Math.ceil(log.untilNextFree(now) / 1_000) * 1_000 : null;
    if (room || service.countsRefused) log.count(now);
    return room ? null : { retryAfterMs };
  };

  /** The number of the question each waiting reader asks next: one that was woken does not come again when told. */
  const turns = new Map<string, number>();
  const come = (reader: Reader, at: number) => {
    const turn = (turns.get(reader.holder) ?? 0) + 1;
    turns.set(reader.holder, turn);
    schedule(at, () => {
      if (turns.get(reader.holder) === turn) asks(reader);
    });
  };
  const wake = () => {
    if (!wakes) return;
    const earlier = bringWaitersForward(state, now);
    state = earlier.state;
    for (const reader of readers.filter(({ holder }) => earlier.holders.includes(holder))) come(reader, now);
    lookAgainAt(earlier.due);
  };
  let looksAt = Number.POSITIVE_INFINITY;
  const lookAgainAt = (due: number | null) => {
    if (due === null || due >= looksAt) return;
    looksAt = Math.max(due, now + 1);
    schedule(looksAt, () => {
      looksAt = Number.POSITIVE_INFINITY;
      wake();
    });
  };
  const left = new Map(readers.map(({ holder, pages }) => [holder, pages ?? Number.POSITIVE_INFINITY]));
  const asks = (reader: Reader) => {
    const wants = Math.min(reader.wants, left.get(reader.holder) ?? 0);
    const [next, answer] = ask(state, question(reader.holder, { ...reader, wants, attemptAt: now }), now);
    state = next;
    if (answer.kind === 'granted') afterGrant?.(state, reader.holder);
    if (answer.kind === 'wait') come(reader, answer.waitUntil);
    // A turn that moved may let another waiter go earlier.
    wake();
    if (answer.kind !== 'granted') return;
    happened.grants.push({ holder: reader.holder, at: now, permits: answer.notBefore.length });
    reads(reader, answer, []);
  };
  const reads = (reader: Reader, lease: Granted, arrived: number[]) => {
    const moment = lease.notBefore[arrived.length];
    const sendAt = Math.max(now, moment ?? now);
    if (moment === undefined || sendAt >= lease.useBy) return settles(reader, { leaseId: lease.leaseId, arrived });
    schedule(sendAt + reader.pace / 2, () => {
      const refusal = receive();
      (refusal ? happened.refused : happened.accepted).push(now);
      schedule(now + reader.pace / 2, () => {
        const all = [...arrived, now];
        if (refusal) settles(reader, { leaseId: lease.leaseId, arrived: all, throttled: refusal });
        else reads(reader, lease, all);
      });
    });
  };
  const settles = (reader: Reader, result: LeaseReport) => {
    state = report(state, { accepted: !result.throttled, ...result }, now);
    wake();
    const still = (left.get(reader.holder) ?? 0) - result.arrived.length;
    left.set(reader.holder, still);
    if (still > 0) come(reader, now + reader.rest);
  };

  for (const reader of readers) come(reader, reader.startsAt);
  const { othersEvery } = service;
  if (othersEvery !== null) {
    const otherClient = () => {
      if (receive()) happened.displaced.push(now);
      schedule(now + othersEvery, otherClient);
    };
    schedule(now, otherClient);
  }
  for (let event = events.shift(); event !== undefined && event.at <= until; event = events.shift()) {
    now = event.at;
    event.run();
  }
  return happened;
}
