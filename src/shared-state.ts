import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WindowView } from './budget/rules/permits.ts';
import type { Metrics } from './temporal/metrics.ts';

/** What workers share, as the figures need it. */
export interface SharedState {
  organizations: readonly { id: string; projects: readonly string[] }[];
  /** The organization's window now. */
  readWindow(org: string): Promise<WindowView>;
  /** The moment up to which all stored entries of the project are complete, ISO 8601; null while some are not. */
  readVerified(org: string, project: string): Promise<string | null>;
}

/** How old the figures may be. */
const readEveryMs = 15_000;
/** A budget may be about to start, a store to come back. */
const retryMs = 3_000;
/** Organizations read at a time: a budget that does not answer holds up only one of them. */
const atOnce = 8;

const blockReasons = ['throttled', 'unauthorized', 'paused'] as const;

/**
 * Reads the shared state into gauges again and again, a few organizations at a time and spread over the interval, so
 * that it does not ask a thousand budgets at once. No scrape waits for it. While something cannot be read, its gauges
 * stay, and `docferry_shared_state_read_timestamp_seconds` stands still.
 *
 * @returns ends the reading
 */
export function watchSharedState(state: SharedState, metrics: Metrics, everyMs = readEveryMs): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const { organizations } = state;
  const lanes = Math.min(atOnce, organizations.length);
  setMaxListeners(lanes, signal);
  /** By organization and project, in milliseconds. */
  const verified = new Map<string, number>();
  const began = Date.now() / 1_000;
  for (const { id: org } of organizations) {
    metrics.set('docferry_shared_state_read_timestamp_seconds', { org }, began);
  }
  // All at once first, then each at its own moment of the interval.
  const waiting = organizations.map((organization, place) => ({
    organization,
    dueAt: 0,
    restMs: (everyMs * (place + 1)) / organizations.length,
  }));
  const lane = async () => {
    for (;;) {
      const next = takeEarliest(waiting);
      await sleep(Math.max(0, next.dueAt - performance.now()), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const since = performance.now();
      const { id: org } = next.organization;
      const isRead = await readOrganization(state, next.organization, verified, metrics).catch(() => false);
      if (isRead) metrics.set('docferry_shared_state_read_timestamp_seconds', { org }, Date.now() / 1_000);
      showFreshness(next.organization, verified, metrics);
      waiting.push({
        organization: next.organization,
        dueAt: since + (isRead ? next.restMs : Math.min(everyMs, retryMs)),
        restMs: isRead ? everyMs : next.restMs,
      });
    }
  };
  const reading = Promise.all(Array.from({ length: lanes }, lane));
  return async () => {
    ending.abort();
    await reading;
  };
}

/** Of at least one. */
function takeEarliest<Item extends { dueAt: number }>(items: Item[]): Item {
  const earliest = items.reduce((least, { dueAt }, place) => (dueAt < (items[least]?.dueAt ?? 0) ? place : least), 0);
  return items.splice(earliest, 1)[0] as Item;
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

/** Freshness ages even while the store cannot be read. */
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
