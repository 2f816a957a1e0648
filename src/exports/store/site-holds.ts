/** `hold.json` of a domain: its pointer stays where it is until released (E7). */
export interface SiteHold {
  /** The version that stays current. */
  version: string;
  /** ISO 8601. */
  since: string;
  /** In a person's words; null when not given. */
  reason: string | null;
  /** The newest version that an export would have made current: it is stored, but not in service. */
  waiting: string | null;
}

export interface HoldRequest {
  /** Null for the current version. */
  version: string | null;
  reason: string | null;
  at: Date;
}

/** The holds of a bundle store's domains. A hold binds every promotion that has not happened by the time it is placed. */
export interface SiteHolds {
  of(domain: string): Promise<SiteHold | null>;
  /**
   * Holds the domain: from then on its pointer moves to that version only. A hold at that version keeps its time and
   * the version that waits. Throws `NoSuchVersion` when the version does not exist, or nothing is current.
   */
  place(domain: string, request: HoldRequest): Promise<SiteHold>;
  /** The hold that was released; null when there was none. */
  release(domain: string): Promise<SiteHold | null>;
  /** Notes a version that was not promoted because of the hold; null when the hold is gone by now. */
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

/** Throws `SiteHeld` when the hold keeps the version from becoming current. */
export function requireNotHeldElsewhere(domain: string, hold: SiteHold | null, version: string): void {
  if (hold !== null && hold.version !== version) throw new SiteHeld(domain, hold);
}

/** The hold after the request, given the one before. */
export function holdAfter(before: SiteHold | null, version: string, { reason, at }: HoldRequest): SiteHold {
  if (before?.version === version) return { ...before, reason: reason ?? before.reason };
  // A version that waited and is now in service no longer waits.
  return {
    version,
    since: at.toISOString(),
    reason,
    waiting: before?.waiting === version ? null : (before?.waiting ?? null),
  };
}

/** Versions that retention keeps for a hold. */
export function heldVersions(hold: SiteHold | null): string[] {
  if (hold === null) return [];
  return hold.waiting === null ? [hold.version] : [hold.version, hold.waiting];
}
