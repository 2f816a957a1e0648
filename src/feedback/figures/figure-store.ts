import type { ProjectActivity } from '../../model/planning/observed-load.ts';
import type { ReportFigures, ReportQuery } from '../../model/report/report-figures.ts';
import type { ReadingKind } from '../../model/sync/pass-kind.ts';

/** How many entries have a value in common. */
export interface Count {
  name: string;
  entries: number;
}

/** What is stored of a project in numbers, without what people wrote. Tombstones are in no number but their own. */
export interface FeedbackStats {
  entries: number;
  tombstones: number;
  rejects: number;
  /** Most entries first. */
  sources: Count[];
  statuses: Count[];
  /** Of contextual entries: whether the page helped. */
  helpful: { yes: number; no: number };
  /** The same by month of `created_at_utc`, oldest first; months without votes are absent. */
  helpfulMonths: { name: string; yes: number; no: number }[];
  /** Months of `created_at_utc` such as `2026-11`, oldest first; those without entries are absent. */
  months: Count[];
  /** Entries without a date that can be understood. */
  undated: number;
  /** The paths of contextual entries that most often did not help, at most ten. */
  paths: { path: string; unhelpful: number; helpful: number }[];
}

/** What the latest pass of a kind has cost. */
export interface LatestCost {
  project: string;
  pass: ReadingKind;
  requests: number;
}

/** Numbers about a project, counted by the database. */
export interface FigureStore {
  stats(org: string, project: string): Promise<FeedbackStats>;
  /** What `feedback report` shows of a project, in one snapshot; nothing of contacts or code. */
  reportFigures(query: ReportQuery): Promise<ReportFigures>;
  /** What the budget is planned from: sizes, new entries, the cost of past passes. */
  projectActivity(org: string, project: string): Promise<ProjectActivity>;
  /** Requests that the latest completed pass of each kind took, by project; those with bounds given by a person left out. */
  latestCosts(org: string): Promise<LatestCost[]>;
}
