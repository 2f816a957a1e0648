import {
  CancellationScope,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { readApproval, readPhase, readRejection, readTransfer } from '../model/export/export-messages.ts';
import { outcomeWith, whyEnded } from '../model/export/export-outcome.ts';
import {
  becomesCurrent,
  type ExportInput,
  type ExportProgress,
  type ExportResult,
  type ExportState,
  versionWithContent,
} from '../model/export/site-export.ts';
import { versionName } from '../model/export/version-name.ts';
import { handoverIn } from '../model/temporal-settings.ts';
import { fetchOptions, recordOptions } from './activity-options.ts';
import { announce } from './announce.ts';
import { Approval } from './approval.ts';
import {
  approveUpdate,
  downloadSignal,
  exportStateQuery,
  phaseSignal,
  pollNowUpdate,
  rejectUpdate,
  retryKeySignal,
} from './definitions.ts';
import { ExportView } from './export-view.ts';
import { failureSummary } from './failure-summary.ts';
import { onSignal, onUpdate } from './handle-messages.ts';
import { followHandover } from './handover.ts';
import { KeyGate, type KeyRefusals, RefusedForLong } from './key-gate.ts';
import { type FetchedBundle, Publication, type VerifiedBundle } from './publication.ts';
import { recordOrLater } from './record-run.ts';
import { ExportJob } from './run-job.ts';
import { rollOutToTargets } from './target-rollouts.ts';

type SitePlan = Awaited<ReturnType<Activities['planExport']>>;
type Published = Pick<ExportResult, 'version' | 'contentDigest' | 'url'> & { held?: string | null };

const records = proxyActivities<Pick<Activities, 'planExport'>>(recordOptions);

const fetches = proxyActivities<Pick<Activities, 'fetchBundle'>>(fetchOptions);

/** Exports one site: job, link, download, verification, publication, rollout (E1 to E6). */
export async function exportSite(input: ExportInput): Promise<ExportResult> {
  followHandover(input);
  const run = new SiteExport(input);
  setHandler(exportStateQuery, () => run.state(), { description: 'Phase, progress, next poll and rollouts.' });
  onSignal(phaseSignal, readPhase, {
    take: ({ phase }) => run.view.announce(phase),
    description: 'An activity entered a new phase.',
  });
  onSignal(downloadSignal, readTransfer, {
    take: (transfer) => run.view.downloading(transfer),
    description: 'Progress of the download.',
  });
  setHandler(
    pollNowUpdate,
    () => {
      run.job.pollNow();
      return run.state();
    },
    { description: 'Polls the job at once.', validator: () => run.job.requireWaiting() },
  );
  onUpdate(approveUpdate, readApproval, {
    answer: () => run.approval.approve(),
    check: (answer) => run.approval.requireWaiting(answer),
    description: 'Makes the waiting version current.',
  });
  onUpdate(rejectUpdate, readRejection, {
    answer: (answer) => run.approval.reject(answer),
    check: (answer) => run.approval.requireReason(answer),
    description: 'Removes the waiting version; the result gives {reason}.',
  });
  setHandler(retryKeySignal, () => run.key.retry(), { description: 'The key may have been changed: try it at once.' });
  const result = await run.run();
  if (result) return result;
  const { org, domain, parameters } = input;
  const { progress: carried, refused } = run;
  return await makeContinueAsNewFunc<typeof exportSite>()({
    org,
    domain,
    parameters,
    handover: handoverIn(input),
    carried,
    ...(refused && { refused }),
  });
}

class SiteExport {
  readonly #input: ExportInput;
  readonly view: ExportView;
  readonly key: KeyGate;
  readonly job: ExportJob;
  readonly approval: Approval;
  readonly progress: ExportProgress;
  readonly #publication: Publication;
  /** Set when the run continues as new because the key is still refused. */
  refused: KeyRefusals | null = null;
  #webhooks: readonly string[] = [];

  constructor(input: ExportInput) {
    this.#input = input;
    this.progress = input.carried ?? {
      startedAt: workflowInfo().startTime.getTime(),
      storeId: '',
      jobId: null,
      jobStartedAt: null,
      jobsStarted: 0,
      possibleDuplicates: 0,
      polls: 0,
      percent: null,
      pageCount: null,
      samples: [],
      linksRequested: 0,
      runningMs: 0,
    };
    this.view = new ExportView(input, this.progress);
    this.key = new KeyGate((refused) => this.view.keyRefused(refused), input.refused ?? null);
    this.job = new ExportJob(input, this.progress, this.view, this.key);
    this.approval = new Approval(input, this.view);
    this.#publication = new Publication(input, this.progress, this.approval, this.#stageId());
  }

  state(): ExportState {
    return this.view.state();
  }

  /** The result, or null when the history has grown long and the run should continue as new. */
  async run(): Promise<ExportResult | null> {
    const result = await this.#export();
    if (result === null) return null;
    const detail = { reasons: result.reasons, rollouts: result.rollouts };
    const notInService = result.held === null ? '' : `not in service: held at ${result.held}`;
    this.view.end(result.outcome, whyEnded(detail) || notInService);
    await CancellationScope.nonCancellable(() => this.#record(result.outcome, result, detail));
    return result;
  }

  async #export(): Promise<ExportResult | null> {
    try {
      this.view.show();
      const settings = await this.#plan();
      const jobId = await this.job.complete(settings);
      if (jobId === null) return null;
      this.view.enter('fetching');
      const fetched = await this.#fetch(jobId);
      return fetched.ok ? await this.#publish(jobId, fetched, settings) : this.#rejected(jobId, fetched);
    } catch (error) {
      if (error instanceof RefusedForLong) {
        this.refused = error.refused;
        return null;
      }
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#cleanUp(error, cancelled));
      throw error;
    }
  }

  async #plan(): Promise<SitePlan> {
    const { org, domain } = this.#input;
    const settings = await records.planExport.executeWithOptions(
      { ...recordOptions, summary: `read the configuration of ${domain}` },
      [{ org, domain }],
    );
    this.#webhooks = settings.webhooks;
    if (this.progress.storeId === '') this.progress.storeId = settings.storeId;
    return settings;
  }

  async #fetch(jobId: string): Promise<FetchedBundle> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.progress;
    const fetched = await this.key.through(() =>
      fetches.fetchBundle.executeWithOptions({ ...fetchOptions, summary: `fetch and verify the bundle of ${domain}` }, [
        { org, domain, storeId, jobId, stageId: this.#stageId(), force: parameters.force === true },
      ]),
    );
    this.progress.linksRequested = fetched.linksRequested;
    return fetched;
  }

  async #publish(jobId: string, bundle: VerifiedBundle, settings: SitePlan): Promise<ExportResult> {
    const { parameters } = this.#input;
    const known = parameters.force === true ? null : versionWithContent(bundle);
    // Named here, so that retries of the activity use the same name (E6).
    const version = known ?? versionName(Date.now(), bundle.contentDigest);
    this.view.version = version;
    this.view.enter('publishing');
    const { contentDigest, archive, pages, files } = bundle;
    const found = { version, contentDigest, archive, pages, files };
    if (known !== null) {
      const described = await this.#publication.keep(known, contentDigest);
      const { heldAt } = bundle;
      if (becomesCurrent(parameters)) await this.#rollOut(heldAt ?? version, settings.targets);
      return this.#result(jobId, { outcome: 'unchanged', ...found, ...described, held: heldAt });
    }
    const placed = await this.#publication.put(version, bundle, settings.approvalTimeoutMs);
    if ('reason' in placed) {
      return this.#result(jobId, { ...found, outcome: 'rejected', version: null, reasons: [placed.reason] });
    }
    const { url, heldAt } = placed;
    if (becomesCurrent(parameters)) await this.#rollOut(heldAt ?? version, settings.targets);
    return this.#result(jobId, { outcome: 'published', ...found, url, held: heldAt });
  }

  /** A held site rolls out the version it is held at: a target that failed during the rollback gets it now. */
  async #rollOut(version: string, targets: readonly string[]): Promise<void> {
    const { org, domain, parameters } = this.#input;
    this.view.enter('rolling-out');
    await rollOutToTargets(
      { org, domain, storeId: this.progress.storeId, targets },
      { version, force: parameters.force === true },
      (result) => {
        this.view.rollouts.push(result);
        this.view.show();
      },
    );
  }

  #rejected(jobId: string, refused: FetchedBundle & { ok: false }): ExportResult {
    const { archive, pages, files, reasons } = refused;
    return this.#result(jobId, { outcome: 'rejected', archive, pages, files, reasons });
  }

  #result(jobId: string, found: Partial<ExportResult> & Pick<ExportResult, 'outcome'>): ExportResult {
    const { workflowId, runId } = workflowInfo();
    const { jobsStarted, possibleDuplicates, polls, linksRequested } = this.progress;
    return {
      workflowId,
      runId,
      org: this.#input.org,
      domain: this.#input.domain,
      jobId,
      jobsStarted,
      possibleDuplicates,
      version: null,
      contentDigest: null,
      archive: null,
      pages: 0,
      files: 0,
      url: null,
      polls,
      linksRequested,
      rollouts: this.view.rollouts,
      reasons: [],
      held: null,
      ...found,
      outcome: outcomeWith(found.outcome, this.view.rollouts),
    };
  }

  /** Names the private place of the download, for all attempts and all runs of this execution. */
  #stageId(): string {
    return workflowInfo().firstExecutionRunId;
  }

  /** Removes an unapproved version, records the run, removes the download. Failures here never hide the original one. */
  async #cleanUp(error: unknown, cancelled: boolean): Promise<void> {
    const detail = { error: failureSummary(error), rollouts: this.view.rollouts };
    const outcome = cancelled ? 'cancelled' : 'failed';
    this.view.end(outcome, whyEnded(detail));
    const steps = [() => this.#publication.withdraw()];
    steps.push(() => this.#record(outcome, this.#publication.published, detail));
    if (this.progress.storeId !== '') steps.push(() => this.#publication.discardStaged());
    for (const step of steps) {
      try {
        await step();
      } catch (failure) {
        log.error('cleaning up after the export failed', { failure: failureSummary(failure) });
      }
    }
  }

  async #record(
    outcome: ExportResult['outcome'] | 'failed' | 'cancelled',
    result: Published | null,
    detail: object,
  ): Promise<void> {
    const { workflowId, runId } = workflowInfo();
    const { org, domain } = this.#input;
    const { possibleDuplicates } = this.progress;
    await recordOrLater({
      workflowId,
      runId,
      org,
      domain,
      startedAt: new Date(this.progress.startedAt).toISOString(),
      finishedAt: new Date().toISOString(),
      outcome,
      jobId: this.progress.jobId,
      jobsStarted: this.progress.jobsStarted,
      version: result?.version ?? null,
      contentDigest: result?.contentDigest ?? null,
      polls: this.progress.polls,
      detail: JSON.stringify(possibleDuplicates > 0 ? { ...detail, possibleDuplicates } : detail),
      // Exports of a few pages say nothing about whole exports.
      jobMs: (this.#input.parameters.paths ?? []).length === 0 ? (this.progress.jobMs ?? null) : null,
    });
    const { version = null, contentDigest = null, url = null, held = null } = result ?? {};
    const timestamp = new Date().toISOString();
    const data = { org, domain, outcome, version, contentDigest, url, held, workflowId, runId };
    await announce(org, this.#webhooks, { type: 'export.finished', timestamp, data });
  }
}
