import type { NoticeType } from '../../runs/rules/notice.ts';

/** What holds or ends, as a step has noticed it. */
export interface NoticeTurn {
  org: string;
  type: NoticeType;
  subject: string;
  /** True: it holds from now on; false: it has ended. */
  open: boolean;
  /** The step that noticed it: the same in every attempt of that step, and different in every other step. */
  by: string;
  at: Date;
  /** Until when a person can act; null without an end. */
  until?: string | null;
  /** What tells two occurrences apart, such as the settings of a receiver; null for nothing. */
  mark?: string | null;
}

/** Something that holds and has been told. */
export interface OpenNotice {
  type: NoticeType;
  subject: string;
  since: string;
  until: string | null;
  mark: string | null;
}

/** The record of notices sent, so that a repetition sends none again. It shares the database with the feedback. */
export interface NoticeRecords {
  /**
   * Notes a turn, in one step beside which no other comes. Null when nothing changed, since it was noted already; then
   * there is nothing to tell. A repeat of the turn that did change it gets the same answer as before.
   */
  turnNotice(turn: NoticeTurn): Promise<{ since: string } | null>;
  /** All that holds, ordered by type and subject. */
  openNotices(org: string): Promise<OpenNotice[]>;
  /** When each site's last export that brought or confirmed a version ended, by domain. */
  lastExports(org: string): Promise<ReadonlyMap<string, string>>;
}
