import type { Manifest } from '../store/bundle-store.ts';

/** What a target is given: a published, verified version. */
export interface RolloutRequest {
  domain: string;
  manifest: Manifest;
  /** Runs `read` with a local path of the verified archive; not every target needs it. */
  withArchive(read: (path: string) => Promise<void>): Promise<void>;
  /** The immutable published address, never a presigned link. */
  url: string;
  /**
   * Whether the domain still points at this version; asked again immediately before the switch. Absent for a version
   * that a person has named.
   */
  isWanted?: () => Promise<boolean>;
  signal?: AbortSignal;
  /** Called as work proceeds, for heartbeats. */
  onProgress?: () => void;
}

/** One way to put a version into service, safe to repeat. A new kind of target implements this in its own file. */
export interface RolloutTarget {
  /** Unique within a site, stable over restarts, e.g. `directory:./site`. */
  readonly name: string;
  /** The version that the target runs now, read back from it; null when none or unknown. */
  runningVersion(): Promise<string | null>;
  /** Puts the version into service, whole or not at all; returns one line of detail. */
  rollOut(request: RolloutRequest): Promise<string>;
}

/** Another version has become current meanwhile: the target was left unchanged. */
export class RolloutSuperseded extends Error {
  override readonly name = 'RolloutSuperseded';

  constructor(version: string) {
    super(`${version} is no longer the current version: the target was left unchanged`);
  }
}

/** A rollout would destroy something in the target, or cannot write to it; the message says what. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}
