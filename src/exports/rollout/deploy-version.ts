import { leftBehind, refusal, returnFrom, rolloutResults, type TakeStep, takeSteps } from '../rules/rollout-steps.ts';
import type { Reason, RolloutResult } from '../rules/site-export.ts';
import type { BundleStore } from '../store/bundle-store.ts';
import { pointAt, returnSite, takeStep } from './roll-out-version.ts';
import { type RolloutTarget, stepsOf, VersionRefused } from './rollout-target.ts';

interface Deployment {
  bundles: BundleStore;
  domain: string;
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
    const take = back !== null && taker({ ...deployment, version: back }, version);
    const taken = take
      ? await takeSteps(
          plan,
          take,
          [],
          () => {},
          () => true,
        )
      : [];
    const rollouts = rolloutResults(plan, taken);
    const reasons: Reason[] = [{ rule: 'check-failed', path: null, detail: refusedBefore.reason }];
    if (back !== null) reasons.unshift(...leftBehind(back, rollouts));
    return { previous, rollouts, held: back ?? refusedBefore.version, reasons };
  }
  if (refusedBefore) await bundles.holds.release(domain, refusedBefore.version);
  await pointAt(bundles, domain, version, new Date());
  const taken = await takeSteps(plan, taker(deployment, previous));
  const refused = refusal(taken);
  if (refused === null) return { previous, rollouts: rolloutResults(plan, taken), held: null, reasons: [] };
  const returned = await returnFrom(version, taken, refused, {
    targets: plan,
    moveBack: (reason) => returnSite(bundles, { domain, version, reason, at: new Date() }),
    takeWith: (back) => taker({ ...deployment, version: back }, version),
    problemOf: (error) => {
      deployment.signal.throwIfAborted();
      return messageOf(error);
    },
  });
  return { previous, ...returned };
}

/** The version that a check refused, why, and whether this one has the same content; null when no check holds the site. */
async function refusedHold({ bundles, domain, version }: Omit<Deployment, 'force'>) {
  const hold = await bundles.holds.of(domain);
  if (!hold?.refused) return null;
  const { contentDigest } = await bundles.manifest(domain, version);
  const isSame = hold.refused.contentDigest === contentDigest;
  return { version: hold.refused.version, reason: hold.reason ?? 'see hold.json', isSame };
}

/** Takes a step with the version; `previous` is what readers got before. */
function taker(
  { bundles, domain, version, targets, signal }: Omit<Deployment, 'force'>,
  previous: string | null,
): TakeStep {
  const alive = async () => signal.throwIfAborted();
  return async ({ target: name, step }) => {
    try {
      const target = targets.find((one) => one.name === name) ?? { name };
      return await takeStep({ bundles, domain, version, previous, target, step, guard: alive, alive, signal });
    } catch (error) {
      signal.throwIfAborted();
      const blames = error instanceof VersionRefused ? 'version' : 'target';
      return { target: name, step, outcome: 'failed', detail: messageOf(error), blames };
    }
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown failure');
