import type { RolloutResult } from './site-export.ts';

/** What puts a version into service at a target, in this order; a target has at least one of them (deployments.md). */
export const rolloutSteps = ['place', 'run', 'check'] as const;
export type RolloutStep = (typeof rolloutSteps)[number];

/**
 * Without a sign of life for so long, Temporal gives the attempt of a `run` step to another worker; the program ends when
 * none was accepted for half of it.
 */
export const programHeartbeatMs = 30_000;

/** What a target does with a version. */
export interface TargetSteps {
  /** The target's name. */
  target: string;
  steps: readonly RolloutStep[];
}

/** A step that has ended; what its failure speaks of is in `blames`. */
export interface StepTaken extends RolloutResult {
  step: RolloutStep;
}

/** What was read back of a target (E9). */
export type Observed =
  /** `since`: when the place was last changed, ISO 8601; null when it does not say. */
  | { runs: 'version'; version: string; since: string | null }
  | { runs: 'none'; why: string; since: string | null }
  | { runs: 'unknown'; why: string };

/** The step that follows, for an export and `deploy-local` alike; null when all is done, or the version was refused. */
export function nextStep(
  targets: readonly TargetSteps[],
  taken: readonly StepTaken[],
): { target: string; step: RolloutStep } | null {
  if (refusal(taken) !== null) return null;
  for (const { target, steps } of targets) {
    const own = taken.filter((step) => step.target === target);
    const step = steps[own.length];
    if (step !== undefined && !endsTarget(own.at(-1), steps)) return { target, step };
  }
  return null;
}

/** The step whose failure speaks against the version; null when there is none. */
export function refusal(taken: readonly StepTaken[]): StepTaken | null {
  return taken.find(({ blames }) => blames === 'version') ?? null;
}

/** Results of the targets whose last step has been taken, in the order of the targets. */
export function rolloutResults(targets: readonly TargetSteps[], taken: readonly StepTaken[]): RolloutResult[] {
  return targets.flatMap(({ target, steps }) => {
    const own = taken.filter((step) => step.target === target);
    const last = own.at(-1);
    if (last === undefined || (own.length < steps.length && !endsTarget(last, steps))) return [];
    const { outcome, blames } = last;
    // What a check has proved counts, whatever the program before it said.
    const detail = outcome === 'rolled-out' ? own.map((step) => step.detail).join('; ') : last.detail;
    return [{ target, outcome, detail: detail.slice(0, longestDetail), ...(blames && { blames }) }];
  });
}

/** Results enter histories (architecture.md). */
const longestDetail = 300;

/** After a program that failed, the target's check decides. */
function endsTarget(last: StepTaken | undefined, steps: readonly RolloutStep[]): boolean {
  if (last === undefined || last.outcome === 'rolled-out') return false;
  const isDecidedLater = last.step === 'run' && last.blames === 'target' && steps.includes('check');
  return !isDecidedLater;
}
