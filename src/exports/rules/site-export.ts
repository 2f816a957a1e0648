import type { RefusedKey } from '../../budget/rules/window-state.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { counted, countText, factsTable, sizeText, spanText, visibleText } from '../../rules/text.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';
import type { ProgressSample } from './cadence.ts';

/** Archive formats, recognized by their bytes (verification.md). */
export type ArchiveFormat = 'tar.gz' | 'tar' | 'zip';

/** A verification rule that an archive broke (contracts.md, `export verify`). */
export interface Reason {
  /** Stable kebab-case name of the rule, e.g. `path-traversal`. */
  rule: string;
  /** Path inside the archive, made printable and cut to 200 characters; null for the whole archive. */
  path: string | null;
  detail: string;
}

/** `broken-link (guide.html): line 3: …`. */
export function reasonText({ rule, path, detail }: Reason): string {
  return `${rule}${path === null ? '' : ` (${path})`}: ${detail}`;
}

export interface ArchiveFacts {
  sha256: string;
  bytes: number;
  format: ArchiveFormat;
}

/** What a version changes in a site, for the person who approves it. */
export interface ContentChanges {
  /** The version it is compared with; null for the first version. */
  against: string | null;
  pages: ChangeCounts;
  others: ChangeCounts;
  /** Paths of pages, a few of each kind; empty if too long for a history. */
  listed: Record<keyof ChangeCounts, string[]>;
}

export interface ChangeCounts {
  added: number;
  removed: number;
  changed: number;
  /** The same content under another path. */
  moved: number;
}

const kinds = ['added', 'removed', 'changed', 'moved'] as const satisfies (keyof ChangeCounts)[];

/** `pages: 3 added, 1 removed, 12 changed; 4 other files`. */
export function changesText({ pages, others, against }: ContentChanges): string {
  if (against === null) return `${counted(pages.added, 'page')}, the first version`;
  const words = kinds.filter((kind) => pages[kind] > 0).map((kind) => `${pages[kind]} ${kind}`);
  const rest = kinds.reduce((sum, kind) => sum + others[kind], 0);
  const ofPages = words.length === 0 ? 'no page differs' : `pages: ${words.join(', ')}`;
  return rest === 0 ? ofPages : `${ofPages}; ${counted(rest, 'other file')}`;
}

/** The changes as Markdown: a table of counts, and lists of paths that cannot break out of their code spans. */
export function changesMarkdown(changes: ContentChanges): string {
  const { pages, others, listed, against } = changes;
  const row = (counts: ChangeCounts) => kinds.map((kind) => `${counts[kind]} ${kind}`).join(', ');
  const facts: [string, string][] = [
    ['compared with', against ?? 'nothing (first version)'],
    ['pages', row(pages)],
    ['other files', row(others)],
  ];
  const lists = kinds.flatMap((kind) => {
    const paths = listed[kind];
    if (paths.length === 0) return [];
    const more = pages[kind] - paths.length;
    const lines = paths.map((path) => `- \`${path.replaceAll('`', "'")}\``);
    return [`Pages ${kind}:\n\n${lines.join('\n')}${more > 0 ? `\n- and ${more} more` : ''}`];
  });
  return [factsTable(facts), ...lists].join('\n\n');
}

/** How an export ends; `rollout-failed`: the version is in place, and at least one target does not run it. */
export type ExportOutcome = 'published' | 'unchanged' | 'rejected' | 'rollout-failed';

type RollbackOutcome = 'rolled-back' | 'rollout-failed';

/** How a run of either ends, those without a result included. */
export const runOutcomes = [
  'published',
  'unchanged',
  'rejected',
  'rollout-failed',
  'rolled-back',
  'failed',
  'cancelled',
] as const satisfies (ExportOutcome | RollbackOutcome | 'failed' | 'cancelled')[];
export type RunOutcome = (typeof runOutcomes)[number];

/** `outcome`, unless a target failed. */
export function outcomeWith<Outcome extends RunOutcome>(
  outcome: Outcome,
  rollouts: readonly { target: string; outcome: string }[],
): Outcome | 'rollout-failed' {
  return failedTargets(rollouts).length === 0 ? outcome : 'rollout-failed';
}

/** Names of the targets that a rollout did not reach. */
export function failedTargets(rollouts: readonly { target: string; outcome: string }[]): string[] {
  return rollouts.filter(({ outcome }) => outcome === 'failed').map(({ target }) => target);
}

/** Details of an end, for its row and for Current Details. */
export interface EndDetail {
  /** The failure's type and message, of a run without a result. */
  error?: string;
  reasons?: readonly Reason[];
  held?: string;
  /** Of an export of some pages that was not to become current: it says nothing of the whole site. */
  limited?: true;
  rollouts?: readonly { target: string; outcome: string; detail: string }[];
}

/** Rules by which a person, or the time that passed without one, declines a version: a decision, no failure. */
export const declinedRules = ['not-approved', 'approval-expired'] as const;

const isDeclined = (rule: string): boolean => declinedRules.some((one) => one === rule);

/** Whether an end is one that a person should look at; the overview's `failingSince` counts the same ends. */
export function isBadEnd(outcome: string, { reasons: [reason] = [] }: EndDetail): boolean {
  if (outcome === 'rejected') return reason === undefined || !isDeclined(reason.rule);
  return outcome === 'failed' || outcome === 'rollout-failed';
}

/** Whether an export, a rollback or a pass ended as it should. */
export const endsWell = (outcome: string): boolean =>
  ['published', 'unchanged', 'rolled-back', 'completed'].includes(outcome);

/**
 * Why a run ended as it did, in the words of every list, notice and page: the failure, or the first reason or failed target
 * and how many more there are; empty when all went well. What a person said of a declined version stands alone.
 */
export function whyEnded({ error, reasons = [], rollouts = [] }: Omit<EndDetail, 'held'>): string {
  if (error !== undefined) return withoutFailureType(error);
  const [reason, ...others] = reasons;
  if (reason === undefined) {
    const [failed, ...more] = rollouts.filter(({ outcome }) => outcome === 'failed');
    return failed === undefined ? '' : `${failed.target}: ${failed.detail}${andMore(more.length)}`;
  }
  if (isDeclined(reason.rule)) return visibleText(reason.detail);
  const place = reason.path === null ? '' : ` in ${reason.path}`;
  return `${reason.rule}${place}: ${reason.detail}${andMore(reasonCount(others))}`;
}

/** How many reasons these are; the last of a long list says how many are not in it. */
export const reasonCount = (reasons: readonly Reason[]): number =>
  reasons
    .map(({ rule, detail }) => (rule === 'more-reasons' ? Number.parseInt(detail, 10) || 1 : 1))
    .reduce((sum, count) => sum + count, 0);

/** What stands for reasons that a list leaves out. */
export const moreReasons = (count: number): Reason => ({
  rule: 'more-reasons',
  path: null,
  detail: `${count} more not listed`,
});

/** The first reasons, `most` at most: the last one counts those that the list leaves out. */
export function fewReasons(reasons: readonly Reason[], most: number): Reason[] {
  if (reasons.length <= most) return [...reasons];
  return [...reasons.slice(0, most - 1), moreReasons(reasonCount(reasons.slice(most - 1)))];
}

/** Each reason of an end that has several, where `whyEnded` gives the first; empty for others. */
export function allReasons({ error, reasons = [], rollouts = [] }: EndDetail): string[] {
  const failed = reasons.length > 0 ? [] : rollouts.filter(({ outcome }) => outcome === 'failed');
  const all = [...reasons.map(reasonText), ...failed.map(({ target, detail }) => `${target}: ${detail}`)];
  return error === undefined && all.length > 1 ? all : [];
}

const andMore = (count: number): string => (count === 0 ? '' : `, and ${countText(count)} more`);

/** Progress of a download. */
export interface Transfer {
  offset: number;
  /** Null when unknown. */
  total: number | null;
  /** Over the last seconds; null when unknown yet. */
  bytesPerSecond: number | null;
  /** When this was measured, in milliseconds. */
  at: number;
}

/** 0 to 100; null when the length is unknown. */
export function transferPercent({ offset, total }: Transfer): number | null {
  return total === null || total <= 0 ? null : Math.min(100, (100 * offset) / total);
}

/** `42.9 MiB of 114.4 MiB`, `11.9 MiB/s`, `6 s left`, as far as known. */
export function transferFacts(transfer: Transfer): string[] {
  const { offset, total, bytesPerSecond } = transfer;
  const left = timeLeftMs(transfer);
  return [
    total === null ? sizeText(offset) : `${sizeText(offset)} of ${sizeText(total)}`,
    ...(bytesPerSecond === null ? [] : [`${sizeText(bytesPerSecond)}/s`]),
    ...(left === null ? [] : [`${spanText(left)} left`]),
  ];
}

/** A download that seems to take longer stands still. */
const longestForecastMs = 30 * 86_400_000;

function timeLeftMs({ offset, total, bytesPerSecond }: Transfer): number | null {
  if (total === null || bytesPerSecond === null || bytesPerSecond <= 0) return null;
  const leftMs = (Math.max(0, total - offset) / bytesPerSecond) * 1000;
  return leftMs > longestForecastMs ? null : leftMs;
}

/** Phases of an export, in their order. */
export const exportPhases = [
  'starting',
  'rendering',
  'fetching',
  'verifying',
  'publishing',
  'awaiting-approval',
  'rolling-out',
  'done',
] as const;
export type ExportPhase = (typeof exportPhases)[number];

/** The values of `DocferryPhase`: phases that may last. Each change is written to history and index. */
export const searchedPhase = {
  starting: 'starting',
  rendering: 'rendering',
  fetching: 'fetching',
  verifying: 'fetching',
  publishing: 'fetching',
  'awaiting-approval': 'awaiting-approval',
  'rolling-out': 'rolling-out',
  done: 'done',
} as const satisfies Record<ExportPhase, ExportPhase>;

/** Result of the rollout to one target. */
export interface RolloutResult {
  /** The target's name, unique within a site, e.g. `directory:./site`. */
  target: string;
  outcome: 'rolled-out' | 'already-current' | 'failed';
  detail: string;
  /** What a failure speaks of: the `version`, which leaves service everywhere, or the `target` (a full disk). */
  blames?: 'version' | 'target';
}

/** Longest reason a person can give, in characters: it appears in results and in Current Details. */
export const longestReason = 500;

/** Parameters of an export; requests with equal parameters are the same request (E1). */
export interface ExportParameters {
  siteVersion?: string;
  paths?: string[];
  /** Make an export limited by `paths` the current version too. */
  promote?: boolean;
  force?: boolean;
  /** Never set for an export: the version that a rollback under the same workflow id puts back. */
  rollback?: string;
}

/** Input of `exportSite`. */
export interface ExportInput extends WithFailover {
  org: string;
  domain: string;
  parameters: ExportParameters;
  /** Set by continue-as-new only. */
  carried?: ExportProgress;
  /** Set by continue-as-new only, while the key is refused. */
  refused?: { since: number; refusals: number };
  /** Set by continue-as-new only, while a version waits for approval. */
  awaited?: AwaitedVersion;
}

/** What an export has done so far. */
export interface ExportProgress {
  startedAt: number;
  storeId: string;
  jobId: string | null;
  jobStartedAt: number | null;
  jobsStarted: number;
  /** Starts whose answer was lost: each may have left another job at the service. */
  possibleDuplicates: number;
  polls: number;
  percent: number | null;
  pageCount: number | null;
  samples: ProgressSample[];
  linksRequested: number;
  /** How long the job had run when it was last seen running. */
  runningMs: number;
  /** How long the completed job took, as far as polls can tell. */
  jobMs?: number;
  /** The moment in the name of the version that the fetch publishes: all its attempts and runs use the same name (E6). */
  namedAt?: number;
  ignored?: number;
}

/** Result of `exportSite` (contracts.md, `export start --wait`). */
export interface ExportResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: ExportOutcome;
  jobId: string | null;
  jobsStarted: number;
  possibleDuplicates: number;
  version: string | null;
  contentDigest: string | null;
  archive: ArchiveFacts | null;
  pages: number;
  files: number;
  url: string | null;
  polls: number;
  linksRequested: number;
  rollouts: RolloutResult[];
  reasons: Reason[];
  /** The version at which a person holds the site; null when it is not held. A held site keeps that version. */
  held: string | null;
}

/** Input of `rollBack`. */
export interface RollbackInput extends WithFailover {
  org: string;
  domain: string;
  version: string;
  reason: string | null;
  /** Who rolls back; absent if the actor did not say. */
  who?: string;
}

/** Result of `rollBack` (E7, `export rollback --wait`). */
export interface RollbackResult {
  workflowId: string;
  runId: string;
  org: string;
  domain: string;
  outcome: RollbackOutcome;
  version: string;
  previous: string | null;
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
  held: string;
  rollouts: RolloutResult[];
}

/** A version that waits for a person's approval. */
export interface AwaitedApproval {
  version: string;
  since: number;
  expiresAt: number;
  /** The rules that ask for it (E8); none when only `approval: manual` does. */
  asks: Reason[];
  changes: ContentChanges;
}

/** A version that waits for approval, as the next run needs it. */
interface AwaitedVersion {
  approval: AwaitedApproval;
  /** Whether people were told a second time. */
  reminded: boolean;
  /** What `fetchBundle` returned, with where it was published. */
  bundle: unknown;
}

/** Detail of a `StartUncertain` whose answer came from the service, and could not be read. */
export const answeredStart = 'answered';

/** Detail of a failed rollback that holds the site already. */
export const heldMeanwhile = 'held';

/** Answer of the query `state`. */
export interface ExportState {
  org: string;
  domain: string;
  phase: ExportPhase;
  parameters: ExportParameters;
  progress: ExportProgress | null;
  /** Set while a start that may have made a job is repeated; `nextAt` is null during an attempt. */
  failedStart?: { attempt: number; reason: string; nextAt: number | null } | null;
  /** Set while rendering: when the job is polled next, why then, and when it may be done. */
  nextPoll: { at: number; reason: string; expectedAt: number | null } | null;
  /** Set while the service refuses the key (401); the export continues by itself when it works. */
  unauthorized: RefusedKey | null;
  /** Set while the archive is downloaded, once a heartbeat reports it; the workflow itself does not know. */
  download: Transfer | null;
  version: string | null;
  approval: AwaitedApproval | null;
  rollouts: RolloutResult[];
  ignored: number;
}

/** Whether two requests are equal, the order of paths aside: equal requests are joined, others refused (E1). */
export function sameParameters(a: ExportParameters, b: ExportParameters): boolean {
  const key = (p: ExportParameters) =>
    JSON.stringify([
      p.siteVersion ?? null,
      [...(p.paths ?? [])].sort(),
      p.promote ?? false,
      p.force ?? false,
      p.rollback ?? null,
    ]);
  return key(a) === key(b);
}

/** An export's content, and the version it is compared with. */
export interface Published {
  contentDigest: string;
  current: { version: string; contentDigest: string } | null;
  /** While the site is held: the version that waits for the release, or a kept one of this content; null for none. */
  waiting: { version: string; contentDigest: string } | null;
}

/** The version that has this content already; null when it is new (E6): A, B, A makes three versions. */
export function versionWithContent({ contentDigest, current, waiting }: Published): string | null {
  if (current?.contentDigest === contentDigest) return current.version;
  return waiting?.contentDigest === contentDigest ? waiting.version : null;
}

/** Whether an export becomes the current version (E6). */
export function becomesCurrent(parameters: ExportParameters): boolean {
  return parameters.promote === true || (parameters.paths ?? []).length === 0;
}

const versionPattern = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[0-9a-f]{12}$/;

/** UTC time and 12 digits of the content digest, e.g. `20261121T040200Z-3f9a2c1b8e7d`: names sort by time. */
export function versionName(nowMs: number, contentDigest: string): string {
  if (!/^[0-9a-f]{64}$/.test(contentDigest)) throw new RangeError('the content digest is not 64 lowercase hex digits');
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `${time.replace(/[-:]/g, '')}-${contentDigest.slice(0, 12)}`;
}

/** The moment in a version's name as ISO 8601; null for any other name. */
export function versionTime(version: string): string | null {
  const parts = versionPattern.exec(version);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
