import { lstatSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathProblem } from '../../files.ts';
import { unpack } from '../archive/unpack.ts';
import { type Observed, type RolloutStep, rolloutSteps, type TargetSteps } from '../rules/rollout-steps.ts';
import { copySlots } from '../semaphore.ts';
import type { Manifest } from '../store/bundle-store.ts';
import { removeAbandoned } from '../store/retention.ts';

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
  /** Called last before each change outside: throws when the version, or the attempt, is no longer wanted. */
  guard(): Promise<void>;
  /** Resolves once Temporal has accepted a sign of life; throws when the attempt is over. */
  alive(): Promise<void>;
  /** How long earlier attempts of the step have worked already. */
  elapsedMs?: number;
  signal?: AbortSignal;
  onProgress?: () => void;
}

/** Unpacks the version into an empty folder. Throws `UnpackMismatch`, system errors and the signal's reason. */
export function unpackInto(
  folder: string,
  { manifest, withArchive, signal, onProgress }: RolloutRequest,
): Promise<void> {
  const work = { signal, onProgress };
  return copySlots.use(signal, () => withArchive((archive) => unpack(archive, manifest, folder, work)));
}

const workFolder = /^docferry-(site|git)-/;

/** Runs `use` with a new folder, which is removed afterwards; also removes what killed processes left a week ago. */
export async function withWorkFolder<Result>(
  kind: 'site' | 'git',
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const place = await realpath(tmpdir());
  const isOurs = (name: string) => workFolder.test(name) && lstatSync(join(place, name)).uid === process.getuid?.();
  // A failure concerns no version: the next step tries again.
  await removeAbandoned(place, new Date(), isOurs).catch(() => undefined);
  const folder = await mkdtemp(join(place, `docferry-${kind}-`));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs `use` with a folder of the unpacked version, which is removed afterwards. Throws as `unpackInto`. */
export function withFiles<Result>(request: RolloutRequest, use: (folder: string) => Promise<Result>): Promise<Result> {
  return withWorkFolder('site', async (folder) => {
    await unpackInto(folder, request);
    return use(folder);
  });
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

/** A system error about `path` in words for the operator; other errors unchanged. */
export function fileTrouble(error: unknown, path: string): unknown {
  const problem = pathProblem(error);
  return problem ? new TargetRefused(`${path} ${problem.what}: ${problem.fix}`, problem.isFull) : error;
}
