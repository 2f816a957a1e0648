import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ifMissing } from '../../files.ts';
import { versionTime } from '../rules/site-export.ts';
import { heldVersions, type SiteHold } from './bundle-store.ts';

export const inUseSchema = z.object({
  /** The version whose rollout began last and has not ended, by target. */
  rollingOut: z.record(z.string(), z.string()),
  /** When each promotion under way began (ISO 8601), by `<version>/<attempt>`. */
  promoting: z.record(z.string(), z.string()),
  /** Versions that retention has condemned: nothing may start to use them. */
  removing: z.array(z.string()),
  /** Grows with every change in a bucket: an ETag follows from the content, and none may come twice. */
  changes: z.int().nonnegative().default(0),
});
/** `in-use.json` of a domain: versions in use, besides those of its pointer, its hold and `rollouts.json`. */
export type InUse = z.infer<typeof inUseSchema>;

export const nothingInUse: InUse = { rollingOut: {}, promoting: {}, removing: [], changes: 0 };

/** One attempt to make a version current; a version may have several at once. */
interface PromotionAttempt {
  version: string;
  id: string;
}

/** A promotion older than this was abandoned; steps of an export take an hour at most. */
const promotionAbandonedAfterMs = 24 * 3_600_000;

/** The record once this version's rollout to the target has begun. */
export function withRollout(inUse: InUse, target: string, version: string): InUse {
  return { ...inUse, rollingOut: { ...inUse.rollingOut, [target]: version } };
}

/** The record once this version's rollout to the target has ended; that of another may go on. */
export function withoutRollout(inUse: InUse, target: string, version: string): InUse {
  const { [target]: started, ...others } = inUse.rollingOut;
  return started === version ? { ...inUse, rollingOut: others } : inUse;
}

/** As `BundleStore.rolledOut`. */
export function lastRolledOut(
  rollouts: Readonly<Record<string, string>>,
  { rollingOut }: InUse,
  target: string,
): string | null {
  return Object.hasOwn(rollingOut, target) ? null : (new Map(Object.entries(rollouts)).get(target) ?? null);
}

/** The record once this promotion has begun, or ended when `since` is null. */
export function withPromotion(inUse: InUse, { version, id }: PromotionAttempt, since: Date | null): InUse {
  const name = `${version}/${id}`;
  const others = Object.entries(inUse.promoting).filter(([other]) => other !== name);
  const now: [string, string][] = since === null ? [] : [[name, since.toISOString()]];
  return { ...inUse, promoting: Object.fromEntries([...others, ...now]) };
}

/** The promotions that may still happen. */
export function livePromotions({ promoting }: InUse, now: Date): Record<string, string> {
  const isLive = (since: string) => now.getTime() - Date.parse(since) < promotionAbandonedAfterMs;
  return Object.fromEntries(Object.entries(promoting).filter(([, since]) => isLive(since)));
}

/** What decides which versions of a domain may be removed. */
export interface RetentionFacts {
  stored: readonly string[];
  current: string | null;
  /** Those in service before, newest first. */
  before: readonly string[];
  hold: SiteHold | null;
  /** `rollouts.json`. A target's recorded version stays: its deployment fetches it again when it restarts. */
  rollouts: Readonly<Record<string, string>>;
  inUse: InUse;
  now: Date;
}

/** Versions that `BundleStore.prune` removes, the oldest last. Names that are not those of versions are left alone. */
export function prunable(facts: RetentionFacts, keep: number): string[] {
  // What never was in service, as a preview, pushes out nothing that a person may go back to.
  const served = [facts.current, ...facts.before].slice(0, keep);
  const needed = new Set([...neededVersions(facts), ...served]);
  return olderThanNewest(facts.stored, keep).filter((version) => !needed.has(version));
}

/** The version, if `BundleStore.withdraw` may remove it. */
export function withdrawable(facts: RetentionFacts, version: string): string[] {
  return facts.stored.includes(version) && !neededVersions(facts).has(version) ? [version] : [];
}

/** The versions among the names, newest first, without the newest `keep`. */
export function olderThanNewest(names: readonly string[], keep: number): string[] {
  const versions = names.filter((name) => versionTime(name) !== null);
  return versions.sort().reverse().slice(keep);
}

function neededVersions({ current, hold, rollouts, inUse, now }: RetentionFacts): Set<string | null> {
  return new Set([
    current,
    ...heldVersions(hold),
    ...Object.values(rollouts),
    ...Object.values(inUse.rollingOut),
    ...Object.keys(livePromotions(inUse, now)).map((name) => name.replace(/\/.*$/s, '')),
  ]);
}

/** A staged download untouched for longer was abandoned: a running export writes or publishes it much sooner. */
export const abandonedAfterMs = 7 * 24 * 3_600_000;

/** Shared staging is looked at once an hour: else each export would look at what all others have staged. */
const sharedEveryMs = 3_600_000;

/** Says when to look for leftovers that belong to no domain; each yes begins another hour. */
export class SharedLookout {
  #lastAt = Number.NEGATIVE_INFINITY;

  isDue(now: Date): boolean {
    if (now.getTime() - this.#lastAt < sharedEveryMs) return false;
    this.#lastAt = now.getTime();
    return true;
  }
}

/** Removes entries of a folder that are older than a week: all, or those that `isOurs` names. Throws system errors. */
export async function removeAbandoned(
  folder: string,
  now: Date,
  isOurs: (name: string) => boolean = () => true,
): Promise<void> {
  for (const name of (await readdir(folder).catch(ifMissing([]))).filter(isOurs)) {
    const path = join(folder, name);
    const last = await lastWritten(path).catch(ifMissing(now.getTime()));
    if (now.getTime() - last > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}

/** When a file, or a folder and the files in it, last changed, in milliseconds. */
async function lastWritten(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const within = await Promise.all((await readdir(path)).map((name) => stat(join(path, name))));
  return Math.max(found.mtimeMs, ...within.map(({ mtimeMs }) => mtimeMs));
}
