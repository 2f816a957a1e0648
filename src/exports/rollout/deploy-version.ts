import {
  nextStep,
  type Return,
  reachedTargets,
  refusal,
  returnedResults,
  returnReasons,
  rolloutResults,
  type StepTaken,
} from '../rules/rollout-steps.ts';
import type { Reason, RolloutResult } from '../rules/site-export.ts';
import type { BundleStore } from '../store/bundle-store.ts';
import { pointAt, returnSite } from './return-site.ts';
import { takeStep } from './roll-out-version.ts';
import { type RolloutTarget, stepsOf, VersionRefused } from './rollout-target.ts';

interface Deployment {
  bundles: BundleStore;
  domain: string;
  /** Stored and verified. */
  version: string;
  targets: readonly RolloutTarget[];
  /** Deploys content again that a check refused before. */
  force?: boolean;
  signal: AbortSignal;
}

/** Result of a deployment; `held` and `reasons` are set if a check refused the version, now or before. */
interface Deployed {
  previous: string | null;
  rollouts: RolloutResult[];
  held: string | null;
  reasons: Reason[];
}

/**
 * Deploys a published version as an export does, without Temporal: makes it current, rolls it out, checks it, and returns
 * the site to the version before when a step refuses it (E9). It retries no step. Content that a check refused before
 * stays out of service unless forced; other content ends that hold. Safe to repeat. Throws `SiteHeld` when a person holds
 * the site at another version, the store's errors, and the signal's reason.
 */
export async function deployVersion({ force = false, ...deployment }: Deployment): Promise<Deployed> {
  const { bundles, domain, version, targets } = deployment;
  const plan = targets.map(stepsOf);
  const previous = (await bundles.current(domain))?.version ?? null;
  const refusedBefore = await refusedHold(deployment);
  if (refusedBefore?.isSame && !force) {
    // An earlier run may have died while it returned the site.
    const back = await returnSite(bundles, { ...refusedBefore, domain, at: new Date() });
    const taken = back === null ? [] : await takeSteps({ ...deployment, version: back }, refusedBefore.version);
    const reasons = [{ rule: 'check-failed', path: null, detail: refusedBefore.reason }];
    return { previous, rollouts: rolloutResults(plan, taken), held: back ?? refusedBefore.version, reasons };
  }
  if (refusedBefore) await bundles.holds.release(domain, refusedBefore.version);
  await pointAt(bundles, domain, version, new Date());
  const taken = await takeSteps(deployment, previous);
  const rollouts = rolloutResults(plan, taken);
  const refused = refusal(taken);
  if (refused === null) return { previous, rollouts, held: null, reasons: [] };
  const returned = await goBack(deployment, taken, refused);
  const reasons = returnReasons(refused, returned);
  if ('problem' in returned) return { previous, rollouts, held: null, reasons };
  return { previous, rollouts: returnedResults(rollouts, returned), held: returned.version ?? version, reasons };
}

/** The version that a check refused, why, and whether this one has the same content; null when no check holds the site. */
async function refusedHold({ bundles, domain, version }: Omit<Deployment, 'force'>) {
  const hold = await bundles.holds.of(domain);
  if (!hold?.refused) return null;
  const { contentDigest } = await bundles.manifest(domain, version);
  const isSame = hold.refused.contentDigest === contentDigest;
  return { version: hold.refused.version, reason: hold.reason ?? 'see hold.json', isSame };
}

async function goBack(
  deployment: Omit<Deployment, 'force'>,
  taken: readonly StepTaken[],
  refused: StepTaken,
): Promise<Return | { problem: string }> {
  const { bundles, domain, version, targets, signal } = deployment;
  const reason = `${refused.target}: ${refused.detail}`;
  try {
    const back = await returnSite(bundles, { domain, version, reason, at: new Date() });
    if (back === null) return { version: null, results: [] };
    const results: RolloutResult[] = [];
    for (const { target } of reachedTargets(targets.map(stepsOf), taken)) {
      const only = targets.filter(({ name }) => name === target);
      const steps = await takeSteps({ ...deployment, version: back, targets: only }, version);
      results.push(...rolloutResults(only.map(stepsOf), steps));
    }
    return { version: back, results };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: messageOf(error) };
  }
}

async function takeSteps(
  { bundles, domain, version, targets, signal }: Omit<Deployment, 'force'>,
  previous: string | null,
): Promise<StepTaken[]> {
  const plan = targets.map(stepsOf);
  const alive = async () => signal.throwIfAborted();
  const taken: StepTaken[] = [];
  for (let next = nextStep(plan, taken); next !== null; next = nextStep(plan, taken)) {
    const { target: name, step } = next;
    const target = targets.find((one) => one.name === name);
    if (!target) break;
    const failed = (error: unknown): StepTaken => {
      signal.throwIfAborted();
      const blames = error instanceof VersionRefused ? 'version' : 'target';
      return { target: name, step, outcome: 'failed', detail: messageOf(error), blames };
    };
    const how = { guard: alive, alive, signal };
    taken.push(await takeStep({ bundles, domain, version, previous, target, step, ...how }).catch(failed));
  }
  return taken;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown failure');
