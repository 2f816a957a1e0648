import { z } from 'zod/mini';
import type { WindowView } from '../../budget/rules/window-view.ts';
import { type EndDetail, failedTargets, type RunOutcome, whyEnded } from '../../exports/rules/site-export.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { count, own, reader, text } from '../../rules/messages.ts';
import { clipped, spanText, visibleText } from '../../rules/text.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';

/** What docferry reports to people because they must act on it or want to know. */
export const noticeTypes = [
  'approval.wanted',
  'approval.expiring',
  'export.failed',
  'export.refused',
  'export.late',
  'rollout.failed',
  'rollout.drifted',
  'site.rolled-back',
  'site.held',
  'pass.failed',
  'feedback.stale',
  'feedback.missing',
  'key.refused',
  'budget.starved',
  'webhook.gone',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** `begun` is sent once however often it repeats, and `ended` once after it; `happened` has no end. */
export const noticeStates = ['begun', 'ended', 'happened'] as const;
export type NoticeState = (typeof noticeStates)[number];

/** Short values that go with a notice: names, counts and times. */
type NoticeFacts = Readonly<Record<string, string | number>>;

/** The data of an event that docferry reports. Bounded, and without personal data. */
export interface Notice {
  org: string;
  /** A domain, a project, `<project>/<pass>`, the name of a webhook, or the organization. */
  subject: string;
  state: NoticeState;
  /** Since when the condition holds, or held if it has ended; ISO 8601. */
  since: string;
  /** Why, in words; null where the type says it. */
  reason: string | null;
  /** The command that helps, or shows more; null where none does, or nothing is to be done. */
  command: string | null;
  facts: NoticeFacts;
  /** Further subjects of the same message; absent where there are none. `named`: as many as fit, `reason` where it differs. */
  others?: { count: number; named: { subject: string; reason: string | null }[] };
  /** Who did or decided it, by the audit, and why in that person's words; absent where nobody is known to have. */
  decided?: { who: string; why: string | null };
}

export interface Noticed {
  type: NoticeType;
  subject: string;
  state: NoticeState;
  reason?: string | null;
  facts?: NoticeFacts;
  /** ISO 8601: until when a person can act. */
  until?: string;
  /** Distinguishes two occurrences: the version that waits, what a receiver's settings were. */
  mark?: string;
  /** True when another message says it: only its state is kept. */
  silent?: boolean;
  /** Since when it holds (ISO 8601): sent although people know it already. */
  again?: string;
}

/** Longest reason in a message, in characters. */
const longestReason = 300;

/** A reason on one line and bounded. */
export function noticeReason(text: string): string | null {
  const line = visibleText(text.replace(/\s+/g, ' ')).trim();
  return clipped(line, longestReason) || null;
}

/** What the row of a run says about its end. */
export interface EndedExport {
  domain: string;
  outcome: RunOutcome;
  /** Null for a rollback, which asks the service for nothing, and for an export that got no job. */
  jobId: string | null;
  version: string | null;
  /** JSON text of `EndDetail`. */
  detail: string;
}

type Detail = EndDetail & { previous?: string | null };

/** Decisions of a person, not faults of the bundle. */
const decisions: Readonly<Record<string, string>> = {
  'not-approved': 'rejected',
  'approval-expired': 'not decided in time, so it counts as rejected',
};

/** The notices about a run of a site that has ended, and those that its end closes. */
export function exportNotices(run: EndedExport): Noticed[] {
  const detail = JSON.parse(run.detail) as Detail;
  if (isRollback(run)) return rollbackNotices(run, detail);
  const ends = exportEnds(run, detail);
  return [...approvalEnds(run, detail), ...(detail.limited ? ends.filter(({ state }) => state === 'begun') : ends)];
}

/** A rollback has a version without a job; an export that brings one has a job. */
function isRollback({ jobId, version }: EndedExport): boolean {
  return jobId === null && version !== null;
}

/** The person who asked sees that a rollback failed; nothing has changed then. */
function rollbackNotices({ domain, outcome, version }: EndedExport, detail: Detail): Noticed[] {
  if (outcome !== 'rolled-back' && outcome !== 'rollout-failed') return [];
  const { previous } = detail;
  const facts = { version: version ?? '', ...(previous && { previous }) };
  return [
    { type: 'site.rolled-back', subject: domain, state: 'happened', facts },
    { type: 'site.held', subject: domain, state: 'begun', silent: true },
    ...rolloutNotices(domain, version, detail),
  ];
}

function exportEnds({ domain, outcome, version }: EndedExport, detail: Detail): Noticed[] {
  const failed = { type: 'export.failed', subject: domain } as const;
  const refused = { type: 'export.refused', subject: domain } as const;
  if (outcome === 'cancelled') return [];
  if (outcome === 'failed') return [{ ...failed, state: 'begun', reason: noticeReason(whyEnded(detail)) }];
  const works: Noticed = { ...failed, state: 'ended' };
  if (outcome !== 'rejected') {
    const accepted: Noticed[] = [works, { ...refused, state: 'ended' }];
    // What a check refused before is not tried again, and people know it.
    const isHeldBack = outcome === 'unchanged' && (detail.reasons ?? []).length > 0;
    return isHeldBack ? accepted : [...accepted, ...rolloutNotices(domain, version, detail)];
  }
  const rules = (detail.reasons ?? []).map(({ rule }) => rule);
  if (rules.some((rule) => rule in decisions)) return [works];
  return [works, { ...refused, state: 'begun', reason: noticeReason(whyEnded(detail)) }];
}

function rolloutNotices(domain: string, version: string | null, detail: Detail): Noticed[] {
  const { rollouts = [] } = detail;
  if (rollouts.length === 0) return [];
  const about = { type: 'rollout.failed', subject: domain } as const;
  if (failedTargets(rollouts).length === 0) return [{ ...about, state: 'ended' }];
  const facts = { ...(version && { version }), failed: failedTargets(rollouts).length, targets: rollouts.length };
  return [{ ...about, state: 'begun', reason: noticeReason(whyEnded(detail)), facts }];
}

/** However a run ends, no version of it waits any more. */
function approvalEnds({ domain, outcome }: EndedExport, { reasons = [] }: Detail): Noticed[] {
  const decided = reasons.map(({ rule }) => decisions[rule]).find((words) => words !== undefined);
  const ended =
    outcome === 'failed' || outcome === 'cancelled'
      ? `the export was ${outcome}`.replace('was failed', 'failed')
      : 'approved';
  return [
    { type: 'approval.wanted', subject: domain, state: 'ended', reason: decided ?? ended },
    { type: 'approval.expiring', subject: domain, state: 'ended', silent: true },
  ];
}

interface EndedPass {
  project: string;
  pass: string;
  outcome: string;
  error: string | null;
  /** The dates that it was limited to; null for none. */
  dateFrom: string | null;
  dateTo: string | null;
}

/** The notices about a pass that has ended: each kind of pass fails and recovers separately, a sweep by one of everything. */
export function passNotices(pass: EndedPass): Noticed[] {
  const about = { type: 'pass.failed', subject: `${pass.project}/${pass.pass}` } as const;
  const isPart = pass.pass === 'sweep' && (pass.dateFrom ?? pass.dateTo) !== null;
  if (pass.outcome === 'completed') return isPart ? [] : [{ ...about, state: 'ended' }];
  if (pass.outcome === 'failed')
    return [{ ...about, state: 'begun', reason: noticeReason(withoutFailureType(pass.error ?? '')) }];
  return [];
}

/** The command that helps with a notice; null where only a change of the configuration does. */
export function helpfulCommand(type: NoticeType, subject: string, org: string): string | null {
  const [project = ''] = subject.split('/');
  const commands: Record<NoticeType, string | null> = {
    'approval.wanted': `docferry export approve ${subject}`,
    'approval.expiring': `docferry export approve ${subject}`,
    'export.failed': `docferry export status ${subject}`,
    'export.refused': `docferry export status ${subject}`,
    'export.late': `docferry export start ${subject} --wait`,
    'rollout.failed': `docferry export status ${subject}`,
    'rollout.drifted': `docferry export start ${subject} --wait`,
    'site.rolled-back': `docferry export release ${subject}`,
    'site.held': `docferry export release ${subject}`,
    'pass.failed': `docferry feedback status ${project}`,
    'feedback.stale': `docferry feedback status ${subject}`,
    'feedback.missing': `docferry feedback status ${subject}`,
    'key.refused': 'docferry doctor --key',
    'budget.starved': `docferry budget show ${org}`,
    'webhook.gone': null,
  };
  return commands[type];
}

/** A condition that holds or has ended, and what people know of it. Times are ISO 8601. */
export interface NoticeRow extends Required<Pick<Noticed, 'type' | 'subject' | 'facts'>> {
  open: boolean;
  /** What people were told last: that it holds, or not. */
  told: boolean;
  since: string;
  changedAt: string;
  toldAt: string | null;
  until: string | null;
  mark: string | null;
  reason: string | null;
}

/** Each of these is a decision of its own: it is told whatever was told before, and its end says how it ended. */
export const sentAlone: ReadonlySet<NoticeType> = new Set([
  'approval.wanted',
  'approval.expiring',
  'export.refused',
  'site.held',
]);

/** What follows from something that people know already says nothing while that holds. */
const followsFrom: Partial<Record<NoticeType, readonly NoticeType[]>> = {
  'export.late': ['export.failed', 'export.refused', 'approval.wanted', 'key.refused'],
  'rollout.drifted': ['rollout.failed'],
  'feedback.stale': ['pass.failed', 'budget.starved', 'key.refused'],
  'budget.starved': ['key.refused'],
};

/** An outage that people know says no more for so long, however many it reaches. */
const outageMs = 86_400_000;

/** What to tell people now. */
interface DueNotices {
  /** A message each: rows of one type and state, one at least. */
  groups: NoticeRow[][];
  /** Parts of an outage that people know: no message. `toldAt` is when people were told of that outage. */
  known: NoticeRow[];
}

/**
 * One message for one act and one outage: what changed at about the same time goes together; what fails for a reason
 * that people were told within a day, while that holds, is part of it; and an outage is over when its last part is.
 *
 * @param rows all of an organization
 * @param now milliseconds
 */
export function dueNotices(rows: readonly NoticeRow[], now: number): DueNotices {
  const told = rows.filter(({ open, told }) => open && told);
  const groups = new Map<string, NoticeRow[]>();
  const known: NoticeRow[] = [];
  for (const row of rows) {
    if (row.open === row.told) continue;
    const outage = told.filter((other) => isSameOutage(other, row));
    if (!row.open) {
      const isOver = outage.length === 0 || now - Date.parse(row.changedAt) >= outageMs;
      if (!isOver) continue;
    } else if (rows.some((other) => explains(other, row))) {
      // Also in the look that finds the explanation over: what follows from it may need a moment more.
      continue;
    }
    const toldAt = outage
      .map((other) => other.toldAt ?? '')
      .reduce((latest, each) => (each > latest ? each : latest), '');
    if (row.open && now - Date.parse(toldAt) < outageMs) {
      known.push({ ...row, toldAt });
      continue;
    }
    const key = `${row.type} ${row.open}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return { groups: [...groups.values()], known };
}

function isSameOutage(one: NoticeRow, other: NoticeRow): boolean {
  return one.type === other.type && !sentAlone.has(one.type) && causeOf(one) === causeOf(other);
}

/** A reason without what differs from one subject to the next: its name, numbers, versions and times. */
function causeOf({ subject, reason }: NoticeRow): string | undefined {
  return reason?.replaceAll(subject, '').replaceAll(/\b[0-9a-f]{6,}\b|\d+/g, '#');
}

function explains(other: NoticeRow, row: NoticeRow): boolean {
  if (!followsFrom[row.type]?.includes(other.type)) return false;
  return other.type === 'key.refused' || other.type === 'budget.starved' || isAbout(other.subject, row.subject);
}

/** What holds, without what follows from something else that holds. */
export function causesHolding(rows: readonly NoticeRow[]): NoticeRow[] {
  const open = rows.filter((row) => row.open);
  return open.filter((row) => !open.some((other) => explains(other, row)));
}

/** A pass is about its project. */
export const isAbout = (subject: string, other: string) => subject === other || subject.startsWith(`${other}/`);

/** Most characters of the further subjects in a message: workflows carry it. */
const longestOthers = 2_000;

/** What a message says about a group of rows. */
export function noticeOf(org: string, rows: readonly [NoticeRow, ...NoticeRow[]]): Notice {
  const [{ type, subject, open, facts }, ...further] = rows;
  const state = open ? 'begun' : 'ended';
  const since = rows.map((row) => row.since).reduce((least, each) => (each < least ? each : least));
  const [reason = null, ...reasons] = rows.map((row) => (open || sentAlone.has(type) ? row.reason : null));
  const helps = open ? helpfulCommand(type, subject, org) : null;
  if (further.length === 0) {
    return { org, subject, state, since, reason, command: helps, facts: open ? facts : {} };
  }
  let room = longestOthers;
  const named = further.flatMap((row, index) => {
    const other = { subject: row.subject, reason: reasons[index] === reason ? null : (reasons[index] ?? null) };
    room -= JSON.stringify(other).length;
    return room < 0 ? [] : [other];
  });
  // A person looks at each version that waits: never one command for all of them.
  const shows = type.startsWith('approval.') ? `docferry export status ${subject}` : `docferry status --org ${org}`;
  const command = helps === null ? null : shows;
  return { org, subject, state, since, reason, command, facts: {}, others: { count: further.length, named } };
}

/** What the watch of an organization has seen; it concludes nothing from a part that could not be read (null). */
export interface Sight {
  now: number;
  /** When the watch began: what never happened counts from then. */
  since: number;
  /** Projects with a limit, and when their newest entries were last read. */
  projects: { project: string; limitMs: number; readAt: number | null }[] | null;
  /** Sites with a limit. */
  sites: { domain: string; limitMs: number; lastExport: string | null }[] | null;
  holds: { domain: string; version: string; since: string; waiting: string | null }[] | null;
  /** Targets that were rolled out to and run another version now. */
  drifted: { domain: string; target: string; version: string; running: string }[] | null;
  /** Sites with a target that could not be read: what had drifted there counts as drifted still. */
  unread: readonly string[];
  approvals: { domain: string; since: string; until: string }[] | null;
  budget: { org: string; view: WindowView } | null;
  /** Runs that wait because the service refuses the key. */
  refusedRuns: { org: string; count: number } | null;
}

/** The conditions that hold now, and the types checked completely: their open notices not listed here are over. */
interface Seen {
  holding: Noticed[];
  types: NoticeType[];
  /** As in `Sight`. */
  unread?: readonly string[];
}

/** Windows after which an unserved waiter of the budget is starved. */
const starvedAfterWindows = 2;
/** A second notice asks for a decision in the last quarter of its time, and at most a day before its end. */
const longestWarningMs = 86_400_000;

/** The notices that are due because time has passed. */
export function watchedConditions(sight: Sight): Seen {
  const found = [late, stale, held, drifted, expiring, starved, refused].map((look) => look(sight));
  const seen = found.filter((each) => each !== null);
  return {
    holding: seen.flatMap(({ holding }) => holding),
    types: seen.flatMap(({ types }) => types),
    unread: sight.unread,
  };
}

function late({ sites, now, since }: Sight): Seen | null {
  return seen('export.late', sites, ({ domain, limitMs, lastExport }) => {
    const age = now - (lastExport === null ? since : Date.parse(lastExport));
    if (age <= limitMs) return null;
    const last =
      lastExport === null ? 'no export has brought a version yet' : `the last good export was at ${lastExport}`;
    return { subject: domain, reason: `${last}; expected within ${spanText(limitMs)}` };
  });
}

function stale({ projects, now, since }: Sight): Seen | null {
  return seen('feedback.stale', projects, ({ project, limitMs, readAt }) => {
    if (now - (readAt ?? since) <= limitMs) return null;
    const read = readAt === null ? 'have not been read yet' : `were last read at ${new Date(readAt).toISOString()}`;
    return { subject: project, reason: `its newest entries ${read}; expected within ${spanText(limitMs)}` };
  });
}

function held({ holds }: Sight): Seen | null {
  return seen('site.held', holds, ({ domain, version, since, waiting }) => ({
    subject: domain,
    reason: `held at ${version} since ${since}`,
    facts: { version, ...(waiting !== null && { waiting }) },
  }));
}

function drifted({ drifted: targets }: Sight): Seen | null {
  const domains = targets && [...new Set(targets.map(({ domain }) => domain))];
  return seen('rollout.drifted', domains, (subject) => {
    const its = (targets ?? []).filter(({ domain }) => domain === subject);
    const [version = ''] = its.map((each) => each.version);
    const reason = its.map(({ target, running }) => `${target} runs ${running} instead of ${version}`).join('; ');
    return { subject, reason: noticeReason(reason), facts: { version, targets: its.length } };
  });
}

function expiring({ approvals, now }: Sight): Seen | null {
  return seen('approval.expiring', approvals, ({ domain, since, until }) => {
    const end = Date.parse(until);
    const warnMs = Math.min(longestWarningMs, (end - Date.parse(since)) / 4);
    return now < end - warnMs ? null : { subject: domain, reason: `it counts as rejected from ${until} on` };
  });
}

function starved({ budget, now }: Sight): Seen | null {
  return seen('budget.starved', budget && [budget], ({ org, view }) => {
    const waits = view.waiters.map(({ since }) => now - since);
    const longest = Math.max(0, ...waits);
    // A refused key has a separate message.
    if (longest <= starvedAfterWindows * view.windowMs || view.pausedBy === 'unauthorized') return null;
    const why = view.pausedBy === 'paused' ? 'the budget is paused' : `${view.used} of ${view.limit} requests are used`;
    const reason = `the longest wait is ${spanText(longest)}; ${why}`;
    return { subject: org, reason, facts: { waiting: waits.length, limit: view.limit, used: view.used } };
  });
}

function refused({ budget, refusedRuns }: Sight): Seen | null {
  return seen('key.refused', refusedRuns && [refusedRuns], ({ org, count }) => {
    if (count === 0 && budget?.view.pausedBy !== 'unauthorized') return null;
    const reason = 'the service answers 401; runs that need the key wait, and continue once the service accepts it';
    return { subject: org, reason, facts: { runsWaiting: count } };
  });
}

function seen<Entry>(
  type: NoticeType,
  entries: readonly Entry[] | null,
  conditionOf: (entry: Entry) => Omit<Noticed, 'type' | 'state'> | null,
): Seen | null {
  if (entries === null) return null;
  const found = entries.map(conditionOf).filter((condition) => condition !== null);
  return { holding: found.map((condition) => ({ type, state: 'begun', ...condition })), types: [type] };
}

/** Types that come and go while they hold: they are over once two looks in a row have not seen them. */
const unsteady: ReadonlySet<NoticeType> = new Set(['key.refused', 'budget.starved']);

/** What begins and what ends, given what was sent; `absent` are unsteady types that the next look may end. */
export function changesSince(
  { holding, types, unread = [] }: Seen,
  open: readonly { type: NoticeType; subject: string }[],
  absentBefore: readonly NoticeType[],
): { changes: Noticed[]; absent: NoticeType[] } {
  const keyOf = ({ type, subject }: { type: NoticeType; subject: string }) => `${type} ${subject}`;
  const [held, known] = [new Set(holding.map(keyOf)), new Set(open.map(keyOf))];
  const begun = holding.filter((condition) => !known.has(keyOf(condition)));
  const stands = ({ type, subject }: { type: NoticeType; subject: string }) =>
    type === 'rollout.drifted' && unread.includes(subject);
  const over = open.filter((notice) => types.includes(notice.type) && !held.has(keyOf(notice)) && !stands(notice));
  const waits = over.filter(({ type }) => unsteady.has(type) && !absentBefore.includes(type));
  const ended = over.filter((notice) => !waits.includes(notice));
  return {
    changes: [...begun, ...ended.map(({ type, subject }): Noticed => ({ type, subject, state: 'ended' }))],
    absent: waits.map(({ type }) => type),
  };
}

const watchInput = z.object({ org: text(), failover: own<WithFailover['failover']>() });
export type WatchInput = z.infer<typeof watchInput>;
export const readWatchInput = reader<WatchInput>(watchInput);

/** What one look of the watch leaves to the next. Times are in milliseconds. */
const lastLook = z.object({
  /** When the watch began: what never happened counts from then. */
  since: count(),
  /** Types that it no longer saw. */
  absent: z.array(z.enum(noticeTypes)),
  /** Runs that ended until then have their rows; null when nobody has looked yet. */
  at: z.nullable(count()),
});
export type LastLook = z.infer<typeof lastLook>;
/** The result of the look before; null for anything else, as at the first look. */
export const readLastLook = (result: unknown): LastLook | null => z.safeParse(lastLook, result).data ?? null;
