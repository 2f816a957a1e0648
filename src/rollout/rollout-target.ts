import type { Manifest } from '../bundle/store/bundle-store.ts';

/** What a target is given: a published, verified version. */
export interface RolloutRequest {
  domain: string;
  manifest: Manifest;
  /** Lends a local path of the verified archive while `use` runs; not every target needs it. */
  withArchive(use: (path: string) => Promise<void>): Promise<void>;
  /** The immutable published address, never a presigned link. */
  url: string;
  /**
   * Whether this version is still what the domain points at; asked again immediately before the switch. Absent for a
   * version that a person has named.
   */
  isWanted?: () => Promise<boolean>;
  signal?: AbortSignal;
  /** Called as work goes on, for heartbeats. */
  onProgress?: () => void;
}

/** One way of putting a version into service. Safe to repeat. */
export interface RolloutTarget {
  /** Unique within a site, stable over restarts, e.g. `directory:./site`. */
  readonly name: string;
  /** What the target runs now, read back from it; null when nothing or unknown. */
  runningVersion(): Promise<string | null>;
  /** Puts the version into service, whole or not at all; returns one line of detail. */
  rollOut(request: RolloutRequest): Promise<string>;
}
