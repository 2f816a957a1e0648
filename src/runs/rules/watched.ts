import type { WindowView } from '../../budget/rules/window-view.ts';
import { spanText } from '../../rules/text.ts';
import { type Noticed, type NoticeType, noticeReason } from './notices.ts';

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
  approvals: { domain: string; since: string; until: string }[] | null;
  budget: { org: string; view: WindowView } | null;
  /** Runs that wait because the service refuses the key. */
  refusedRuns: { org: string; count: number } | null;
}

/** The conditions that hold now, and the types checked completely: their open notices not listed here are over. */
interface Seen {
  holding: Noticed[];
  types: NoticeType[];
}

/** Windows after which an unserved waiter of the budget is starved. */
const starvedAfterWindows = 2;
/** A second notice asks for a decision in the last quarter of its time, and at most a day before its end. */
const longestWarningMs = 86_400_000;

/** The notices that are due because time has passed. */
export function watchedConditions(sight: Sight): Seen {
  const found = [late, stale, held, drifted, expiring, starved, refused].map((look) => look(sight));
  const seen = found.filter((each) => each !== null);
  return { holding: seen.flatMap(({ holding }) => holding), types: seen.flatMap(({ types }) => types) };
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
  { holding, types }: Seen,
  open: readonly { type: NoticeType; subject: string }[],
  absentBefore: readonly NoticeType[],
): { changes: Noticed[]; absent: NoticeType[] } {
  const keyOf = ({ type, subject }: { type: NoticeType; subject: string }) => `${type} ${subject}`;
  const [held, known] = [new Set(holding.map(keyOf)), new Set(open.map(keyOf))];
  const begun = holding.filter((condition) => !known.has(keyOf(condition)));
  const over = open.filter((notice) => types.includes(notice.type) && !held.has(keyOf(notice)));
  const waits = over.filter(({ type }) => unsteady.has(type) && !absentBefore.includes(type));
  const ended = over.filter((notice) => !waits.includes(notice));
  return {
    changes: [...begun, ...ended.map(({ type, subject }): Noticed => ({ type, subject, state: 'ended' }))],
    absent: waits.map(({ type }) => type),
  };
}
