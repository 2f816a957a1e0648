import { longestReason, type Reason, type RolloutResult } from './site-export.ts';

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

/** `runs 2026…`, `runs nothing: …`, `unknown: …`. */
export function sightingText({
  runs,
  version,
  why,
}: {
  runs: Observed['runs'];
  version: string | null;
  why: string | null;
}): string {
  if (runs === 'version') return `runs ${version}`;
  return `${runs === 'none' ? 'runs nothing' : 'what it runs is unknown'}: ${why}`;
}

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

/** Takes a step of one target; a failure is a step that was taken, too. */
export type TakeStep = (next: Pick<StepTaken, 'target' | 'step'>) => Promise<StepTaken>;

/**
 * Takes the steps that follow on the known ones, one after the other, until one refuses the version or all are done.
 * `onResults` gets the results of the targets that are done, before each step and at the end. Returns all steps.
 */
export async function takeSteps(
  targets: readonly TargetSteps[],
  take: TakeStep,
  known: readonly StepTaken[] = [],
  onResults: (results: RolloutResult[]) => void = () => {},
): Promise<StepTaken[]> {
  const taken = [...known];
  for (;;) {
    onResults(rolloutResults(targets, taken));
    const next = nextStep(targets, taken);
    if (next === null) return taken;
    taken.push(await take(next));
  }
}

/**
 * Rolls the version before out to the targets that a refused rollout has reached, in this run or an earlier one, and
 * leaves all others alone.
 */
export async function takeBack(
  targets: readonly TargetSteps[],
  taken: readonly StepTaken[],
  take: TakeStep,
): Promise<RolloutResult[]> {
  const results: RolloutResult[] = [];
  for (const only of targets.filter(({ target }) => taken.some((step) => step.target === target))) {
    results.push(...rolloutResults([only], await takeSteps([only], take)));
  }
  return results;
}

/** What a refused version leaves behind: the version in service again, null for none, and the results of its return. */
export interface Return {
  version: string | null;
  results: readonly RolloutResult[];
}

/** Results of a refused rollout once its targets have returned: none of them runs the version. */
export function returnedResults(
  results: readonly RolloutResult[],
  { version, results: back }: Return,
): RolloutResult[] {
  return results.map((result) => {
    const returned = back.find(({ target }) => target === result.target);
    if (returned === undefined) return result;
    const isBack = returned.outcome !== 'failed';
    const how = isBack ? `runs ${version} again` : `the return to ${version} failed: ${returned.detail}`;
    const detail = result.outcome === 'failed' ? `${how}; ${result.detail}` : how;
    return { ...result, outcome: 'failed', detail: detail.slice(0, longestDetail) };
  });
}

/** Why a version was refused, and what became of the site; a return that failed comes first (E9). */
export function returnReasons(refused: StepTaken, returned: Return | { problem: string }): Reason[] {
  const why = `${refused.target}: ${refused.detail}`;
  if ('problem' in returned) {
    const how = `the site could not return to the version before: ${returned.problem}`;
    return [reason('return-failed', how), reason('check-failed', why)];
  }
  const { version, results } = returned;
  if (version === null) return [reason('check-failed', `${why}; no earlier version is left, so nothing is current`)];
  const left = leftBehind(version, results);
  return [...left, reason('check-failed', left.length === 0 ? `${why}; the site is back at ${version}` : why)];
}

/** Said of a site that a check has returned while not all targets have the version before; empty when all have. */
export function leftBehind(version: string, results: readonly RolloutResult[]): Reason[] {
  const left = results.filter(({ outcome }) => outcome === 'failed');
  if (left.length === 0) return [];
  const where = left.map(({ target, detail }) => `${target} (${detail})`).join(', ');
  return [reason('return-failed', `current.json is back at ${version}, but not ${where}`)];
}

function reason(rule: string, detail: string): Reason {
  return { rule, path: null, detail: detail.slice(0, longestReason) };
}

/** Results of the targets whose last step has been taken, in the order of the targets. */
export function rolloutResults(targets: readonly TargetSteps[], taken: readonly StepTaken[]): RolloutResult[] {
  return targets.flatMap(({ target, steps }) => {
    const own = taken.filter((step) => step.target === target);
    const last = own.at(-1);
    if (last === undefined || (own.length < steps.length && !endsTarget(last, steps))) return [];
    const { outcome, blames } = last;
    // A failed check counts more than what the program before it reported.
    const detail = outcome === 'rolled-out' ? own.map((step) => step.detail).join('; ') : last.detail;
    return [{ target, outcome, detail: detail.slice(0, longestDetail), ...(blames && { blames }) }];
  });
}

/** Results enter histories. */
const longestDetail = 300;

/** After a program that failed, the target's check decides. */
function endsTarget(last: StepTaken | undefined, steps: readonly RolloutStep[]): boolean {
  if (last === undefined || last.outcome === 'rolled-out') return false;
  const isDecidedLater = last.step === 'run' && last.blames === 'target' && steps.includes('check');
  return !isDecidedLater;
}
