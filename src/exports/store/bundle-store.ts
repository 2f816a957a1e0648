import type { Readable } from 'node:stream';
import { ExplainedError } from '../../rules/explained-error.ts';
import type { ArchiveFacts } from '../rules/archive-facts.ts';
import type { TrustedKeys } from '../signing/minisign-format.ts';
import type { SiteHolds } from './site-holds.ts';

/** `manifest.json` of a version (contracts.md "bundle store"). */
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

/** What is known about a verified archive before it has a version's name. */
export type StagedManifest = Omit<Manifest, 'version'>;

/** What is stored under a version's name, complete or not. */
export interface StoredVersion {
  version: string;
  files: { name: string; bytes: number }[];
}

/** What a site has in service, and where a person holds it; nulls for neither. */
export interface InService {
  current: string | null;
  held: string | null;
}

/** How work is stopped, and how it reports progress. */
export interface Work {
  signal?: AbortSignal | undefined;
  /** Called as work proceeds. */
  onProgress?: (() => void) | undefined;
}

/** Who moves the pointer, if it may have been given up meanwhile. */
export interface Mover {
  /** When its step was scheduled: a later `claim` keeps it from the pointer. */
  since: Date;
  /** Called last before the move; throws to prevent it. */
  confirm(): Promise<void>;
}

/** Bytes `start` to `end` of a file, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Published bundles. A reader of `versions/` or `current.json` never sees half of anything (E5). Domains and versions
 * are checked names: no separators, no dot names. Besides the errors named below, stores throw `StoreNotWritable`,
 * `StoreRefused` and `StoreUnreachable`.
 */
export interface BundleStore {
  /** Random id written when the store was made, bound to its place; workflows pin it (`StoreMismatch`). */
  readonly identity: string;
  /** Identities of the stores it was restored from: it continues their runs. */
  readonly predecessors: readonly string[];
  /** Where it is, for people. */
  readonly place: string;
  readonly holds: SiteHolds;
  /** A private file on this machine to download into; the same path for the same `stageId`. */
  stagingFile(stageId: string): Promise<string>;
  /**
   * Records durably what verification found, with the staged file: from then on every worker of the store can publish
   * it. Throws `StagedChanged`.
   */
  saveStaged(stageId: string, manifest: StagedManifest, work?: Work): Promise<void>;
  /** What was recorded with a staged archive that is still there, if it has this seal (`staged-seal.ts`); null otherwise. */
  staged(stageId: string, seal: string): Promise<StagedManifest | null>;
  /** Removes a staged download and its leftovers; does nothing when there is none. */
  discardStaged(stageId: string): Promise<void>;
  /**
   * Publishes the staged archive as `version`, whole or not at all, and signed if the store signs; may be repeated. What
   * was staged must have the `seal` (`staged-seal.ts`) that it had when it was verified, and the copy that is published
   * is hashed again. Throws `StagedChanged`, `VersionConflict`, `SigningKeyUnusable`.
   */
  publish(stageId: string, version: string, seal: string, work?: Work): Promise<Manifest>;
  /** Null when the domain has never published. */
  current(domain: string): Promise<Current | null>;
  /**
   * Points the domain at `version` if its epoch is still `expectedEpoch` (0 = none yet); throws `PointerMoved`
   * otherwise or when the domain was claimed since, and `SiteHeld` when it is held at another version. Does nothing when
   * it points there already.
   */
  moveCurrent(
    domain: string,
    version: string,
    expectedEpoch: number,
    publishedAt: Date,
    mover?: Mover,
  ): Promise<Current>;
  /** From now on no `Mover` from before `since` moves the pointer. */
  claim(domain: string, since: Date): Promise<void>;
  /** The manifest as it is stored; to act upon it, use `provenManifest`. Throws `NoSuchVersion`. */
  manifest(domain: string, version: string): Promise<Manifest>;
  /** Newest first. */
  versions(domain: string): Promise<PublishedVersion[]>;
  /** Runs `read` with a local path of the version's archive. Throws `NoSuchVersion`, `VersionDamaged`. */
  withArchive<T>(domain: string, version: string, read: (path: string) => Promise<T>, work?: Work): Promise<T>;
  /** The immutable address of a version's archive under `publicUrl`. */
  urlOf(domain: string, manifest: Manifest): string;
  /** The version that last rolled out to `target` successfully, or null. */
  rolledOut(domain: string, target: string): Promise<string | null>;
  /** From now on `prune` leaves the version alone until another is started for `target`. Throws `NoSuchVersion`. */
  startRollout(domain: string, target: string, version: string): Promise<void>;
  recordRollout(domain: string, target: string, version: string): Promise<void>;
  /**
   * Removes versions beyond the newest `keep`, but never the current one, those of a hold, those that targets run, and
   * those being rolled out or promoted. Returns what it removed.
   */
  prune(domain: string, keep: number): Promise<string[]>;
  /** Removes a version that was not approved, unless `prune` would keep it as one in use; may be repeated. */
  withdraw(domain: string, version: string): Promise<void>;
  /**
   * Removes what dead processes left of this domain, and at most once an hour of `now` what they left beside the
   * domains: old staged downloads, unfinished uploads.
   */
  removeAbandoned(domain: string, now: Date): Promise<void>;
  /**
   * What is in service for these domains, without a request for each: `current` and `holds` remain authoritative
   * (decisions/0100). Domains without either are left out.
   */
  inService(domains: readonly string[]): Promise<Map<string, InService>>;
  /** Domains with anything in the store. */
  domains(): Promise<string[]>;
  /** Everything under `versions/`, complete or not, newest first. */
  inventory(domain: string): Promise<StoredVersion[]>;
  /** The content of a version's file, or a range of it; null when the file does not exist. */
  open(domain: string, version: string, file: string, range?: ByteRange): Promise<Readable | null>;
  /**
   * If the store signs, the keys, one of which must have signed each manifest; null otherwise. Throws
   * `SigningKeyUnusable`.
   */
  verificationKeys(): Promise<TrustedKeys | null>;
  /** Whether versions can be published, and signed if the store signs. Throws `SigningKeyUnusable`. */
  checkWritable(): Promise<void>;
}

export class PointerMoved extends Error {
  override readonly name = 'PointerMoved';
}

/** Throws `PointerMoved` when the domain was claimed after the mover's step was scheduled. */
export function requireUnclaimed(domain: string, claimedAt: Date | null, mover: Mover | undefined): void {
  if (claimedAt === null || mover === undefined || claimedAt <= mover.since) return;
  throw new PointerMoved(`${domain} was claimed by a later run`);
}

export class NoSuchVersion extends ExplainedError {
  override readonly name = 'NoSuchVersion';
  readonly code = 'NoSuchVersion';
  readonly hint = 'see `docferry export versions`';
}
