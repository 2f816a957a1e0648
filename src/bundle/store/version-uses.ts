import { versionTime } from '../../model/export/version-name.ts';

/** `in-use.json` of a domain: what retention must know besides `current.json` and `rollouts.json`. */
export interface VersionUses {
  /** The version whose rollout began last, by target. */
  rollingOut: Record<string, string>;
  /** Since when (ISO 8601) somebody has been about to make a version the current one, by `<version>/<whose>`. */
  promoting: Record<string, string>;
  /** Versions that retention has condemned: nobody may begin to use them. */
  removing: string[];
  /** Grows with every change in a bucket: an ETag is that of the content, and none may come twice. */
  changes: number;
}

export const noUses: VersionUses = { rollingOut: {}, promoting: {}, removing: [], changes: 0 };

/** One attempt to make a version current; there may be several of a version at once. */
export interface PromotionAttempt {
  version: string;
  id: string;
}

/** Whoever is about to promote a version and has not for so long is dead; steps of an export take an hour at most. */
const promotionDiesAfterMs = 24 * 3_600_000;

/** The uses with this version's rollout to the target begun. */
export function withRollout(uses: VersionUses, target: string, version: string): VersionUses {
  return { ...uses, rollingOut: Object.fromEntries([...Object.entries(uses.rollingOut), [target, version]]) };
}

/** The uses with this promotion begun, or ended when `since` is null. */
export function withPromotion(uses: VersionUses, { version, id }: PromotionAttempt, since: Date | null): VersionUses {
  const name = `${version}/${id}`;
  const others = Object.entries(uses.promoting).filter(([other]) => other !== name);
  const now: [string, string][] = since === null ? [] : [[name, since.toISOString()]];
  return { ...uses, promoting: Object.fromEntries([...others, ...now]) };
}

/** The promotions that may still happen. */
export function livePromotions({ promoting }: VersionUses, now: Date): Record<string, string> {
  const alive = (since: string) => now.getTime() - Date.parse(since) < promotionDiesAfterMs;
  return Object.fromEntries(Object.entries(promoting).filter(([, since]) => alive(since)));
}

export interface Keeping {
  /** Everything under `versions/`, in any order. */
  stored: readonly string[];
  /** How many of the newest stay, whatever uses them. */
  keep: number;
  current: string | null;
  held: readonly string[];
  /** By target, of `rollouts.json`. */
  rollouts: Readonly<Record<string, string>>;
  uses: VersionUses;
  now: Date;
}

/** Versions that are not to be removed, however old they are. */
export function versionsInUse({ current, held, rollouts, uses, now }: Omit<Keeping, 'stored' | 'keep'>): Set<string> {
  return new Set([
    ...held,
    ...Object.values(rollouts),
    ...Object.values(uses.rollingOut),
    ...Object.keys(livePromotions(uses, now)).map((name) => name.replace(/\/.*$/, '')),
    ...(current === null ? [] : [current]),
  ]);
}

/**
 * The versions that nothing needs any more, the oldest last. What is not named like a version is
 * not ours to remove. A target's recorded version stays, since its deployment fetches it again when it restarts.
 */
export function removable({ stored, keep, ...use }: Keeping): string[] {
  const needed = versionsInUse(use);
  const newestFirst = stored
    .filter((name) => versionTime(name) !== null)
    .sort()
    .reverse();
  return newestFirst.slice(keep).filter((version) => !needed.has(version));
}
