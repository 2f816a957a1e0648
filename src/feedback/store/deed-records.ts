import type { Deed, DeedAction } from '../../runs/rules/audit.ts';

/** What people did by hand, which outlives Temporal's retention. It shares the database with the feedback, no more. */
export interface DeedRecords {
  /** Inserts deeds; those that are there already stay as they are. */
  recordDeeds(deeds: readonly Deed[]): Promise<void>;
  /** Newest first. */
  listDeeds(filter: DeedFilter): AsyncIterable<Deed>;
}

/** The audit of a store that is there, opened for nothing else. */
export interface OpenAudit extends Pick<DeedRecords, 'recordDeeds'> {
  close(): Promise<void>;
}

/** Which deeds; all of them without any of these. */
export interface DeedFilter {
  /** From this moment on, UTC ISO 8601. */
  since?: string | undefined;
  org?: string | undefined;
  action?: DeedAction | undefined;
  /** A domain or project. */
  subject?: string | undefined;
  /** A part of the name of a site or project, whatever the case of its ASCII letters. */
  named?: string | undefined;
  /** A part of the name of the person, likewise. */
  who?: string | undefined;
  /** Only what comes after this deed in the list. */
  after?: DeedPlace | undefined;
}

/** The place of a deed in the list. */
export type DeedPlace = Pick<Deed, 'at' | 'deedId'>;
