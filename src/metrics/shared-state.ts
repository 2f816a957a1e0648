import { setTimeout as sleep } from 'node:timers/promises';
import type { WindowView } from '../model/budget/permits.ts';
import type { Metrics } from './metrics.ts';

/** What workers share, as the figures need it. */
export interface SharedState {
  organizations: readonly { id: string; projects: readonly string[] }[];
  /** The organization's window now. */
  readWindow(org: string): Promise<WindowView>;
  /** As of when all stored entries of the project are complete, ISO 8601; null while some are not. */
  readVerified(org: string, project: string): Promise<string | null>;
}

/** How old the figures may be. */
const readEveryMs = 15_000;
/** A budget may be about to start, a store to come back. */
const retryMs = 3_000;

const blockReasons = ['throttled', 'unauthorized', 'paused'] as const;

/**
 * Reads the shared state again and again into gauges, one organization after the other. While something cannot be read,
 * its gauges stay, and `docferry_shared_state_read_timestamp_seconds` stands still.
 *
 * @returns ends the reading
 */
export function watchSharedState(state: SharedState, metrics: Metrics, everyMs = readEveryMs): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  /** By organization and project, in milliseconds. */
  const verified = new Map<string, number>();
  const began = Date.now() / 1_000;
  for (const { id: org } of state.organizations) {
    metrics.set('docferry_shared_state_read_timestamp_seconds', { org }, began);
  }
  const watch = async () => {
    while (!signal.aborted) {
      const since = performance.now();
      let allRead = true;
      for (const organization of state.organizations) {
        if (signal.aborted) return;
        const labels = { org: organization.id };
        const read = await readOrganization(state, organization, verified, metrics).catch(() => false);
        if (read) metrics.set('docferry_shared_state_read_timestamp_seconds', labels, Date.now() / 1_000);
        allRead &&= read;
        showFreshness(organization, verified, metrics);
      }
      const restMs = Math.max(0, everyMs - (performance.now() - since));
      await sleep(allRead ? restMs : Math.min(restMs, retryMs), undefined, { signal }).catch(() => {});
    }
  };
  const watching = watch();
  return async () => {
    ending.abort();
    await watching;
  };
}

async function readOrganization(
  state: SharedState,
  { id: org, projects }: SharedState['organizations'][number],
  verified: Map<string, number>,
  metrics: Metrics,
): Promise<boolean> {
  const failures: unknown[] = [];
  for (const project of projects) {
    try {
      const moment = await state.readVerified(org, project);
      if (moment !== null) verified.set(keyOf(org, project), Date.parse(moment));
    } catch (error) {
      failures.push(error);
    }
  }
  showWindow(org, await state.readWindow(org), metrics);
  return failures.length === 0;
}

function showWindow(org: string, window: WindowView, metrics: Metrics): void {
  const labels = { org };
  const oldest = Math.min(...window.waiters.map(({ since }) => since));
  metrics.set('docferry_budget_used', labels, window.used);
  metrics.set('docferry_budget_limit', labels, window.limit);
  metrics.set('docferry_budget_reserve', labels, window.reserve);
  metrics.set('docferry_budget_window_seconds', labels, window.windowMs / 1_000);
  metrics.set('docferry_budget_waiters', labels, window.waiters.length);
  const waitedMs = Number.isFinite(oldest) ? Math.max(0, Date.now() - oldest) : 0;
  metrics.set('docferry_budget_longest_wait_seconds', labels, waitedMs / 1_000);
  metrics.set('docferry_budget_other_clients', labels, window.strangers ?? 0);
  for (const reason of blockReasons) {
    metrics.set('docferry_budget_blocked', { org, reason }, window.pausedBy === reason ? 1 : 0);
  }
}

/** What was once proved ages even while the store cannot be read. */
function showFreshness(
  { id: org, projects }: SharedState['organizations'][number],
  verified: ReadonlyMap<string, number>,
  metrics: Metrics,
): void {
  for (const project of projects) {
    const since = verified.get(keyOf(org, project));
    if (since === undefined) continue;
    const seconds = Math.max(0, Date.now() - since) / 1_000;
    metrics.set('docferry_feedback_freshness_seconds', { org, project }, seconds);
  }
}

const keyOf = (org: string, project: string): string => `${org}:${project}`;
