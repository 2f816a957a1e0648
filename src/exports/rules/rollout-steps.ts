import { clipped } from '../../rules/text.ts';
import { longestReason, type Reason, type RolloutResult } from './site-export.ts';

/** What puts a version into service at a target, in this order; a target has at least one of them (deployments.md). */
export const rolloutSteps = ['place', 'run', 'check'] as const;
export type RolloutStep = (typeof rolloutSteps)[number];

/** Temporal gives a silent `run` step to another worker; the program ends after half of this without a sign. */
export const programHeartbeatMs = 30_000;

/** What a target does with a version. */
export interface TargetSteps {
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
export function observedText({
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

/**
 * The step that follows, for an export and `deploy-local` alike; null when all is done, or the version was refused. Nothing
 * replaces a version at which the site is held, so `goesOn` to the other targets then.
 */
export function nextStep(
  targets: readonly TargetSteps[],
  taken: readonly StepTaken[],
  goesOn: () => boolean = () => false,
): { target: string; step: RolloutStep } | null {
  if (refusal(taken) !== null && !goesOn()) return null;
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
 * Takes the steps that follow on the known ones, one after the other, until `nextStep` has no other.
 * `onResults` gets the results of the targets that are done, before each step and at the end. Returns all steps.
 */
export async function takeSteps(
  targets: readonly TargetSteps[],
  take: TakeStep,
  known: readonly StepTaken[] = [],
  onResults: (results: RolloutResult[]) => void = () => {},
  goesOn?: () => boolean,
): Promise<StepTaken[]> {
  const taken = [...known];
  for (;;) {
    onResults(rolloutResults(targets, taken));
    const next = nextStep(targets, taken, goesOn);
    if (next === null) return taken;
    taken.push(await take(next));
  }
}

/** How a site returns to the version before: an export does it by activities, `deploy-local` in its own process. */
interface SiteReturn {
  targets: readonly TargetSteps[];
  /** Moves the pointer; resolves to the version that is current again, null when none is left. */
  moveBack(reason: string): Promise<string | null>;
  /** Takes a step with the version before. */
  takeWith(back: string): TakeStep;
  /** A failure in words. Throws what ends the run. */
  problemOf(error: unknown): string;
}

/**
 * Returns a site from a version that one of the steps refused: first the pointer, then each target that the rollout has
 * reached, in this run or an earlier one (E9). `rollouts` says what each target runs now. `held` is the version at which
 * the site is held, null when the pointer could not be moved. The first of `reasons` is a return that failed, if one did.
 */
export async function returnFrom(
  version: string,
  taken: readonly StepTaken[],
  refused: StepTaken,
  { targets, moveBack, takeWith, problemOf }: SiteReturn,
): Promise<{ rollouts: RolloutResult[]; held: string | null; reasons: Reason[] }> {
  const rollouts = rolloutResults(targets, taken);
  const why = `${refused.target}: ${refused.detail}`;
  const back: RolloutResult[] = [];
  let held: string | null;
  try {
    held = await moveBack(clipped(why, longestReason));
    if (held === null) {
      const reasons = [reason('check-failed', `${why}; no earlier version is left, so nothing is current`)];
      return { rollouts, held: version, reasons };
    }
    const take = takeWith(held);
    for (const only of targets.filter(({ target }) => taken.some((step) => step.target === target))) {
      back.push(...rolloutResults([only], await takeSteps([only], take)));
    }
  } catch (error) {
    const how = `the site could not return to the version before: ${problemOf(error)}`;
    return { rollouts, held: null, reasons: [reason('return-failed', how), reason('check-failed', why)] };
  }
  const left = leftBehind(held, back);
  const reasons = [...left, reason('check-failed', left.length === 0 ? `${why}; the site is back at ${held}` : why)];
  return { rollouts: returnedResults(rollouts, held, back), held, reasons };
}

/** Results of a refused rollout once its targets have returned: none of them runs the version. */
function returnedResults(
  results: readonly RolloutResult[],
  version: string,
  back: readonly RolloutResult[],
): RolloutResult[] {
  return results.map((result) => {
    const now = back.find(({ target }) => target === result.target);
    if (now === undefined) return result;
    const how = now.outcome === 'failed' ? `the return to ${version} failed: ${now.detail}` : `runs ${version} again`;
    const detail = result.outcome === 'failed' ? `${how}; ${result.detail}` : how;
    return { ...result, outcome: 'failed', detail: clipped(detail, longestDetail) };
  });
}

/** Said of a site that a check has returned while not all targets have the version before; empty when all have. */
export function leftBehind(version: string, results: readonly RolloutResult[]): Reason[] {
  const left = results.filter(({ outcome }) => outcome === 'failed');
  if (left.length === 0) return [];
  const where = left.map(({ target, detail }) => `${target} (${detail})`).join(', ');
  return [reason('return-failed', `current.json is back at ${version}, but not ${where}`)];
}

function reason(rule: string, detail: string): Reason {
  return { rule, path: null, detail: clipped(detail, longestReason) };
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
    return [{ target, outcome, detail: clipped(detail, longestDetail), ...(blames && { blames }) }];
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
