import {
  type ActivityOptions,
  CancellationScope,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import {
  becomesCurrent,
  type ExportInput,
  type ExportProgress,
  type ExportResult,
  type ExportState,
} from '../model/site-export.ts';
import { versionName } from '../model/version-name.ts';
import { announce } from './announce.ts';
import { exportStateQuery, phaseSignal, pollNowUpdate, retryKeySignal } from './definitions.ts';
import { ExportJob } from './export-job.ts';
import { ExportView } from './export-view.ts';
import { failureSummary } from './failure-summary.ts';
import { KeyGate } from './key-gate.ts';
import { recordOptions } from './record-options.ts';

type FetchBundleResult = Awaited<ReturnType<Activities['fetchBundle']>>;
type Published = Pick<ExportResult, 'version' | 'contentDigest' | 'url'>;
type VerifiedBundle = FetchBundleResult & { ok: true };

const records =
  proxyActivities<Pick<Activities, 'planExport' | 'recordExportRun' | 'discardStaged' | 'describeVersion'>>(
    recordOptions,
  );

/** Link, download and verification: long, with a heartbeat that finds a dead worker within seconds. */
const fetchOptions = {
  startToCloseTimeout: '12h',
  scheduleToCloseTimeout: '24h',
  heartbeatTimeout: '3s',
  retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 100 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;
const fetches = proxyActivities<Pick<Activities, 'fetchBundle'>>(fetchOptions);

/** Publishing copies nothing, but makes a large bundle durable. */
const publishOptions = {
  startToCloseTimeout: '15m',
  scheduleToCloseTimeout: '6h',
  heartbeatTimeout: '3s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;
const publications = proxyActivities<Pick<Activities, 'publishVersion'>>(publishOptions);

/** A target that fails a few times is reported as failed; the others go on. */
const rolloutOptions = {
  startToCloseTimeout: '1h',
  scheduleToCloseTimeout: '2h',
  heartbeatTimeout: '3s',
  retry: { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 4 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;
const rollouts = proxyActivities<Pick<Activities, 'rollOut'>>(rolloutOptions);

/** Exports one site: job, link, archive, verification, publication, rollout (DESIGN §4, E1 to E6). */
export async function exportSite(input: ExportInput): Promise<ExportResult> {
  const run = new SiteExport(input);
  setHandler(exportStateQuery, () => run.state(), { description: 'Phase, progress, next poll and rollouts.' });
  setHandler(phaseSignal, ({ phase }) => run.view.announce(phase), { description: 'A long activity entered a phase.' });
  setHandler(
    pollNowUpdate,
    () => {
      run.job.pollNow();
      return run.state();
    },
    { description: 'Asks for the state of the job at once.', validator: () => run.job.requireWaiting() },
  );
  setHandler(retryKeySignal, () => run.key.retry(), { description: 'The key may have been changed: try it at once.' });
  const result = await run.run();
  if (!result) return await makeContinueAsNewFunc<typeof exportSite>()({ ...input, carried: run.progress });
  return result;
}

class SiteExport {
  readonly #input: ExportInput;
  readonly view: ExportView;
  readonly key: KeyGate;
  readonly job: ExportJob;
  readonly progress: ExportProgress;
  #published: Published | null = null;
  #settings: Awaited<ReturnType<Activities['planExport']>> | null = null;

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
    };
    this.view = new ExportView(input, this.progress);
    this.key = new KeyGate((refused) => this.view.keyRefused(refused));
    this.job = new ExportJob(input, this.progress, this.view, this.key);
  }

  state(): ExportState {
    return this.view.state();
  }

  /** The result, or null when the history has grown long and the run should continue as new. */
  async run(): Promise<ExportResult | null> {
    try {
      this.view.show();
      const settings = await this.#plan();
      const jobId = await this.job.complete(settings);
      if (jobId === null) return null;
      this.view.enter('fetching');
      const fetched = await this.#fetch(jobId);
      const result = fetched.ok ? await this.#publish(jobId, fetched) : this.#rejected(jobId, fetched);
      await this.#record(result.outcome, result, { reasons: result.reasons, rollouts: result.rollouts });
      this.view.enter('done');
      return result;
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#cleanUp(error, cancelled));
      throw error;
    }
  }

  async #plan() {
    const { org, domain } = this.#input;
    this.#settings = await records.planExport.executeWithOptions(
      { ...recordOptions, summary: `read the configuration of ${domain}` },
      [{ org, domain }],
    );
    if (this.progress.storeId === '') this.progress.storeId = this.#settings.storeId;
    return this.#settings;
  }

  async #fetch(jobId: string): Promise<FetchBundleResult> {
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

  async #publish(jobId: string, bundle: VerifiedBundle): Promise<ExportResult> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.progress;
    const unchanged = bundle.current?.contentDigest === bundle.contentDigest && parameters.force !== true;
    const now = Date.now();
    // Fixed here once: retries of the activity never mint another name (DESIGN E6).
    const version = unchanged && bundle.current ? bundle.current.version : versionName(now, bundle.contentDigest);
    const promoted = becomesCurrent(parameters);
    this.view.version = version;
    this.view.enter('publishing');
    let { archive } = bundle;
    let url: string;
    if (unchanged) {
      await this.#discardStaged();
      ({ url, archive } = await records.describeVersion.executeWithOptions(
        { ...recordOptions, summary: `nothing changed: ${version} stays` },
        [{ domain, version, storeId }],
      ));
    } else {
      const promote = promoted ? { expectedEpoch: bundle.current?.epoch ?? 0, publishedAt: now } : null;
      ({ url } = await publications.publishVersion.executeWithOptions(
        { ...publishOptions, summary: `publish ${version}` },
        [{ org, domain, storeId, stageId: this.#stageId(), version, promote }],
      ));
      // Not before the publication is known to have succeeded: a repeated one needs the download.
      await this.#discardStaged();
    }
    this.#published = { version, contentDigest: bundle.contentDigest, url };
    if (promoted) await this.#rollOut(version);
    return this.#result(jobId, {
      outcome: unchanged ? 'unchanged' : 'published',
      version,
      contentDigest: bundle.contentDigest,
      archive,
      pages: bundle.pages,
      files: bundle.files,
      url,
    });
  }

  async #rollOut(version: string): Promise<void> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.progress;
    this.view.enter('rolling-out');
    for (const target of this.#settings?.targets ?? []) {
      try {
        this.view.rollouts.push(
          await rollouts.rollOut.executeWithOptions(
            { ...rolloutOptions, summary: `${version} to ${target}`.slice(0, 180) },
            [{ org, domain, storeId, version, target, force: parameters.force === true }],
          ),
        );
      } catch (error) {
        if (isCancellation(error)) throw error;
        this.view.rollouts.push({ target, outcome: 'failed', detail: failureSummary(error).slice(0, 300) });
      }
      this.view.show();
    }
  }

  #rejected(jobId: string, refused: FetchBundleResult & { ok: false }): ExportResult {
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
      ...found,
    };
  }

  /** One private place of the download for all attempts and all runs of this execution. */
  #stageId(): string {
    return workflowInfo().firstExecutionRunId;
  }

  async #discardStaged(): Promise<void> {
    await records.discardStaged.executeWithOptions({ ...recordOptions, summary: 'remove the download' }, [
      { storeId: this.progress.storeId, stageId: this.#stageId() },
    ]);
  }

  /** The row first, then the download; neither hides the failure the workflow ends with. */
  async #cleanUp(error: unknown, cancelled: boolean): Promise<void> {
    const detail = { error: failureSummary(error), rollouts: this.view.rollouts };
    const steps = [() => this.#record(cancelled ? 'cancelled' : 'failed', this.#published, detail)];
    if (this.progress.storeId !== '') steps.push(() => this.#discardStaged());
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
    await records.recordExportRun.executeWithOptions({ ...recordOptions, summary: `record the run: ${outcome}` }, [
      {
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
        detail: JSON.stringify(detail),
      },
    ]);
    const { version = null, contentDigest = null, url = null } = result ?? {};
    const timestamp = new Date().toISOString();
    const data = { org, domain, outcome, version, contentDigest, url, workflowId, runId };
    await announce(org, this.#settings?.webhooks ?? [], { type: 'export.finished', timestamp, data });
  }
}
