import { longestReason } from '../../exports/rules/site-export.ts';
import {
  instant,
  jsonText,
  nullable,
  type Reader,
  record,
  refuse,
  strictRecord,
  text,
  writing,
} from '../../rules/messages.ts';

/** What people do by hand and the audit keeps (audit.md). */
export const deedActions = [
  'approve',
  'reject',
  'rollback',
  'hold',
  'release',
  'budget-set',
  'budget-reset',
  'budget-pause',
  'budget-resume',
  'budget-configure',
  'erase',
  'start-export',
  'cancel-export',
  'start-pass',
  'cancel-pass',
  'poll-now',
  'schedule-pause',
  'schedule-resume',
  'schedule-trigger',
  'schedule-backfill',
  'end-sessions',
] as const;
export type DeedAction = (typeof deedActions)[number];

/** Something a person did, as the table `audit` keeps it. */
export interface Deed {
  /** Of an update `<run id>/<update id>`, see `OwnDeed` for others: the same deed written again changes nothing. */
  deedId: string;
  /** When it took effect, UTC ISO 8601. */
  at: string;
  action: DeedAction;
  /** Null: everything in the store. */
  org: string | null;
  /** A domain or project, or the login whose sessions were ended; null for the whole organization. */
  subject: string | null;
  who: string;
  /** In a person's words; null when not given. */
  reason: string | null;
  /** JSON text: version, limits or counts, nothing personal. */
  detail: string;
  /** Of the workflow that the deed reached; null where there was none. */
  workflowId: string | null;
}

/** Shape of the input of `recordDeed` (X5). A newer version may have other actions. */
export const readDeed: Reader<Omit<Deed, 'action'> & { action: string }> = record(
  {
    deedId: writing,
    at: instant,
    action: text,
    org: nullable(text),
    subject: nullable(writing),
    who: writing,
    reason: nullable(writing),
    detail: jsonText,
    workflowId: nullable(writing),
  },
  {},
);

/** Who acts and why, by the sender's word, unchecked. */
export interface Sender {
  who?: string;
  reason?: string | null;
}

/** Stands for a sender that gave no name. */
export const unnamedSender = 'Temporal UI or other client';

/** Stands for a person who signed in to the console by the link that the terminal printed. */
export const terminalName = 'terminal';

/** Whether the audit could not tell a person of this login from a sender whose name docferry itself chose. */
export function isReservedName(login: string): boolean {
  const plain = (name: string) => name.normalize('NFKC').trim().toLowerCase();
  return [terminalName, unnamedSender].some((name) => plain(name) === plain(login));
}

/** Longest name of a sender, in characters. */
export const longestName = 100;

const name: Reader<string> = (value, field = '') =>
  typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(value)
    ? value
    : refuse(field, `a name of 1 to ${longestName} characters`);

/** Null for a blank one. */
const reason: Reader<string | null> = (value, field = '') => {
  if (value === null) return null;
  const text = writing(value, field).trim();
  return text.length <= longestReason ? text || null : refuse(field, `a reason of at most ${longestReason} characters`);
};

/** Accepts that nothing is said. */
export const readSender: Reader<Sender> = strictRecord({}, { who: name, reason });
