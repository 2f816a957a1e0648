import type { TimeAxis } from './time-axis.ts';

/** The entries of a report: those created within the bounds, UTC ISO 8601, `to` exclusive. */
export interface ReportQuery {
  org: string;
  project: string;
  from?: string;
  to?: string;
  /** Most recent comments to read; with 0 no written text is read at all. */
  comments: number;
  now: Date;
}

export interface Votes {
  yes: number;
  no: number;
}

/** A source or status; `name` is null for the sum of the less frequent ones. */
export interface Series {
  name: string | null;
  entries: number;
  /** Entries in each part of the axis; the rest of `entries` is outside it. */
  over: number[];
}

/** Observed time from an entry's creation to its closing. */
export interface Waits {
  closed: number;
  medianMs: number;
  /** 90th percentile. */
  p90Ms: number;
}

export interface AgentPage {
  path: string;
  entries: number;
  open: number;
  /** The most frequent complaints. */
  complaints: Complaint[];
}

/** Entries with the same text. */
export interface Complaint extends Excerpt {
  times: number;
}

/** The beginning of a written text. */
export interface Excerpt {
  text: string;
  /** Characters left out at the end. */
  cut: number;
}

export interface RecentComment extends Excerpt {
  path: string;
  source: string;
  status: string;
  helpful: boolean | null;
  /** UTC ISO 8601; null for an unreadable date. */
  createdAt: string | null;
}

/**
 * Figures of a project (contracts.md `feedback report`): numbers, paths and comments, never contacts or code, and
 * nothing of entries that the service no longer has.
 */
export interface ReportFigures {
  entries: number;
  /** Those without a readable date; none with bounds. */
  undated: number;
  /** Entries without a readable date, left out because of bounds. */
  undatedLeftOut: number;
  /** Null when there is nothing to show over time. */
  axis: TimeAxis | null;
  /** Dated entries outside the axis. */
  outsideAxis: number;
  /** Most entries first. */
  sources: Series[];
  statuses: Series[];
  open: { entries: number; oldest: string | null };
  /** Votes of contextual entries on whether the page helped. */
  helpful: Votes;
  helpfulOver: Votes[];
  /** Number of paths with votes. */
  votedPages: number;
  mostVoted: (Votes & { path: string })[];
  /** Most votes against first. */
  worst: (Votes & { path: string })[];
  /** Entries closed within the bounds; null when none was observed. */
  waits: Waits | null;
  /** By the part of the axis of the closing. */
  waitsOver: (Waits | null)[];
  agents: { entries: number; paths: number; pages: AgentPage[] };
  /** Number of entries with a comment; `recent` holds the newest. */
  commented: number;
  recent: RecentComment[];
}
