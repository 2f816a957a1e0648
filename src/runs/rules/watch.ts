import { own, type Reader, record, text } from '../../rules/messages.ts';
import type { WithHandover } from '../../temporal/rules/failover.ts';
import type { NoticeType } from './notice.ts';

/** Input of `watchOrganization`. */
export interface WatchInput extends WithHandover {
  org: string;
  /** Set when it continues as new: when the watch began, in milliseconds, and what the last look no longer saw. */
  carried?: { since: number; absent: readonly NoticeType[] };
}

/** Shape of that (X5). */
export const readWatchInput: Reader<WatchInput> = record(
  { org: text },
  { handover: own<WatchInput['handover']>(), carried: own<WatchInput['carried']>() },
);
