import type { TimeAxis } from './time-axis.ts';

/** Which entries a report is about: those created within the bounds, UTC ISO 8601, `to` exclusive. */
export interface ReportQuery {
  org: string;
  project: string;
  from?: string;
  to?: string;
  /** At most so many recent comments; with 0 nothing of what was written is read at all. */
  comments: number;
  now: Date;
}

export interface Votes {
  yes: number;
  no: number;
}

/** A source or status; `name` is null for all that are not among the most frequent. */
export interface Series {
  name: string | null;
  entries: number;
  /** Entries in each part of the axis; all the rest of `entries` lie outside of it. */
  over: number[];
}

/** Time from an entry's creation to its closing, as far as it was watched. */
export interface Waits {
  closed: number;
  medianMs: number;
  /** Nine in ten were closed within this time. */
  p90Ms: number;
}

export interface AgentPage {
  path: string;
  entries: number;
  open: number;
  /** What is said most often. */
  complaints: Complaint[];
}

/** Entries that say the same. */
export interface Complaint extends Excerpt {
  times: number;
}

/** The beginning of what somebody wrote. */
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
  /** UTC ISO 8601; null when the date cannot be understood. */
  createdAt: string | null;
}

/**
 * What a report says of a project (contracts.md `feedback report`): numbers, paths and comments, never contacts or code.
 * Entries the service no longer has are in none of it.
 */
export interface ReportFigures {
  entries: number;
  /** Among them without a date that can be understood; with bounds none are. */
  undated: number;
  /** Left out for having no date, while there are bounds. */
  undatedLeftOut: number;
  /** Null when nothing can be shown over time. */
  axis: TimeAxis | null;
  /** Dated entries outside of the axis. */
  outsideAxis: number;
  /** Most entries first. */
  sources: Series[];
  statuses: Series[];
  open: { entries: number; oldest: string | null };
  /** Of contextual entries: whether the page helped. */
  helpful: Votes;
  helpfulOver: Votes[];
  /** Paths with votes, how many of them there are, and two views of them. */
  votedPages: number;
  mostVoted: (Votes & { path: string })[];
  /** Most votes against first. */
  worst: (Votes & { path: string })[];
  /** Of what was closed within the bounds; null when no closing was watched. */
  waits: Waits | null;
  /** By the part of the axis in which the entry was closed. */
  waitsOver: (Waits | null)[];
  agents: { entries: number; paths: number; pages: AgentPage[] };
  /** Entries with a comment, and the newest of them. */
  commented: number;
  recent: RecentComment[];
}
