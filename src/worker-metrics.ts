import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Organization } from './activities/dependencies.ts';
import { kindOfTarget } from './activities/notices.ts';
import type { WindowView } from './budget/rules/window-view.ts';
import { type RolloutResult, runOutcomes } from './exports/rules/site-export.ts';
import { noEntries } from './feedback/rules/feedback-entry.ts';
import type { ExpectedDelays, ProjectDelays } from './feedback/rules/refresh/expected.ts';
import { Semaphore } from './semaphore.ts';
import type { DocumentationService } from './service/client.ts';
import type { RequestOptions } from './service/documentation-service.ts';
import { NetworkError, ServiceError, type ServiceErrorKind } from './service/errors.ts';
import type { OpenAnswer } from './service/outgoing-call.ts';
import { installRuntime, type Metrics, metricsOfRuntime } from './temporal/metrics.ts';
import { traced } from './temporal/traces.ts';

/** Pages of feedback, starts of jobs, polls of them, links to bundles, and what other programs ask through the gateway. */
type Endpoint = 'feedback' | 'start-job' | 'job' | 'bundle-link' | 'gateway';

const outcomeOfError = {
  Unauthorized: 'unauthorized',
  PlanRequired: 'plan-required',
  BadRequest: 'bad-request',
  NotFound: 'not-found',
  NotReady: 'not-ready',
  RateLimited: 'rate-limited',
  ServerError: 'server-error',
  NetworkError: 'network-error',
  MalformedResponse: 'malformed',
  Aborted: 'aborted',
} as const satisfies Record<ServiceErrorKind, string>;

const outcomeOfRefusal: ReadonlyMap<number, RequestOutcome> = new Map([
  [401, 'unauthorized'],
  [403, 'plan-required'],
  [404, 'not-found'],
  [409, 'not-ready'],
  [429, 'rate-limited'],
]);

/** Every value of the label `outcome`: an answer, how it failed, or that no connection was made. */
const requestOutcomes = ['ok', ...Object.values(outcomeOfError), 'not-sent'] as const;

type RequestOutcome = (typeof requestOutcomes)[number];

/** Counts the requests to an organization's service, except those that the budget stopped at the last moment. */
export function countedService(service: DocumentationService, org: string, metrics: Metrics): DocumentationService {
  const counted = <Answer>(
    endpoint: Endpoint,
    options: RequestOptions,
    request: (options: RequestOptions) => Promise<Answer>,
  ) => countedRequest({ org, endpoint, metrics, outcomeOf: () => 'ok' }, options, request);
  return {
    getFeedbackPage: (project, query, options = {}) =>
      counted('feedback', options, (watched) => service.getFeedbackPage(project, query, watched)),
    startExportJob: (request, options = {}) =>
      counted('start-job', options, (watched) => service.startExportJob(request, watched)),
    getExportJob: (jobId, options = {}) => counted('job', options, (watched) => service.getExportJob(jobId, watched)),
    createBundleLink: (jobId, options = {}) =>
      counted('bundle-link', options, (watched) => service.createBundleLink(jobId, watched)),
    getAnalytics: (target, headers, options = {}) =>
      countedRequest({ org, endpoint: 'gateway', metrics, outcomeOf: outcomeOfStatus }, options, (watched) =>
        service.getAnalytics(target, headers, watched),
      ),
  };
}

interface Counting<Answer> {
  org: string;
  endpoint: Endpoint;
  metrics: Metrics;
  outcomeOf(answer: Answer): RequestOutcome;
}

function countedRequest<Answer>(
  { org, endpoint, metrics, outcomeOf }: Counting<Answer>,
  options: RequestOptions,
  request: (options: RequestOptions) => Promise<Answer>,
): Promise<Answer> {
  return traced(`service:${endpoint}`, { attributes: { 'docferry.org': org } }, async (add) => {
    const count = (outcome: RequestOutcome) => {
      metrics.add('docferry_requests_total', { org, endpoint, outcome });
      add({ 'docferry.outcome': outcome });
    };
    let sent = false;
    const beforeSend = () => {
      options.beforeSend?.();
      sent = true;
    };
    try {
      const answer = await request({ ...options, beforeSend });
      count(outcomeOf(answer));
      return answer;
    } catch (error) {
      if (sent && error instanceof ServiceError) count(outcomeOfError[error.name]);
      else if (error instanceof NetworkError) count('not-sent');
      throw error;
    }
  });
}

function outcomeOfStatus({ status }: OpenAnswer): RequestOutcome {
  if (status >= 200 && status < 300) return 'ok';
  if (status >= 500) return 'server-error';
  return outcomeOfRefusal.get(status) ?? 'bad-request';
}

/** Every value, so that the compiler names one that is missing. */
const rolloutOutcomes: Record<RolloutResult['outcome'], true> = {
  'rolled-out': true,
  'already-current': true,
  failed: true,
};

/** Counters begin at 0: one that appeared with its first event would hide it from `increase` and `rate`. */
export function zeroMetrics(metrics: Metrics, organizations: readonly Organization[]): void {
  for (const organization of organizations) {
    if (organization.projects.length > 0) beginFeedback(metrics, organization);
    if (organization.sites.length > 0) beginExports(metrics, organization);
    for (const { name: webhook } of organization.webhooks) {
      for (const outcome of ['accepted', 'retried', 'given-up']) {
        metrics.add('docferry_webhook_deliveries_total', { org: organization.id, webhook, outcome }, 0);
      }
    }
  }
}

function beginRequests(metrics: Metrics, org: string, endpoint: Endpoint): void {
  for (const outcome of requestOutcomes) metrics.add('docferry_requests_total', { org, endpoint, outcome }, 0);
}

function beginFeedback(metrics: Metrics, { id: org, projects }: Organization): void {
  beginRequests(metrics, org, 'feedback');
  const { seen: _seen, ...outcomes } = noEntries;
  for (const outcome of Object.keys(outcomes)) metrics.add('docferry_feedback_entries_total', { org, outcome }, 0);
  for (const { id: project } of projects) {
    for (const outcome of ['completed', 'failed', 'cancelled']) {
      metrics.add('docferry_feedback_passes_total', { org, project, outcome }, 0);
    }
  }
}

function beginExports(metrics: Metrics, { id: org, sites }: Organization): void {
  for (const endpoint of ['start-job', 'job', 'bundle-link'] as const) beginRequests(metrics, org, endpoint);
  for (const outcome of runOutcomes) metrics.add('docferry_exports_total', { org, outcome }, 0);
  metrics.add('docferry_export_polls_total', { org }, 0);
  metrics.add('docferry_download_bytes_total', { org }, 0);
  const targets = new Set(sites.flatMap((site) => site.targets.map(({ name }) => kindOfTarget(name))));
  for (const target of targets) {
    for (const outcome of Object.keys(rolloutOutcomes)) {
      metrics.add('docferry_rollouts_total', { org, target, outcome }, 0);
    }
  }
}

/** What workers share, as the figures need it. */
export interface SharedState {
  organizations: readonly { id: string; projects: readonly string[] }[];
  readWindow(org: string): Promise<WindowView>;
  /** When each project's newest entries were last read, and as of when all its entries are complete; ISO 8601. */
  readRecords(org: string, projects: readonly string[]): Promise<readonly AgedProject[]>;
  /** The delays of the organization's projects, given its window. */
  readDelays(org: string, window: WindowView): Promise<ReadonlyMap<string, ProjectDelays>>;
}

interface AgedProject {
  project: string;
  newestReadAt: string | null;
  verifiedUpTo: string | null;
}

/** How old the figures may be. */
const readEveryMs = 15_000;
/** How old the delays may be: computing them reads all pages. */
const delaysEveryMs = 300_000;
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
  // Every organization that waits listens.
  setMaxListeners(0, signal);
  const slots = new Semaphore(atOnce);
  const began = Date.now();
  const follow = async (organization: SharedState['organizations'][number], place: number) => {
    const { id: org } = organization;
    const readAt = (ms: number) => metrics.set('docferry_shared_state_read_timestamp_seconds', { org }, ms / 1_000);
    const known: Known = { records: [], delaysAt: Number.NEGATIVE_INFINITY };
    readAt(began);
    // All at once first, then each at its own moment of the interval.
    let restMs = (everyMs * (place + 1)) / organizations.length;
    while (!signal.aborted) {
      const read = slots.use(signal, () => readOrganization(state, organization, known, metrics));
      const isRead = await read.catch(() => false);
      if (isRead) readAt(Date.now());
      showAges(org, known.records, metrics);
      await sleep(isRead ? restMs : Math.min(everyMs, retryMs), undefined, { signal }).catch(() => {});
      if (isRead) restMs = everyMs;
    }
  };
  const reading = Promise.all(organizations.map(follow));
  return async () => {
    ending.abort();
    await reading;
  };
}

interface Known {
  records: readonly AgedProject[];
  /** When its delays were read, by a monotonic clock. */
  delaysAt: number;
}

async function readOrganization(
  state: SharedState,
  { id: org, projects }: SharedState['organizations'][number],
  known: Known,
  metrics: Metrics,
): Promise<boolean> {
  const read = await state.readRecords(org, projects).catch(() => null);
  known.records = read ?? known.records;
  const window = await state.readWindow(org);
  showWindow(org, window, metrics);
  if (performance.now() - known.delaysAt >= delaysEveryMs) {
    const found = [...(await state.readDelays(org, window))];
    for (const [project, delays] of found) showDelays({ org, project }, delays, metrics);
    // Before the first reading there are no pages.
    if (found.some(([, { expected }]) => expected !== null)) known.delaysAt = performance.now();
  }
  return read !== null;
}

const kindsOfDelay = { newMs: 'new', newMostMs: 'new-95', statusMs: 'status', silentMs: 'silent' } as const;

function showDelays(labels: { org: string; project: string }, delays: ProjectDelays, metrics: Metrics): void {
  for (const name of ['expected', 'measured'] as const) {
    const found: Partial<ExpectedDelays> = delays[name] ?? {};
    for (const [field, kind] of Object.entries(kindsOfDelay)) {
      const ms = found[field as keyof ExpectedDelays] ?? null;
      metrics.set(`docferry_feedback_${name}_delay_seconds`, { ...labels, kind }, ms === null ? null : ms / 1_000);
    }
  }
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
  metrics.set('docferry_budget_other_clients', labels, window.otherClients ?? 0);
  for (const reason of blockReasons) {
    metrics.set('docferry_budget_blocked', { org, reason }, window.pausedBy === reason ? 1 : 0);
  }
}

/** Ages keep growing while the store cannot be read. */
function showAges(org: string, records: readonly AgedProject[], metrics: Metrics): void {
  const ageOf = (moment: string | null) =>
    moment === null ? null : Math.max(0, Date.now() - Date.parse(moment)) / 1_000;
  for (const { project, newestReadAt, verifiedUpTo } of records) {
    const labels = { org, project };
    metrics.set('docferry_feedback_freshness_seconds', labels, ageOf(newestReadAt));
    metrics.set('docferry_feedback_complete_seconds', labels, ageOf(verifiedUpTo));
  }
}

/** Has requests of the gateway to these services counted, and shown to Prometheus at `ip:port`. */
export function countedServices(
  services: ReadonlyMap<string, DocumentationService>,
  log: Logger,
  metricsAddress: string,
): Map<string, DocumentationService> {
  installRuntime(log, metricsAddress);
  const metrics = metricsOfRuntime();
  for (const org of services.keys()) beginRequests(metrics, org, 'gateway');
  return new Map([...services].map(([org, service]) => [org, countedService(service, org, metrics)]));
}
