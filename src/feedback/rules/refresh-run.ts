import { z } from 'zod/mini';
import { own, reader, text } from '../../rules/messages.ts';
import type { WithFailover } from '../../temporal/rules/failover.ts';
import type { EntryCounts } from './feedback-entry.ts';
import type { SyncProgress, SyncState } from './sync.ts';

/** How an organization's feedback is kept fresh, as the worker's configuration says. */
export interface RefreshSettings {
  /** Time between two runs, in milliseconds. */
  everyMs: number;
  /** The part of what reserve and other clients leave that refresh may use: above 0, at most 1. */
  share: number;
  /** Every project of the organization. */
  projects: readonly RefreshedProject[];
}

export interface RefreshedProject {
  project: string;
  /** How much its changes count beside those of other projects; 1 by default. */
  weight: number;
  /** The deadline for new entries, in milliseconds; null for none. */
  atMostMs: number | null;
}

/** The part of an organization's configuration that decides how its projects are read. */
export interface ConfiguredRefresh {
  id: string;
  refresh?: { everyMs: number; share: number };
  projects: readonly { id: string; weight?: number; atMostMs?: number }[];
}

export const refreshedProjects = ({ projects }: ConfiguredRefresh): RefreshedProject[] =>
  projects.map(({ id, weight = 1, atMostMs = null }) => ({ project: id, weight, atMostMs }));

export interface RefreshInput extends WithFailover {
  org: string;
  /** Set by continue-as-new only. */
  carried?: CarriedRefresh;
}

/** What a run found in one project; counts only. */
export interface ProjectFindings extends Pick<EntryCounts, 'inserted' | 'updated' | 'tombstoned' | 'rejected'> {
  project: string;
  /** Type and message of what kept pages from being read, without content; null when all were. */
  problem: string | null;
}

/** What a run has done so far. */
export interface RefreshProgress extends Omit<SyncProgress, 'passId'> {
  /** Projects in which it found something: at most `mostNamed` of them, in the order of their first finding. */
  projects: ProjectFindings[];
  /** Further projects with findings. */
  others: number;
}

interface CarriedRefresh extends RefreshProgress {
  /** When the first of these runs began, in milliseconds. */
  startedAt: number;
  /** Signals that made no sense. */
  ignored?: number;
}

/** So many projects are named in the result of a run: a result stays below 4 KiB. */
export const mostNamed = 20;

export interface RefreshResult extends Omit<RefreshProgress, 'storeId'> {
  workflowId: string;
  runId: string;
  org: string;
  /** When the next request is due, in milliseconds since the epoch. */
  nextDueAt: number;
}

/** Answer of the query `state`. */
export interface RefreshState extends Pick<SyncState, 'phase' | 'waiting' | 'ignored'> {
  org: string;
  progress: RefreshProgress | null;
}

/** Shape of the input of `refreshFeedback` (X5): a person may have edited the schedule. */
export const readRefreshInput = reader<RefreshInput>(
  z.object({ org: text(), failover: own<RefreshInput['failover']>(), carried: own<RefreshInput['carried']>() }),
);
