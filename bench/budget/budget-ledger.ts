/** Permits of one lease of the budget, as its history tells. Moments are the budget's, in milliseconds since the epoch. */
export interface LedgerLease {
  id: string;
  grantedAt: number;
  useBy: number;
  permits: number;
}

export interface LedgerReport {
  leaseId: string;
  /** When the budget took it in. */
  at: number;
  /** Moments by which the used permits' requests had arrived. */
  arrived: number[];
}

export interface LedgerSettings {
  /** Requests of ours a window may hold. */
  capacity: number;
  windowMs: number;
  arrivalMs: number;
}

/**
 * Which slots the budget held at which moment, by the rules of docs/budget.md, worked out from what was granted and
 * reported. A second reading of the budget's history, apart from the code that made it.
 */
export class Ledger {
  readonly #leases: readonly LedgerLease[];
  readonly #reports = new Map<string, LedgerReport>();
  readonly #settings: LedgerSettings;
  /** For how much longer than a window a slot is held, for clocks that drift. */
  readonly #holdMs: number;

  constructor(leases: readonly LedgerLease[], reports: readonly LedgerReport[], settings: LedgerSettings) {
    this.#leases = [...new Map(leases.map((lease) => [lease.id, lease])).values()];
    for (const report of reports) if (!this.#reports.has(report.leaseId)) this.#reports.set(report.leaseId, report);
    this.#settings = settings;
    this.#holdMs = settings.windowMs + Math.max(20, Math.ceil(settings.windowMs / 10_000));
  }

  /** Slots that were ever held until their end: used permits, and all permits of leases no holder reported. */
  get slots(): number {
    return this.#leases.reduce((sum, { id, permits }) => sum + (this.#reports.get(id)?.arrived.length ?? permits), 0);
  }

  /** Leases whose holder never said what became of them. */
  get unreported(): number {
    return this.#leases.filter(({ id }) => !this.#reports.has(id)).length;
  }

  /** The first moment from `at` on at which one more permit could have been granted. */
  freeFrom(at: number): number {
    const changes = [...this.#leases.flatMap((lease) => this.#changesOf(lease)), at].filter((moment) => moment >= at);
    const free = changes.sort((a, b) => a - b).find((moment) => this.#held(moment) < this.#settings.capacity);
    return free ?? at;
  }

  #held(at: number): number {
    return this.#leases
      .filter(({ grantedAt }) => grantedAt <= at)
      .reduce((sum, lease) => sum + this.#endsOf(lease, at).filter((end) => end > at).length, 0);
  }

  /** Until when the lease's slots are held, as far as the budget knew at `at`. */
  #endsOf({ id, useBy, permits }: LedgerLease, at: number): number[] {
    const report = this.#reports.get(id);
    const latest = useBy + this.#settings.arrivalMs;
    if (report === undefined || report.at > at) return Array.from({ length: permits }, () => latest + this.#holdMs);
    return report.arrived.map((moment) => Math.min(moment, latest) + this.#holdMs);
  }

  #changesOf(lease: LedgerLease): number[] {
    const report = this.#reports.get(lease.id);
    return [...(report ? [report.at] : []), ...this.#endsOf(lease, Number.POSITIVE_INFINITY)];
  }
}
