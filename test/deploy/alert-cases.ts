/** Series in promtool's notation, a value a minute, for which an alert fires or stays quiet. */
interface AlertCase {
  fires: readonly string[];
  quiet: readonly string[];
  /** Other series for which it fires. */
  alsoFires?: readonly string[];
}

const hour = 60;
const steady = (series: string, value: number | string): string => `${series} ${value}x${hour}`;
const grows = (series: string, perMinute: number): string => `${series} 0+${perMinute}x${hour}`;
const once = (series: string): string => `${series} 0x9 1x50`;

const requestsBy = (org: string, endpoint: string, outcome: string) =>
  `docferry_requests_total{org="${org}",endpoint="${endpoint}",outcome="${outcome}"}`;
const requests = (outcome: string, perMinute: number) => grows(requestsBy('acme', 'feedback', outcome), perMinute);
const deliveries = (outcome: string) =>
  `docferry_webhook_deliveries_total{org="acme",webhook="ops",outcome="${outcome}"}`;
const failedTasks = (reason: string) =>
  `temporal_workflow_task_execution_failed_total{workflow_type="exportSite",failure_reason="${reason}"}`;
const startedLate = (kind: string, queue: string, le: string) =>
  grows(`temporal_${kind}_schedule_to_start_latency_seconds_bucket{task_queue="${queue}",le="${le}"}`, 60);
const counted = (name: string, labels: string) => ({
  fires: [once(`${name}{org="acme",${labels}}`)],
  quiet: [steady(`${name}{org="acme",${labels}}`, 3)],
});
const blocked = 'docferry_budget_blocked{org="acme",reason="unauthorized"';
const longestWait = 'docferry_budget_longest_wait_seconds{org="acme",instance="a"}';
const window = steady('docferry_budget_window_seconds{org="acme",instance="b"}', 3_600);
const readAt = 'docferry_shared_state_read_timestamp_seconds{org="acme",instance=';
const pollers = 'temporal_num_pollers{task_queue="docferry",poller_type=';
const bulkPollers = steady('temporal_num_pollers{task_queue="docferry-bulk",poller_type="activity_task"}', 2);
/** There are in every case but that of their own alert. */
export const healthyPollers = [steady(`${pollers}"workflow_task"}`, 2), bulkPollers];
const slots = 'temporal_worker_task_slots_available{instance="a",task_queue="docferry",worker_type="ActivityWorker"}';
const temporalRequests = 'temporal_request_failure_total{operation="RespondWorkflowTaskCompleted",status_code=';

export const alertCases: Record<string, AlertCase> = {
  DocferryKeyRefused: {
    fires: [steady(`${blocked},instance="a"}`, 1), steady(`${blocked},instance="b"}`, 0)],
    // An export tries 1, 2, 4, 8 and 15 minutes after the refusal before; what it did while its key worked is long ago.
    alsoFires: [
      `${requestsBy('acme', 'job', 'unauthorized')} 0 1 2 2 3x3 4x7 5x14 6x30`,
      `${requestsBy('acme', 'job', 'ok')} 0x1 3x60`,
    ],
    quiet: [
      `${blocked},instance="a"} 0x26 1x3 0x30`,
      steady('docferry_budget_blocked{org="acme",reason="paused"}', 1),
      // The gateway's: the path may be the reason.
      grows(requestsBy('acme', 'gateway', 'unauthorized'), 1),
      // The key works again.
      `${requestsBy('repaired', 'start-job', 'unauthorized')} 0x3 1 2x20 3x40`,
      `${requestsBy('repaired', 'job', 'ok')} 5x27 6x40`,
    ],
  },
  DocferryFeedbackStale: {
    fires: [steady('docferry_feedback_freshness_seconds{org="acme",project="prj_1"}', 700_000)],
    // Each worker shows the same: a sum would exceed the limit.
    quiet: ['a', 'b'].map((worker) =>
      steady(`docferry_feedback_freshness_seconds{org="acme",project="prj_1",instance="${worker}"}`, 3_000),
    ),
  },
  DocferryBudgetStarved: { fires: [steady(longestWait, 10_900), window], quiet: [steady(longestWait, 3_600), window] },
  DocferryThrottled: { fires: [requests('rate-limited', 1)], quiet: [requests('rate-limited', 0), requests('ok', 1)] },
  DocferryServiceFailing: {
    fires: [requests('ok', 2), requests('server-error', 1), requests('not-sent', 1)],
    quiet: [requests('ok', 8), requests('server-error', 1), requests('bad-request', 8)],
  },
  DocferryExportFailed: counted('docferry_exports_total', 'outcome="failed"'),
  DocferryBundleRejected: counted('docferry_exports_total', 'outcome="rejected"'),
  DocferryRolloutFailed: counted('docferry_rollouts_total', 'target="directory",outcome="failed"'),
  DocferryPassFailed: counted('docferry_feedback_passes_total', 'project="prj_1",outcome="failed"'),
  DocferryEntriesUnreadable: counted('docferry_feedback_entries_total', 'outcome="rejected"'),
  DocferryWebhookFailing: {
    fires: [grows(deliveries('retried'), 1), steady(deliveries('accepted'), 5)],
    quiet: [grows(deliveries('retried'), 1), grows(deliveries('accepted'), 1), steady(deliveries('given-up'), 2)],
  },
  DocferryDown: {
    fires: [steady('up{job="docferry",instance="a"}', 0), steady('up{job="docferry",instance="b"}', 1)],
    quiet: [steady('up{job="docferry",instance="a"}', 1), steady('up{job="other",instance="a"}', 0)],
  },
  DocferryNoPollers: {
    fires: [steady(`${pollers}"workflow_task"}`, 0), steady(`${pollers}"activity_task"}`, 2), bulkPollers],
    // No worker of this kind runs, so nobody counts its pollers.
    alsoFires: [bulkPollers],
    quiet: [
      steady(`${pollers}"workflow_task",instance="a"}`, 0),
      steady(`${pollers}"workflow_task",instance="b"}`, 2),
      bulkPollers,
    ],
  },
  DocferryNonDeterminism: {
    fires: [grows(failedTasks('NonDeterminismError'), 1)],
    quiet: [grows(failedTasks('WorkflowError'), 1), steady(failedTasks('NonDeterminismError'), 4)],
  },
  DocferryMessageTooLarge: {
    fires: [grows(failedTasks('GrpcMessageTooLarge'), 1)],
    quiet: [grows(failedTasks('WorkflowError'), 1)],
  },
  DocferryStartsLate: {
    fires: [startedLate('workflow_task', 'docferry', '10'), startedLate('workflow_task', 'docferry', '+Inf')],
    quiet: [
      startedLate('activity', 'docferry', '1'),
      startedLate('activity', 'docferry', '+Inf'),
      startedLate('activity', 'docferry-bulk', '100'),
      startedLate('activity', 'docferry-bulk', '+Inf'),
    ],
  },
  DocferrySlotsUsedUp: { fires: [steady(slots, 0)], quiet: [`${slots} 0x10 3x50`] },
  DocferryTemporalExhausted: {
    fires: [grows(`${temporalRequests}"RESOURCE_EXHAUSTED"}`, 1)],
    quiet: [grows(`${temporalRequests}"UNAVAILABLE"}`, 1)],
  },
  DocferryStateUnread: {
    fires: [steady(`${readAt}"a"}`, 0), steady(`${readAt}"b"}`, 60)],
    // One worker that reads is enough.
    quiet: [steady(`${readAt}"a"}`, 0), grows(`${readAt}"b"}`, 60)],
  },
};
