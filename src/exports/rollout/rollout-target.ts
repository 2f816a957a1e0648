import { errorCode } from '../../files.ts';
import { type Observed, type RolloutStep, rolloutSteps, type TargetSteps } from '../rules/rollout-steps.ts';
import type { Manifest } from '../store/bundle-store.ts';

/** What a step is given: a published, verified version. */
export interface RolloutRequest {
  domain: string;
  manifest: Manifest;
  /** What readers got before; null when nothing is known of it. */
  previous: Manifest | null;
  /** Runs `read` with a local path of the verified archive; not every step needs it. */
  withArchive<Result>(read: (path: string) => Promise<Result>): Promise<Result>;
  /** The immutable published address, never a presigned link. */
  url: string;
  /**
   * Called last before each change outside: throws when the version is no longer wanted, or Temporal has given up the
   * attempt.
   */
  guard(): Promise<void>;
  /** Resolves once Temporal has accepted a sign of life; throws when the attempt is over. */
  alive(): Promise<void>;
  /** How long earlier attempts of the step have worked already. */
  elapsedMs?: number;
  signal?: AbortSignal;
  /** Called as work proceeds, for heartbeats. */
  onProgress?: () => void;
}

/** One step of a target, safe to repeat. */
export interface Step {
  /**
   * Returns one line of detail. Throws `VersionRefused` for what speaks against the version; all other errors speak of
   * the target: `TargetRefused`, system errors, the signal's reason, and what `guard` throws.
   */
  take(request: RolloutRequest): Promise<string>;
}

/** Where a version goes. A new kind implements this in its own file. */
export interface Place extends Step {
  /** What the place has in service now, read back from it. Does not throw. */
  observe(): Promise<Observed>;
  /** What an operator should know before the first rollout, without changing anything. Throws `TargetRefused`. */
  examine(): Promise<string>;
}

/** One target of a site: a place, then a program to run, then a check, each of which it may lack. */
export interface RolloutTarget {
  /** Unique within a site, stable over restarts, e.g. `directory:./site`. */
  readonly name: string;
  readonly place?: Place;
  readonly run?: Step;
  readonly check?: Step;
}

/** What the target does with a version, for `nextStep`. */
export function stepsOf(target: RolloutTarget): TargetSteps & { steps: RolloutStep[] } {
  return { target: target.name, steps: rolloutSteps.filter((step) => target[step] !== undefined) };
}

/** What the target runs now; only a place can be read back. */
export async function observe({ place }: Pick<RolloutTarget, 'place'>): Promise<Observed> {
  return place ? place.observe() : { runs: 'unknown', why: 'it has no place that could be read back' };
}

/** What an operator should know of the target before its first rollout; changes nothing. Throws `TargetRefused`. */
export async function examine({ place }: Pick<RolloutTarget, 'place'>): Promise<string> {
  return place ? place.examine() : 'it has no place that could be looked at';
}

/** A step cannot be taken here; the message says why and what to do. Nothing is said of the version. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
  /** Whether it may pass without a person: then the step is tried again. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass = false) {
    super(message);
    this.mayPass = mayPass;
  }
}

/** Readers do not get the version, or the operator's program refuses it; the message says how. */
export class VersionRefused extends Error {
  override readonly name = 'VersionRefused';
}

const fullDisk = 'is on a disk that is full: free some space; what runs stays as it is';
const foreign = 'cannot be read or written: check the owner of it and of its folder';

/** What the file system says of a place, and what to do. */
const troubles: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist: create it, or correct its path in the configuration',
  ENOTDIR: 'does not exist: one of its folders is a file',
  EISDIR: 'is a folder: name a file in it',
  EEXIST: 'is in the way: move it away',
  EACCES: foreign,
  EPERM: foreign,
  EROFS: 'is on a read-only file system',
  ENOSPC: fullDisk,
  EDQUOT: fullDisk,
};

/** A system error about `path` in words for the operator; other errors unchanged. */
export function fileTrouble(error: unknown, path: string): unknown {
  const code = errorCode(error) ?? '';
  const problem = troubles[code];
  if (problem === undefined) return error;
  const [what, ...fix] = problem.split(': ');
  return new TargetRefused([`${path} ${what} (${code})`, ...fix].join(': '), problem === fullDisk);
}
