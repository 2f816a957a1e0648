import type { ArchiveFacts } from '../model/cargo.ts';

/** `manifest.json` of a version (DESIGN §5 "bundle store"). */
export interface Manifest {
  version: string;
  contentDigest: string;
  archive: ArchiveFacts;
  pages: number;
  files: { path: string; bytes: number; sha256: string }[];
  source: { org: string; domain: string; jobId: string };
}

/** `current.json` of a domain. */
export interface Current {
  version: string;
  contentDigest: string;
  publishedAt: string;
  /** Grows by one with every move of the pointer. */
  epoch: number;
}

export interface PublishedVersion {
  version: string;
  contentDigest: string;
  publishedAt: string;
  pages: number;
  bytes: number;
  jobId: string;
}

/** What is known of a verified archive before it has a version's name. */
export type StagedManifest = Omit<Manifest, 'version'>;

/**
 * Published bundles. A reader of `versions/` or `current.json` never sees half of anything (DESIGN E5).
 * Domains and versions are checked names: no separators, no dot names.
 */
export interface BundleStore {
  /** Random id written when the store was made; workflows pin it (`StoreMismatch`). */
  readonly identity: string;
  /** A private file to download into, on the same volume as the store; the same path for the same `stageId`. */
  stagingFile(stageId: string): Promise<string>;
  /** Records what verification found beside the staged file, durably, before any promotion. */
  saveStaged(stageId: string, manifest: StagedManifest): Promise<void>;
  /** Removes a staged download and its leftovers; fine when there is none. */
  discardStaged(stageId: string): Promise<void>;
  /** Makes the staged archive the version `version`, whole or not at all; done already = fine. */
  publish(stageId: string, version: string): Promise<Manifest>;
  /** Null when the domain has never published. */
  current(domain: string): Promise<Current | null>;
  /**
   * Points the domain at `version` if its epoch is still `expectedEpoch` (0 = none yet); throws `PointerMoved`
   * otherwise. Already pointing there = fine.
   */
  moveCurrent(domain: string, version: string, expectedEpoch: number, publishedAt: Date): Promise<Current>;
  /** Throws `NoSuchVersion`. */
  manifest(domain: string, version: string): Promise<Manifest>;
  /** Newest first. */
  versions(domain: string): Promise<PublishedVersion[]>;
  /** A readable local path of the version's archive. */
  archivePath(domain: string, version: string): Promise<string>;
  /** The immutable address of the version's archive under `publicUrl`. */
  urlOf(domain: string, version: string): Promise<string>;
  /** Version that last rolled out with success to `target`, or null. */
  rolledOut(domain: string, target: string): Promise<string | null>;
  recordRollout(domain: string, target: string, version: string): Promise<void>;
  checkWritable(): Promise<void>;
}

export class PointerMoved extends Error {
  override readonly name = 'PointerMoved';
}

export class NoSuchVersion extends Error {
  override readonly name = 'NoSuchVersion';
}
