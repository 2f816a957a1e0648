import type { Readable } from 'node:stream';
import { z } from 'zod';
import { pathProblem } from '../../files.ts';
import { ExplainedError } from '../../rules/errors.ts';
import { withoutEnd } from '../../rules/text.ts';
import type { TrustedKeys } from '../signing/minisign.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const size = z.int().nonnegative();

const refusedSchema = z.object({ version: z.string(), contentDigest: digest });
type RefusedVersion = z.infer<typeof refusedSchema>;

export const holdSchema = z.object({
  /** The version that stays current. */
  version: z.string(),
  /** ISO 8601. */
  since: z.string(),
  /** In a person's words; null when not given. */
  reason: z.string().nullable(),
  /** The newest version that an export would have made current: it is stored, but not in service. */
  waiting: z.string().nullable(),
  /** Refused by a check; absent when a person holds the site. Ends with other content, or when forced. */
  refused: refusedSchema.exactOptional(),
});
/** `hold.json` of a domain: its pointer stays where it is until released (E7). */
export type SiteHold = z.infer<typeof holdSchema>;

export interface HoldRequest {
  /** Null for the current version. */
  version: string | null;
  reason: string | null;
  at: Date;
  /** Set when a check, not a person, holds the site. A person's hold is then left as it is. */
  refused?: RefusedVersion;
}

/** The holds of a bundle store's domains. A hold binds every promotion that has not happened by the time it is placed. */
export interface SiteHolds {
  of(domain: string): Promise<SiteHold | null>;
  /**
   * Holds the domain: from then on its pointer moves to that version only. A hold at that version keeps its time and
   * the version that waits. Throws `NoSuchVersion` when the version does not exist, or nothing is current.
   */
  place(domain: string, request: HoldRequest): Promise<SiteHold>;
  /** The hold that was released; null when there was none, or it is not the one that followed on this refused version. */
  release(domain: string, refused?: string): Promise<SiteHold | null>;
  /** Notes a version that was not promoted because of a person's hold; null when that is gone by now. */
  noteWaiting(domain: string, version: string): Promise<SiteHold | null>;
}

/** The pointer was not moved, because a person holds the site at another version. */
export class SiteHeld extends Error {
  override readonly name = 'SiteHeld';
  readonly hold: SiteHold;

  constructor(domain: string, hold: SiteHold) {
    super(`${domain} is held at ${hold.version} since ${hold.since}`);
    this.hold = hold;
  }
}

/** The hold after the request, given the one before. */
export function holdAfter(before: SiteHold | null, version: string, { reason, at, refused }: HoldRequest): SiteHold {
  if (refused) {
    if (before && !before.refused) return before;
    const since = before?.refused?.version === refused.version ? before.since : at.toISOString();
    return { version, since, reason, waiting: null, refused };
  }
  if (before?.version === version && !before.refused) return { ...before, reason: reason ?? before.reason };
  // A version that waited and is now in service no longer waits.
  return {
    version,
    since: at.toISOString(),
    reason,
    waiting: before?.waiting === version ? null : (before?.waiting ?? null),
  };
}

/** The hold with a version that waits for its release; null where none does: without a hold, or with a check's. */
export function holdWaiting(before: SiteHold | null, version: string): SiteHold | null {
  return before && !before.refused ? { ...before, waiting: version } : null;
}

/** Versions that retention keeps for a hold. */
export function heldVersions(hold: SiteHold | null): string[] {
  if (hold === null) return [];
  return [hold.version, hold.waiting, hold.refused?.version].filter((version) => typeof version === 'string');
}

export const stagedSchema = z.object({
  contentDigest: digest,
  archive: z.object({ sha256: digest, bytes: size, format: z.enum(['tar.gz', 'tar', 'zip']) }),
  pages: size,
  files: z.array(z.object({ path: z.string(), bytes: size, sha256: digest })),
  source: z.object({ org: z.string(), domain: z.string(), jobId: z.string() }),
});
/** A verified archive that has no version's name yet. */
export type StagedManifest = z.infer<typeof stagedSchema>;

export const manifestSchema = stagedSchema.extend({ version: z.string() });
/** `manifest.json` of a version (contracts.md "bundle store"). */
export type Manifest = z.infer<typeof manifestSchema>;

export const currentSchema = z.object({
  version: z.string(),
  contentDigest: digest,
  publishedAt: z.string(),
  /** Grows by one with every move of the pointer. */
  epoch: z.int().positive(),
  /** Versions in service before, newest first, without those that a check refused; absent if there are none. */
  before: z.array(z.string()).exactOptional(),
});
/** `current.json` of a domain. */
export type Current = z.infer<typeof currentSchema>;

const mostBefore = 5;

/** The pointer's `before` after it has moved from `now` to `version`. */
function inServiceBefore(now: Current | null, version: string, hold: SiteHold | null): Pick<Current, 'before'> {
  if (now === null) return {};
  const forgotten = [version, hold?.refused?.version];
  const before = [now.version, ...(now.before ?? [])].filter((one) => !forgotten.includes(one)).slice(0, mostBefore);
  return before.length === 0 ? {} : { before };
}

export interface PublishedVersion {
  version: string;
  contentDigest: string;
  publishedAt: string;
  pages: number;
  bytes: number;
  jobId: string;
}

/** What is stored under a version's name, complete or not. */
export interface StoredVersion {
  version: string;
  files: { name: string; bytes: number }[];
}

const observedTargetSchema = z.object({
  runs: z.enum(['version', 'none', 'unknown']),
  version: z.string().nullable(),
  why: z.string().nullable(),
  since: z.string(),
});
export const observedSchema = z.record(z.string(), observedTargetSchema);
/** What each target of a site was seen to run, and since when it was seen so or says so itself (ISO 8601). */
export type ObservedTargets = Readonly<z.infer<typeof observedSchema>>;
export type ObservedTarget = z.infer<typeof observedTargetSchema>;

/** What a site has in service, and where a person holds it; nulls for neither. */
export interface InService {
  current: string | null;
  held: string | null;
}

/** Called for a domain whose record cannot be read. */
export type OnDamaged = (domain: string, error: RecordDamaged) => void;

/** How work is stopped, and how it reports progress. */
export interface Work {
  signal?: AbortSignal | undefined;
  onProgress?: (() => void) | undefined;
  /** Called last before a version appears; throws to prevent it. */
  confirm?: (() => Promise<void>) | undefined;
}

/** The step that moves the pointer, where Temporal may have given it up meanwhile. */
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
  readonly place: string;
  readonly holds: SiteHolds;
  /** A private file on this machine to download into; the same path for the same `stageId`. */
  stagingFile(stageId: string): Promise<string>;
  /** Records what verification found: now every worker of the store can publish it. Throws `StagedChanged`. */
  saveStaged(stageId: string, manifest: StagedManifest, work?: Work): Promise<void>;
  /** The record of a staged archive that is still there, if it has this seal (`sealOf`); null otherwise. */
  staged(stageId: string, seal: string): Promise<StagedManifest | null>;
  /** Removes a staged download and its leftovers; does nothing when there is none. */
  discardStaged(stageId: string): Promise<void>;
  /**
   * Publishes the staged archive as `version`, whole or not at all, and signed if the store signs; may be repeated. The
   * staged archive must have the `seal` (`sealOf`) that it had when it was verified, and the published copy is hashed
   * again. Throws `StagedChanged`, `VersionConflict`, `SigningKeyUnusable`.
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
  /** Takes the pointer away if it is at this version: nothing is in service then. */
  unsetCurrent(domain: string, version: string): Promise<void>;
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
  /** The version last rolled out to `target`; null for none, and while a rollout, perhaps cut off, is under way. */
  rolledOut(domain: string, target: string): Promise<string | null>;
  /** From now on `prune` leaves the version alone until another is started for `target`. Throws `NoSuchVersion`. */
  startRollout(domain: string, target: string, version: string): Promise<void>;
  recordRollout(domain: string, target: string, version: string): Promise<void>;
  /** What the targets were last seen to run, by their names; empty before the first look (`observed.json`). */
  observed(domain: string): Promise<ObservedTargets>;
  recordObserved(domain: string, observed: ObservedTargets): Promise<void>;
  /** Removes versions beyond the newest `keep` that nothing needs (`prunable`). Returns what it removed. */
  prune(domain: string, keep: number): Promise<string[]>;
  /** Removes a version that was not approved, unless `prune` would keep it as one in use; may be repeated. */
  withdraw(domain: string, version: string): Promise<void>;
  /** Removes what dead processes left of this domain, and, once an hour of `now`, beside the domains. */
  removeAbandoned(domain: string, now: Date): Promise<void>;
  /**
   * As `current` and `holds`, which stay authoritative (decisions/0100), without a request for each domain. One with a
   * damaged record is left out and told to `onDamaged`; without that, throws `RecordDamaged`.
   */
  inService(domains: readonly string[], onDamaged?: OnDamaged): Promise<Map<string, InService>>;
  /** Domains with anything in the store. */
  domains(): Promise<string[]>;
  /** Everything under `versions/`, complete or not, newest first. */
  inventory(domain: string): Promise<StoredVersion[]>;
  /** The content of a version's file, or a range of it; null when the file does not exist. */
  open(domain: string, version: string, file: string, range?: ByteRange): Promise<Readable | null>;
  /** Each manifest must be signed by one of these keys; null where none has to be. Throws `SigningKeyUnusable`. */
  verificationKeys(): Promise<TrustedKeys | null>;
  /** Whether versions can be published, and signed if the store signs. Throws `SigningKeyUnusable`. */
  checkWritable(): Promise<void>;
}

export class PointerMoved extends Error {
  override readonly name = 'PointerMoved';
}

const clocksDifferByMs = 5 * 60_000;

/** A claim dated further ahead than clocks differ comes from a wrong clock and is ignored. */
const isAhead = (claimedAt: Date, since: Date): boolean =>
  claimedAt.getTime() > Math.max(Date.now(), since.getTime()) + clocksDifferByMs;

/** Whether a claim takes the place of the one before. */
export const replacesClaim = (before: Date | null, since: Date): boolean =>
  before === null || before < since || isAhead(before, since);

/** Throws `PointerMoved` when the domain was claimed after the mover's step was scheduled. */
function requireUnclaimed(domain: string, claimedAt: Date | null, mover: Mover | undefined): void {
  if (claimedAt === null || mover === undefined || claimedAt <= mover.since) return;
  if (isAhead(claimedAt, mover.since)) return;
  const [claimed, own] = [claimedAt.toISOString(), mover.since.toISOString()];
  throw new PointerMoved(
    `a run that began this step at ${claimed} has claimed ${domain}, and this run began it at ${own}, by Temporal's clock`,
  );
}

/** The pointer after it has moved. Throws `SiteHeld`, `PointerMoved`. */
export function movedPointer(
  domain: string,
  { now, hold, claimedAt }: { now: Current | null; hold: SiteHold | null; claimedAt: Date | null },
  move: { version: string; contentDigest: string; expectedEpoch: number; publishedAt: Date },
  mover: Mover | undefined,
): Current {
  const { version, contentDigest, expectedEpoch, publishedAt } = move;
  if (hold !== null && hold.version !== version) throw new SiteHeld(domain, hold);
  requireUnclaimed(domain, claimedAt, mover);
  const epoch = now?.epoch ?? 0;
  if (epoch !== expectedEpoch) {
    throw new PointerMoved(`${domain} is at epoch ${epoch}, not ${expectedEpoch}: another run has published`);
  }
  const next = { version, contentDigest, publishedAt: publishedAt.toISOString(), epoch: epoch + 1 };
  return { ...next, ...inServiceBefore(now, version, hold) };
}

export class NoSuchVersion extends ExplainedError {
  override readonly name = 'NoSuchVersion';
  readonly code = 'NoSuchVersion';
  override readonly hint = 'see `docferry export versions`';
}

/** The store's folder cannot be used: missing rights, read-only, full. */
export class StoreNotWritable extends ExplainedError {
  override readonly name = 'StoreNotWritable';
  readonly code = 'StoreUnavailable';
  override readonly hint = null;
}

/** The object store refuses a request for a reason that a person can fix; never holds a key or an answer. */
export class StoreRefused extends ExplainedError {
  override readonly name = 'StoreRefused';
  readonly code = 'StoreUnavailable';
  /** True when it may pass without a person, as when expired credentials are renewed by their issuer. */
  readonly mayPass: boolean;

  constructor(problem: string, hint: string, mayPass = false) {
    super(problem, hint);
    this.mayPass = mayPass;
  }
}

/** The object store does not answer or is overloaded; it may work later. */
export class StoreUnreachable extends ExplainedError {
  override readonly name = 'StoreUnreachable';
  readonly code = 'StoreUnavailable';
  override readonly hint = 'check store.bundles.s3.endpoint and the network, or try later';
}

/** Nothing can be published because the signing key cannot be used; never holds a part of the key. */
export class SigningKeyUnusable extends ExplainedError {
  override readonly name = 'SigningKeyUnusable';
  readonly code = 'SigningKeyUnusable';
  override readonly hint: string;

  constructor(keyFile: string, problem: string, hint?: string) {
    super(`the signing key ${keyFile} ${problem}`);
    const usual =
      'a key file of `minisign -G`, with its password unless made with -W; to read versions, publicKey is enough';
    this.hint = hint ?? `see store.bundles.signing: ${usual}`;
  }
}

/** The version's name already has other content; versions never change. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict';
}

/** A stored version is not, or no longer, what its manifest says; the message says how. */
export class VersionDamaged extends Error {
  override readonly name = 'VersionDamaged';
}

/** A stored version is signed by a key that this process does not know; workers know a new key one after another. */
export class SignedByUnknownKey extends VersionDamaged {}

/** The staged archive is missing, or not the one that was verified. */
export class StagedChanged extends Error {
  override readonly name = 'StagedChanged';
}

/** Another program, or a person, has damaged a JSON file of the store. */
export class RecordDamaged extends ExplainedError {
  override readonly name = 'RecordDamaged';
  readonly code = 'StoreUnavailable';
  override readonly hint = 'put it back from a backup; `docferry store verify` says what else is damaged';

  constructor(file: string) {
    super(`${file} in the bundle store is damaged`);
  }
}

/** Another process has kept the store's lock for too long; it may work later. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}

/** Runs a change of the store; errors of the file system that a person must fix become `StoreNotWritable`. */
export async function changing<T>(folder: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const problem = pathProblem(error);
    if (problem === null) throw error;
    throw new StoreNotWritable(`the bundle store ${folder} ${problem.what}: ${problem.fix}`);
  }
}

/** For host names, version names and stage ids: no separators, no leading dot (contracts.md). */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}$/;

export function isStoreName(name: string): boolean {
  return namePattern.test(name);
}

/** Returns the name if it can name a folder in the store; throws `RangeError` otherwise. */
export function storeName(what: 'domain' | 'version' | 'stage id' | 'file', name: string): string {
  if (isStoreName(name)) return name;
  throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is no ${what}`);
}

/** Paths in a bundle store, relative to its root (contracts.md "bundle store"). Each throws `RangeError`. */
export const stagingRoot = '.staging';
export const identityPath = '.store.json';
export const stagingPath = (stageId: string): string => `${stagingRoot}/${storeName('stage id', stageId)}`;
/** Objects whose names say what is in service for every domain: one listing shows it (decisions/0100). */
export const marksRoot = '.in-service';
export const versionsPath = (domain: string): string => `${storeName('domain', domain)}/versions`;
export const versionPath = (domain: string, version: string): string =>
  `${versionsPath(domain)}/${storeName('version', version)}`;
export const manifestPath = (domain: string, version: string): string =>
  `${versionPath(domain, version)}/${manifestName}`;

export const manifestName = 'manifest.json';
/** The manifest's signature, where the store signs (`signing/`). */
export const signatureName = `${manifestName}.minisig`;

/** Name of the archive in a version's folder. */
export function bundleName(manifest: Pick<Manifest, 'archive'>): string {
  return `bundle.${manifest.archive.format}`;
}

/** The immutable address of a version's archive. */
export function publishedAddress(publicUrl: string, domain: string, manifest: Manifest): string {
  return `${withoutEnd(publicUrl, '/')}/${versionPath(domain, manifest.version)}/${bundleName(manifest)}`;
}

/** Where an S3 store is. */
export interface S3Location {
  bucket: string;
  /** Prefix of every key, without slashes around it; empty for the whole bucket. */
  prefix: string;
  /** Address of the object store; AWS when absent. Buckets are then named in the path. */
  endpoint?: string | undefined;
  /** From AWS's own variables and profiles when absent. */
  region?: string | undefined;
}

/** For people: `s3://bucket/prefix at https://…`. */
export function locationText({ bucket, prefix, endpoint }: S3Location): string {
  const path = prefix === '' ? bucket : `${bucket}/${prefix}`;
  return `s3://${path}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
}
