/** `hold.json` of a domain: its pointer stays where it is until released (E7). */
export interface SiteHold {
  /** What stays current. */
  version: string;
  /** ISO 8601. */
  since: string;
  /** In a person's words; null when none were given. */
  reason: string | null;
  /** The newest version that an export would have made current: it is stored, and not in service. */
  waiting: string | null;
}

export interface HoldRequest {
  /** Null for whatever is current. */
  version: string | null;
  reason: string | null;
  at: Date;
}

/** The holds of a bundle store's domains. A hold binds every promotion that has not happened when it is placed. */
export interface SiteHolds {
  of(domain: string): Promise<SiteHold | null>;
  /**
   * Holds the domain: from then on its pointer moves to that version only. One that is held there already keeps its
   * time and what waits. Throws `NoSuchVersion` when there is no such version, or nothing is current.
   */
  place(domain: string, request: HoldRequest): Promise<SiteHold>;
  /** What was held; null when nothing was. */
  release(domain: string): Promise<SiteHold | null>;
  /** Notes a version that was not promoted because of the hold; null when there is no hold any more. */
  noteWaiting(domain: string, version: string): Promise<SiteHold | null>;
}

/** The pointer was not moved, because a person holds the site at another version. */
export class SiteHeld extends Error {
  override readonly name = 'SiteHeld';
  readonly hold: SiteHold;

  constructor(domain: string, hold: SiteHold) {
    super(`${domain} is held at ${hold.version} since ${hold.since}`);
    this.hold = hold;
  }
}

/** Throws `SiteHeld` when the hold forbids that the version becomes current. */
export function requireNotHeldElsewhere(domain: string, hold: SiteHold | null, version: string): void {
  if (hold !== null && hold.version !== version) throw new SiteHeld(domain, hold);
}

/** The hold as it is after the request, given the one before. */
export function placed(before: SiteHold | null, version: string, { reason, at }: HoldRequest): SiteHold {
  if (before?.version === version) return { ...before, reason: reason ?? before.reason };
  // What was in service waits from now on only if an export says so.
  return {
    version,
    since: at.toISOString(),
    reason,
    waiting: before?.waiting === version ? null : (before?.waiting ?? null),
  };
}

/** Versions that a hold needs. */
export function heldVersions(hold: SiteHold | null): string[] {
  if (hold === null) return [];
  return hold.waiting === null ? [hold.version] : [hold.version, hold.waiting];
}
