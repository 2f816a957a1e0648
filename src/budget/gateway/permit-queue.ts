import { askForLease, Lease, type PermitSource, type Refusal } from '../lease.ts';
import { maxLease, type PermitClass, type PermitWait, type WaitReason } from '../rules/permits.ts';

/** A program that sends its requests through the gateway. */
export interface GatewayClient {
  /** Unique; the name under which the budget shows it. */
  name: string;
  org: string;
  class: PermitClass;
  /** The largest part of a window's limit that it may hold, in per cent; null for no limit of its own. */
  share: number | null;
}

/** The right to send one request, of a lease that several requests use at the same time. */
export interface HeldPermit {
  lease: Lease;
  /** Its place in the lease, counted from 0. */
  place: number;
  /** To be called once: when the request was answered, perhaps with a refusal, failed, or was not sent. */
  close(refusal?: Refusal): void;
}

/** The budget's last answer to a client; moments of this process's monotonic clock. */
export interface LastWait {
  freeAt: number;
  /** `no-answer`: the budget could not be asked. */
  reason: WaitReason | 'no-answer';
}

interface Waiting {
  client: GatewayClient;
  serve(permit: HeldPermit | null): void;
}

/**
 * A client that was told to wait for longer asks again after this time: requests may come free earlier, and the budget
 * cannot wake a program. A client that asks this often keeps its place in the queue (`placeKeptMs`).
 */
const askAgainMs = 3_000;
const retryMs = 1_000;

/**
 * The requests of an organization's clients, oldest first, with one question to the budget at a time: a budget takes
 * ten. A question covers all waiting requests of one client. A client that was told to wait does not hold up the
 * others.
 */
export class PermitQueue {
  readonly #permits: PermitSource;
  readonly #org: string;
  readonly #warn: (error: unknown) => void;
  #waiting: Waiting[] = [];
  /** By client; `askAt` is when to ask again. */
  readonly #told = new Map<GatewayClient, LastWait & { askAt: number }>();
  readonly #reports = new Set<Promise<void>>();
  #asking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param warn receives errors of calls to the budget */
  constructor(permits: PermitSource, org: string, warn: (error: unknown) => void) {
    this.#permits = permits;
    this.#org = org;
    this.#warn = warn;
  }

  waitingOf(client: GatewayClient): number {
    return this.#waiting.filter((waiting) => waiting.client === client).length;
  }

  /** A permit, to be closed in any case; null when `signal` is aborted first. */
  permit(client: GatewayClient, signal: AbortSignal): Promise<HeldPermit | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const serve = (permit: HeldPermit | null) => {
        signal.removeEventListener('abort', leave);
        resolve(permit);
      };
      const waiting = { client, serve };
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        serve(null);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** The budget's answer when the client last had to wait; null if it has been granted a permit since. */
  told(client: GatewayClient): LastWait | null {
    return this.#told.get(client) ?? null;
  }

  /** Resolves when nothing is on its way to the budget any more. Call it when no request is left. */
  async idle(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#asking;
    await Promise.all(this.#reports);
  }

  /** Asks for the oldest request whose client may ask, or waits until one may. */
  #next(): void {
    clearTimeout(this.#timer);
    if (this.#asking !== null || this.#waiting.length === 0) return;
    const now = performance.now();
    const askAt = ({ client }: Waiting) => this.#told.get(client)?.askAt ?? now;
    const due = this.#waiting.find((waiting) => askAt(waiting) <= now);
    if (due === undefined) {
      const soonest = Math.min(...this.#waiting.map(askAt));
      this.#timer = setTimeout(() => this.#next(), Math.ceil(soonest - now));
      return;
    }
    this.#asking = this.#ask(due.client).finally(() => {
      this.#asking = null;
      this.#next();
    });
  }

  async #ask(client: GatewayClient): Promise<void> {
    const holder = `gateway:${client.name}`;
    const waiting = this.waitingOf(client);
    try {
      const answer = await askForLease(this.#permits, this.#org, {
        holder,
        project: holder,
        class: client.class,
        wants: Math.min(waiting, maxLease),
        remaining: waiting,
        // Every gateway of the organization asks in this name: none replaces another.
        attemptAt: 0,
        program: { share: client.share },
      });
      if (answer instanceof Lease) this.#handOut(client, answer);
      else if (answer.kind === 'wait') this.#note(client, answer);
    } catch (error) {
      this.#warn(error);
      const askAt = performance.now() + retryMs;
      this.#told.set(client, { freeAt: askAt, reason: 'no-answer', askAt });
    }
  }

  #note(client: GatewayClient, { now, waitUntil, reason }: PermitWait): void {
    const waitMs = waitUntil - now;
    const at = performance.now();
    this.#told.set(client, { freeAt: at + waitMs, reason, askAt: at + Math.min(waitMs, askAgainMs) });
  }

  #handOut(client: GatewayClient, lease: Lease): void {
    this.#told.delete(client);
    const served = this.#waiting.filter((waiting) => waiting.client === client).slice(0, lease.permits);
    this.#waiting = this.#waiting.filter((waiting) => !served.includes(waiting));
    let open = served.length;
    let doubted: Refusal | undefined;
    const close = (refusal?: Refusal) => {
      open -= 1;
      if (refusal?.doubted) doubted = refusal;
      // The organization must wait from now on: the other answers cannot change that, as their requests are under way.
      if (refusal?.throttled) this.#settle(lease, { ...doubted, ...refusal });
      else if (open === 0 && (!lease.isSettled || doubted !== undefined)) this.#settle(lease, doubted);
    };
    if (open === 0) this.#settle(lease);
    for (const [place, { serve }] of served.entries()) serve({ lease, place, close });
  }

  /** Permits not handed out, and those not used, return. Again for each refusal that comes later. */
  #settle(lease: Lease, refusal?: Refusal): void {
    const report = this.#permits.report(this.#org, lease.settlement(refusal)).catch(this.#warn);
    const done = report.finally(() => this.#reports.delete(done));
    this.#reports.add(done);
  }
}
