import { helpfulCommand, type Notice, type Noticed, type NoticeType } from './notices.ts';

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
  /** Parts of an outage that people know: no message. */
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
    } else if (outage.some(({ toldAt }) => now - Date.parse(toldAt ?? '') < outageMs)) {
      known.push(row);
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
const isAbout = (subject: string, other: string) => subject === other || subject.startsWith(`${other}/`);

/** Most characters of the further subjects in a message: workflows carry it. */
const longestOthers = 2_000;

/** What a message says about a group of rows. */
export function noticeOf(org: string, rows: readonly [NoticeRow, ...NoticeRow[]]): Notice {
  const [{ type, subject, open, facts }, ...further] = rows;
  const state = open ? 'begun' : 'ended';
  const since = rows.map((row) => row.since).reduce((least, each) => (each < least ? each : least));
  const [reason = null, ...reasons] = rows.map((row) => (open || sentAlone.has(type) ? row.reason : null));
  if (further.length === 0) {
    const command = open ? helpfulCommand(type, subject, org) : null;
    return { org, subject, state, since, reason, command, facts: open ? facts : {} };
  }
  let room = longestOthers;
  const named = further.flatMap((row, index) => {
    const other = { subject: row.subject, reason: reasons[index] === reason ? null : (reasons[index] ?? null) };
    room -= JSON.stringify(other).length;
    return room < 0 ? [] : [other];
  });
  // A person looks at each version that waits: never one command for all of them.
  const shows = type.startsWith('approval.') ? `docferry export status ${subject}` : `docferry status --org ${org}`;
  const command = open ? shows : null;
  return { org, subject, state, since, reason, command, facts: {}, others: { count: further.length, named } };
}
