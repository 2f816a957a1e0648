import {
  ApplicationFailure,
  CancellationScope,
  defineWorkflowOptions,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import {
  approveUpdate,
  exportStateQuery,
  phaseSignal,
  pollNowUpdate,
  rejectUpdate,
  retryKeySignal,
} from '../contract.ts';
import { readApproval, readExportInput, readPhase, readRejection } from '../exports/rules/export-messages.ts';
import { leftBehind, nextStep, refusal } from '../exports/rules/rollout-steps.ts';
import {
  becomesCurrent,
  type ExportInput,
  type ExportProgress,
  type ExportResult,
  outcomeWith,
  type Reason,
  versionName,
  whyEnded,
} from '../exports/rules/site-export.ts';
import { failoverIn } from '../temporal/rules/failover.ts';
import { ExportJob, ExportView, KeyGate, WaitsInNextRun } from './export-job.ts';
import {
  failureSummary,
  fetchOptions,
  followFailover,
  innermost,
  leavesBuild,
  nextInput,
  noInput,
  onDecision,
  onQuery,
  onSignal,
  onUpdate,
  pinnedVersioning,
  planSite,
  readContinued,
  readsInput,
  runStep,
  type SitePlan,
} from './kit.ts';
import {
  Approval,
  type FetchedBundle,
  Publication,
  returnToBefore,
  rollOutToTargets,
  type VerifiedBundle,
  type WantedRollout,
} from './publication.ts';
import { announce, recordOrLater } from './runs.ts';

type Published = Pick<ExportResult, 'version' | 'contentDigest' | 'url'> & { held?: string | null };

/** One run of `exportSite`: its steps, and its end (X4). */
class ExportRun {
  readonly #input: ExportInput;
  /** Names the private place of the download, for all attempts and all runs of this execution. */
  readonly #stageId = workflowInfo().firstExecutionRunId;
  readonly view: ExportView;
  readonly key: KeyGate;
  readonly job: ExportJob;
  readonly approval: Approval;
  readonly progress: ExportProgress;
  readonly #publication: Publication;
  /** What the run still waits for when it continues as new. */
  next: WaitsInNextRun['next'] = {};
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
    this.#publication = new Publication(input, this.progress, this.approval, this.#stageId);
  }

  /** The result, or null when the history has grown long and the run should continue as new. */
  async run(): Promise<ExportResult | null> {
    const result = await this.#export();
    if (result === null) return null;
    const { reasons, rollouts, held } = result;
    const detail = { reasons, rollouts, ...(held !== null && { held }) };
    const notInService = result.held === null ? '' : `not in service: held at ${result.held}`;
    this.view.end(result.outcome, whyEnded(detail) || notInService);
    await CancellationScope.nonCancellable(() => this.#record(result.outcome, result, detail));
    return result;
  }

  async #export(): Promise<ExportResult | null> {
    try {
      this.view.show();
      const settings = await this.#plan();
      const { awaited } = this.#input;
      if (awaited) return await this.#publish(awaited.bundle as VerifiedBundle, settings);
      for (;;) {
        const jobId = await this.job.complete(settings);
        if (jobId === null) return null;
        this.view.enter('fetching');
        this.progress.namedAt ??= Date.now();
        const { namedAt } = this.progress;
        const fetched = await this.#fetchUnlessGone(jobId, namedAt, settings);
        if (fetched === null) continue;
        if (fetched.ok) return await this.#publish(fetched, settings);
        const { archive, pages, files, reasons } = fetched;
        return this.#result({ outcome: 'rejected', archive, pages, files, reasons });
      }
    } catch (error) {
      if (error instanceof WaitsInNextRun) {
        this.next = error.next;
        return null;
      }
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#cleanUp(error, cancelled));
      throw error;
    }
  }

  async #plan(): Promise<SitePlan> {
    const { org, domain } = this.#input;
    const settings = await planSite(org, domain);
    this.#webhooks = settings.webhooks;
    if (this.progress.storeId === '') this.progress.storeId = settings.storeId;
    return settings;
  }

  /** Null when the job has vanished and another is to be started (E2). */
  async #fetchUnlessGone(jobId: string, namedAt: number, settings: SitePlan): Promise<FetchedBundle | null> {
    try {
      return await this.#fetch(jobId, namedAt, settings);
    } catch (error) {
      const cause = innermost(error);
      if (!(cause instanceof ApplicationFailure && cause.type === 'JobFailed')) throw error;
      await this.job.giveUp(cause.message, settings);
      return null;
    }
  }

  async #fetch(jobId: string, namedAt: number, { approval }: SitePlan): Promise<FetchedBundle> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.progress;
    const promote = becomesCurrent(parameters);
    const asks = approval.always && promote;
    const publish = asks ? null : { namedAt, promote };
    const summary = `fetch and verify the bundle of ${domain}${asks ? '' : ', publish what is new'}`;
    const fetched = await this.key.through(() =>
      runStep('fetchBundle', fetchOptions, summary, {
        org,
        domain,
        storeId,
        jobId,
        stageId: this.#stageId,
        force: parameters.force === true,
        publish,
      }),
    );
    this.progress.linksRequested = fetched.linksRequested;
    return fetched;
  }

  async #publish(bundle: VerifiedBundle, settings: SitePlan): Promise<ExportResult> {
    const { kept, contentDigest, archive, pages, files, heldAt } = bundle;
    if (kept !== null) {
      const { version, url, rollouts } = kept;
      this.view.version = version;
      // Its content has not changed: there is nothing to publish.
      this.#publication.published = { version, contentDigest, url };
      // A target that does not run what is current may run anything: nothing is known of what its readers got.
      const wanted = { version: heldAt ?? version, previous: heldAt ?? version, known: rollouts };
      // The version before a refused one may have the same content: then it is in service, and reaches the targets.
      const isRefused = heldAt === version && kept.reasons !== undefined;
      const isNowhere = isRefused && (bundle.current === null || !patched('held-in-service'));
      const put = isNowhere ? null : await this.#rollOut(wanted, settings.targets, heldAt);
      // A check's hold, whose return is tried again: it is said for as long as it fails.
      const left = kept.reasons && heldAt !== null ? leftBehind(heldAt, this.view.rollouts) : [];
      const reasons = [...left, ...(kept.reasons ?? [])];
      const found = { version, contentDigest, archive: kept.archive, pages, files, url, reasons };
      return this.#result({ ...found, outcome: 'unchanged', held: heldAt, ...put });
    }
    const namedAt = bundle.published === undefined ? undefined : this.progress.namedAt;
    const version = this.view.version ?? versionName(namedAt ?? Date.now(), contentDigest);
    this.view.version = version;
    if (!bundle.published) this.view.enter('publishing');
    const found = { version, contentDigest, archive, pages, files };
    const placed = await this.#publication.put(version, bundle, settings.approval);
    if ('reason' in placed) {
      return this.#result({ ...found, outcome: 'rejected', version: null, reasons: [placed.reason] });
    }
    const previous = bundle.current?.version ?? null;
    const { url, heldAt: held } = placed;
    const put = await this.#rollOut({ version: held ?? version, previous }, settings.targets, held);
    return this.#result({ ...found, outcome: 'published', url, held, ...put });
  }

  /**
   * Nothing for an export that does not become current. A held site rolls out the version it is held at: a target that
   * failed during the rollback gets it now. Returns where and why the site is held if a step refused the version.
   */
  async #rollOut(
    wanted: Omit<WantedRollout, 'force' | 'held'>,
    targets: SitePlan['targets'],
    heldAt: string | null,
  ): Promise<{ held: string | null; reasons: Reason[] } | null> {
    const { org, domain, parameters } = this.#input;
    if (!becomesCurrent(parameters)) return null;
    const { known = [] } = wanted;
    if (nextStep(targets, known) !== null) this.view.enter('rolling-out');
    const site = { org, domain, storeId: this.progress.storeId, targets };
    const how = { force: parameters.force === true, held: heldAt !== null };
    const taken = await rollOutToTargets(site, { ...wanted, ...how }, (results) => {
      this.view.rollouts = results;
      this.view.show();
    });
    const refused = refusal(taken);
    if (refused === null || heldAt !== null) return null;
    const { rollouts, held, reasons } = await returnToBefore(site, wanted.version, taken, refused);
    this.view.rollouts = rollouts;
    return { held, reasons };
  }

  #result(found: Partial<ExportResult> & Pick<ExportResult, 'outcome'>): ExportResult {
    const { workflowId, runId } = workflowInfo();
    const { jobId, jobsStarted, possibleDuplicates, polls, linksRequested } = this.progress;
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
    const { org, domain, parameters } = this.#input;
    const { possibleDuplicates } = this.progress;
    const limited = !becomesCurrent(parameters);
    await this.approval.kept();
    await recordOrLater({
      org,
      domain,
      startedAt: new Date(this.progress.startedAt).toISOString(),
      outcome,
      jobId: this.progress.jobId,
      jobsStarted: this.progress.jobsStarted,
      version: result?.version ?? null,
      contentDigest: result?.contentDigest ?? null,
      polls: this.progress.polls,
      detail: JSON.stringify({
        ...detail,
        ...(possibleDuplicates > 0 && { possibleDuplicates }),
        ...(limited && { limited }),
      }),
      // Exports of a few pages say nothing about whole exports.
      jobMs: (parameters.paths ?? []).length === 0 ? (this.progress.jobMs ?? null) : null,
    });
    const { version = null, contentDigest = null, url = null, held = null } = result ?? {};
    const timestamp = new Date().toISOString();
    const { workflowId, runId } = workflowInfo();
    const data = { org, domain, outcome, version, contentDigest, url, held, workflowId, runId };
    await announce(org, this.#webhooks, { type: 'export.finished', timestamp, data });
  }
}

/** Exports one site: job, link, download, verification, publication, rollout (E1 to E6). */
export async function exportSite(given: ExportInput): Promise<ExportResult> {
  const input = readContinued(readExportInput, given);
  followFailover(input);
  const run = new ExportRun(input);
  onQuery(exportStateQuery, () => run.view.state(), 'Phase, progress, next poll and rollouts.');
  const ignored = () => run.view.ignoredSignal();
  onSignal(phaseSignal, readPhase, {
    take: ({ phase }) => run.view.announce(phase),
    ignored,
    description: 'An activity entered a new phase.',
  });
  onUpdate(pollNowUpdate, noInput, {
    answer: () => {
      run.job.pollNow();
      return run.view.state();
    },
    check: () => run.job.requireWaiting(),
    description: 'Polls the job at once.',
  });
  onDecision(approveUpdate, readApproval, {
    answer: (_answer, sent) => run.approval.approve(sent),
    check: (answer) => run.approval.requireWaiting(answer),
    description: 'Makes the waiting version current.',
  });
  onDecision(rejectUpdate, readRejection, {
    answer: (answer, sent) => run.approval.reject(answer, sent),
    check: (answer) => run.approval.requireReason(answer),
    description: 'Removes the waiting version; the result gives {reason}.',
  });
  onSignal(retryKeySignal, noInput, {
    take: () => run.key.retry(),
    ignored,
    description: 'The key may have been changed: try it at once.',
  });
  const result = await run.run();
  if (result) return result;
  const { org, domain, parameters } = input;
  const next = { org, domain, parameters, failover: failoverIn(input), carried: run.progress, ...run.next };
  const moved = leavesBuild() ? { initialVersioningBehavior: 'AUTO_UPGRADE' as const } : {};
  return await makeContinueAsNewFunc<typeof exportSite>(moved)(nextInput(next));
}
defineWorkflowOptions(exportSite, { ...readsInput, workflowDefinitionOptions: pinnedVersioning });
