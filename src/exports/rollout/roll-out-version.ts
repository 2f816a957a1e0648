import type { Config, GitConfig, PlaceConfig, SiteConfig } from '../../config/config.ts';
import type { Observed, RolloutStep, StepTaken } from '../rules/rollout-steps.ts';
import { type BundleStore, type ObservedTarget, PointerMoved, SiteHeld } from '../store/bundle-store.ts';
import { manifestIfThere, provenManifest } from '../store/manifests.ts';
import { BucketPlace } from './bucket-place.ts';
import { ReadersCheck } from './check-readers.ts';
import { DirectoryPlace } from './directory-place.ts';
import { GitPlace, SiteFolder } from './git-place.ts';
import { HelmValuesPlace } from './helm-values-place.ts';
import { ProgramStep } from './program-step.ts';
import { observe, type Place, type RolloutRequest, type RolloutTarget, stepsOf } from './rollout-target.ts';

interface VersionStep extends Pick<RolloutRequest, 'guard' | 'alive' | 'elapsedMs' | 'signal' | 'onProgress'> {
  bundles: BundleStore;
  domain: string;
  version: string;
  target: RolloutTarget;
  step: RolloutStep;
  /** The version that readers got before; null when nothing is known of it. */
  previous: string | null;
  /** Takes the step even where the version runs already. */
  force?: boolean;
}

/** A target that was given the version before and, read back, runs it (E9); one without a place counts as such. */
export async function alreadyCurrent(
  bundles: Pick<BundleStore, 'rolledOut'>,
  domain: string,
  version: string,
  target: RolloutTarget,
): Promise<StepTaken | null> {
  const [step] = stepsOf(target).steps;
  if (step === undefined || (await bundles.rolledOut(domain, target.name)) !== version) return null;
  const found = target.place && (await observe(target));
  if (found && !(found.runs === 'version' && found.version === version)) return null;
  return { target: target.name, step, outcome: 'already-current', detail: `runs ${version}` };
}

/**
 * Takes one step of the rollout of a stored version to a target. The first step is not taken where the target runs the
 * version already (E6), and the last one records the success. The manifest is proved first (E10). Throws what the store
 * and the step throw.
 */
export async function takeStep(given: VersionStep): Promise<StepTaken> {
  const { bundles, domain, version, target, step, previous, force, ...how } = given;
  const { steps } = stepsOf(target);
  const isFirst = step === steps[0];
  const running = isFirst && !force ? await alreadyCurrent(bundles, domain, version, target) : null;
  if (running !== null) return running;
  const manifest = await provenManifest(bundles, domain, version);
  // From now on retention keeps the version.
  if (isFirst) await bundles.startRollout(domain, target.name, version);
  await how.guard();
  const work = { signal: how.signal, onProgress: how.onProgress };
  const detail = await target[step]?.take({
    domain,
    manifest,
    previous: previous === null || previous === version ? null : await manifestIfThere(bundles, domain, previous),
    withArchive: (read) => bundles.withArchive(domain, version, read, work),
    url: bundles.urlOf(domain, manifest),
    ...how,
  });
  if (step === steps.at(-1)) {
    await bundles.recordRollout(domain, target.name, version);
    if (target.place) await recordSighting(bundles, domain, target);
  }
  return { target: target.name, step, outcome: 'rolled-out', detail: detail ?? 'nothing to do' };
}

/** What is recorded of a look. Where a place does not say since when, it is since it was first seen so. */
export function observedTarget(found: Observed, before: ObservedTarget | undefined, at: Date): ObservedTarget {
  const version = found.runs === 'version' ? found.version : null;
  const why = found.runs === 'version' ? null : found.why;
  const isSame = before?.runs === found.runs && before.version === version;
  const since = found.runs === 'unknown' ? null : found.since;
  return { runs: found.runs, version, why, since: since ?? (isSame ? before.since : at.toISOString()) };
}

/** Records what the target runs now: until the watch looks again, people would read of the time before the rollout. */
async function recordSighting(bundles: BundleStore, domain: string, target: RolloutTarget): Promise<void> {
  const before = await bundles.observed(domain);
  const now = observedTarget(await observe(target), before[target.name], new Date());
  await bundles.recordObserved(domain, { ...before, [target.name]: now });
}

/** Meanwhile only exports that have not yet seen the hold can move the pointer. */
const pointerTries = 5;

/** Makes the version current, whichever is current now. Throws store errors. */
export async function pointAt(bundles: BundleStore, domain: string, version: string, at: Date): Promise<void> {
  for (let left = pointerTries; ; left -= 1) {
    const epoch = (await bundles.current(domain))?.epoch ?? 0;
    try {
      await bundles.moveCurrent(domain, version, epoch, at);
      return;
    } catch (error) {
      if (!(error instanceof PointerMoved) || left <= 1) throw error;
    }
  }
}

interface RefusedRollout {
  domain: string;
  version: string;
  reason: string;
  at: Date;
}

/**
 * Returns a site to the version that was in service before a refused one: first holds the site there, so that no export
 * comes in between, then moves the pointer. Result: that version, or null when none is left; then nothing is current, and
 * the hold names the refused version. Safe to repeat. Throws `SiteHeld` when a person holds the site, and store errors.
 */
export async function returnSite(
  bundles: BundleStore,
  { domain, version, reason, at }: RefusedRollout,
): Promise<string | null> {
  const { contentDigest } = await bundles.manifest(domain, version);
  const back = await versionBefore(bundles, domain, version);
  if (back !== null) await provenManifest(bundles, domain, back);
  const refused = { version, contentDigest };
  const hold = await bundles.holds.place(domain, { version: back ?? version, reason, at, refused });
  if (hold.refused === undefined) throw new SiteHeld(domain, hold);
  await (back === null ? bundles.unsetCurrent(domain, version) : pointAt(bundles, domain, back, at));
  return back;
}

/** The newest earlier version in service that the store still has; null for none. */
async function versionBefore(bundles: BundleStore, domain: string, version: string): Promise<string | null> {
  const current = await bundles.current(domain);
  // An earlier attempt has returned already.
  if (current !== null && current.version !== version) return current.version;
  for (const before of current?.before ?? []) {
    if ((await manifestIfThere(bundles, domain, before)) !== null) return before;
  }
  return null;
}

/** The site's rollout targets, as the configuration describes them. */
export function rolloutTargets(config: Config, { rollout }: SiteConfig): RolloutTarget[] {
  return rollout.map(({ name, place, run, check }) => ({
    name,
    ...(place && { place: placeOf(place, config.store.bundles.publicUrl) }),
    ...(run && { run: new ProgramStep(run, config) }),
    ...(check && { check: new ReadersCheck(check) }),
  }));
}

/** A kind of place is its schema and name (config/rollout-schema.ts), its file and a line here. */
function placeOf({ kind, settings, git }: PlaceConfig, publicUrl: string): Place {
  if (kind === 'bucket') return new BucketPlace(settings);
  if (kind === 'directory')
    return inGit(git, settings.path, git ? (path) => new SiteFolder(path) : (path) => new DirectoryPlace({ path }));
  return inGit(git, settings.file, (file) => new HelmValuesPlace({ file, key: settings.key, publicUrl }));
}

function inGit(git: GitConfig | null, path: string, place: (path: string) => Place): Place {
  return git ? new GitPlace(git, path, place) : place(path);
}
