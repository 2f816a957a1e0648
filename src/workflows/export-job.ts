import { ApplicationFailure, condition, patched, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { keyTryDelay, type RefusedKey } from '../budget/rules/window-state.ts';
import { keepSamples, nextPollDelay, observedDuration, pollSpacing } from '../exports/rules/cadence.ts';
import {
  type AwaitedApproval,
  answeredStart,
  changesMarkdown,
  type ExportInput,
  type ExportPhase,
  type ExportProgress,
  type ExportState,
  type RolloutResult,
  type RunOutcome,
  reasonText,
  searchedPhase,
} from '../exports/rules/site-export.ts';
import { barText, clockTime, counted, factsTable, ignoredFacts, spanText, summaryText } from '../rules/text.ts';
import {
  endFacts,
  failureSummary,
  failureType,
  hasDetail,
  invalidInput,
  leavesBuild,
  requestOptions,
  requireNotCancelled,
  runStep,
  type SitePlan,
  showEnd,
  shownPhase,
  showPhase,
  startOptions,
  timedOut,
} from './kit.ts';

/** What people see of an export: the query `state`, Current Details, and the phase as a search attribute. */
export class ExportView {
  readonly #input: ExportInput;
  readonly #progress: ExportProgress;
  #phase: ExportPhase;
  #unauthorized: ExportState['unauthorized'] = null;
  #end: { outcome: RunOutcome; reason: string } | null = null;
  nextPoll: ExportState['nextPoll'] = null;
  #failedStart: NonNullable<ExportState['failedStart']> | null = null;
  approval: AwaitedApproval | null;
  version: string | null;
  rollouts: RolloutResult[] = [];

  constructor(input: ExportInput, progress: ExportProgress) {
    this.#input = input;
    this.#progress = progress;
    // Set before any message is read: a decision may come with the first task of the run that goes on waiting.
    this.approval = input.awaited?.approval ?? null;
    this.#phase = this.approval === null ? 'starting' : 'awaiting-approval';
    this.version = this.approval?.version ?? null;
  }

  state(): ExportState {
    return {
      org: this.#input.org,
      domain: this.#input.domain,
      phase: this.#phase,
      parameters: this.#input.parameters,
      progress: this.#progress,
      failedStart: this.#failedStart,
      nextPoll: this.nextPoll,
      unauthorized: this.#unauthorized,
      download: null,
      version: this.version,
      approval: this.approval,
      rollouts: this.rollouts,
      ignored: this.#progress.ignored ?? 0,
    };
  }

  enter(phase: ExportPhase): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#search(this.#searched());
    this.show();
  }

  /** Shows how and why the run ends; called once. */
  end(outcome: RunOutcome, reason: string): void {
    this.#end = { outcome, reason };
    this.#phase = 'done';
    showEnd(outcome);
    this.show();
  }

  /** The phase that `fetchBundle` announced; ignored when it comes late from an ended attempt. */
  announce(phase: ExportPhase): void {
    if (this.#phase === 'fetching' && phase === 'verifying') this.enter(phase);
  }

  /** A malformed signal arrived. */
  ignoredSignal(): void {
    this.#progress.ignored = (this.#progress.ignored ?? 0) + 1;
    this.show();
  }

  waitForPoll(poll: ExportState['nextPoll']): void {
    this.nextPoll = poll;
    this.show();
  }

  /** Shows why a start is repeated, and when; null ends it. */
  repeatStart(failedStart: NonNullable<ExportState['failedStart']> | null): void {
    this.#failedStart = failedStart;
    this.show();
  }

  /** Enters the phase that waits for a person; null ends the wait. */
  awaitApproval(approval: AwaitedApproval | null): void {
    this.approval = approval;
    if (approval) this.enter('awaiting-approval');
    this.show();
  }

  /** Shows that the service refuses the key, searchable as `DocferryPhase = "unauthorized"`. */
  keyRefused(refused: ExportState['unauthorized']): void {
    if (refused === null && this.#unauthorized === null) return;
    this.#search(refused ? 'unauthorized' : this.#searched());
    this.#unauthorized = refused;
    this.show();
  }

  /** Runs that an earlier version began are found as `rendering` while they start a job. */
  #searched(): ExportPhase {
    return this.#phase === 'starting' && !patched('starting-is-searched') ? 'rendering' : searchedPhase[this.#phase];
  }

  #search(phase: string): void {
    if (shownPhase() !== phase) showPhase(phase);
  }

  show(): void {
    const { jobId, percent, pageCount, polls, jobsStarted, possibleDuplicates } = this.#progress;
    const facts: [string, string][] = this.#end ? endFacts(this.#end) : [['phase', `**${this.#phase}**`]];
    if (this.#unauthorized) {
      const { since, nextTryAt } = this.#unauthorized;
      facts.push(['API key', `refused (401) since ${clockTime(since)}, next try at ${clockTime(nextTryAt)}`]);
    }
    const exported = pageCount === null ? '' : `${pageCount} pages`;
    // How far the job was says nothing about a run that has ended.
    const done = percent === null || this.#end ? '' : `${barText(percent)} ${Math.round(percent)} %`;
    if (exported || done) facts.push(['progress', [done, exported].filter(Boolean).join(', ')]);
    if (this.nextPoll) {
      const { at, reason, expectedAt } = this.nextPoll;
      facts.push(['next poll', `${clockTime(at)} (${reason})`]);
      if (expectedAt !== null) facts.push(['expected end', clockTime(expectedAt)]);
    }
    if (this.#phase === 'fetching') facts.push(['download', 'see the heartbeat of the pending activity']);
    facts.push(['job', `${jobId ?? 'none yet'}, polled ${polls === 1 ? 'once' : `${polls} times`}`]);
    if (jobsStarted > 1) facts.push(['jobs started', `${possibleDuplicates > 0 ? 'up to ' : ''}${jobsStarted}`]);
    if (this.#failedStart) facts.push(['start failed', this.#failedStart.reason]);
    if (possibleDuplicates > 0) {
      facts.push(['possible duplicate jobs', `${possibleDuplicates} (the answer to a start was lost or unreadable)`]);
    }
    if (this.version) facts.push(['version', this.version]);
    if (this.approval) {
      const { version, expiresAt, asks } = this.approval;
      const until = new Date(expiresAt).toISOString();
      facts.push(['approval', `${version} waits until ${until}, then it counts as rejected`]);
      facts.push(...asks.map((reason): [string, string] => ['because', reasonText(reason)]));
      facts.push([
        'decide',
        `docferry export approve ${this.#input.domain} (or reject), or the updates approve and reject`,
      ]);
    }
    facts.push(...ignoredFacts(this.#progress.ignored ?? 0));
    for (const { target, outcome, detail } of this.rollouts) facts.push([target, `${outcome}: ${detail}`]);
    const parts = [`**Export of ${this.#input.domain}** (${this.#input.org})`, factsTable(facts)];
    if (this.approval) parts.push('**Changes**', changesMarkdown(this.approval.changes));
    setCurrentDetails(parts.join('\n\n'));
  }
}

/** How long a key has been refused, and how often. */
type KeyRefusals = NonNullable<ExportInput['refused']>;

/** What the run waits for, the next one waits for: the history has grown long, or another build became current. */
export class WaitsInNextRun extends Error {
  override readonly name = 'WaitsInNextRun';
  readonly next: Pick<ExportInput, 'refused' | 'awaited'>;

  constructor(next: Pick<ExportInput, 'refused' | 'awaited'>) {
    super('the next run goes on waiting');
    this.next = next;
  }
}

/** Events of a run before it continues as new: about three days of refusals. */
const eventsPerRun = 3_000;

/** Waits out a refused key (401): retries the step after a minute, at growing intervals, or when signalled (budget.md). */
export class KeyGate {
  readonly #onChange: (refused: RefusedKey | null) => void;
  /** Of the run before. */
  #carried: KeyRefusals | null;
  #woken = false;

  constructor(onChange: (refused: RefusedKey | null) => void, carried: KeyRefusals | null) {
    this.#onChange = onChange;
    this.#carried = carried;
  }

  /** The key may have been changed. */
  retry(): void {
    this.#woken = true;
  }

  /** The step's result. Failures other than `Unauthorized` pass through. Throws `WaitsInNextRun`. */
  async through<T>(step: () => Promise<T>): Promise<T> {
    let refused = this.#carried;
    this.#carried = null;
    for (;;) {
      // The signal that the key was changed may overtake the refusal, so it counts from the step's start.
      this.#woken = false;
      try {
        return await step();
      } catch (error) {
        if (failureType(error) !== 'Unauthorized') throw error;
        refused = { since: refused?.since ?? Date.now(), refusals: (refused?.refusals ?? 0) + 1 };
        const nextTryAt = Date.now() + keyTryDelay(refused.refusals);
        this.#onChange({ since: refused.since, triedAt: Date.now(), nextTryAt });
        await condition(() => this.#woken, nextTryAt - Date.now(), {
          summary: `key refused (401), next try at ${clockTime(nextTryAt)}`,
        });
        const { continueAsNewSuggested, historyLength } = workflowInfo();
        const isLong = continueAsNewSuggested || historyLength >= eventsPerRun;
        if (!isLong && !leavesBuild()) continue;
        requireNotCancelled();
        throw new WaitsInNextRun({ refused });
      } finally {
        this.#onChange(null);
      }
    }
  }
}

/** Pause before a start that may have arrived is repeated: 10 s at first, then growing to 10 min. */
const repeatPauseMs = (repetition: number): number => Math.min(10 * 60_000, 10_000 * 2 ** (repetition - 1));
/** Starts that the service answered without a readable job id: each has probably made a job. */
const unreadableStarts = 3;
/** Pause before another job replaces a failed one (E2): 3 s at first, then growing. */
const restartPauseMs = (failures: number): number => Math.min(5 * 60_000, 3_000 * 4 ** (failures - 1));

/** Limits from the configuration, and how long the site's last complete exports took. */
type JobSettings = Pick<SitePlan, 'jobTimeoutMs' | 'jobAttempts' | 'startTimeoutMs' | 'usualJobsMs'>;

type JobEnd = { kind: 'completed' } | { kind: 'continue-as-new' } | { kind: 'ended'; reason: string };

/** The static export's job at the service: started, polled to its end, started again if it fails. */
export class ExportJob {
  readonly #input: ExportInput;
  readonly #progress: ExportProgress;
  readonly #view: ExportView;
  readonly #key: KeyGate;
  #woken = false;

  constructor(input: ExportInput, progress: ExportProgress, view: ExportView, key: KeyGate) {
    this.#input = input;
    this.#progress = progress;
    this.#view = view;
    this.#key = key;
  }

  pollNow(): void {
    this.#woken = true;
  }

  /** Throws when there is no poll to bring forward. */
  requireWaiting(): void {
    if (this.#view.nextPoll) return;
    throw invalidInput('no poll is due: the export is not waiting for its job');
  }

  /** Id of the completed job; null to continue as new. Jobs that fail, vanish or take too long are started again. */
  async complete(settings: JobSettings): Promise<string | null> {
    for (;;) {
      const { jobId, jobStartedAt } = this.#progress;
      const job =
        jobId === null || jobStartedAt === null
          ? await this.#startJob(settings.startTimeoutMs)
          : { jobId, jobStartedAt };
      this.#view.enter('rendering');
      const end = await this.#follow(job.jobId, job.jobStartedAt, settings);
      if (end.kind === 'continue-as-new') return null;
      if (end.kind === 'completed') return job.jobId;
      await this.giveUp(end.reason, settings);
    }
  }

  /** Waits until `complete` may start another job; throws when enough have been started. */
  async giveUp(reason: string, { jobAttempts }: Pick<JobSettings, 'jobAttempts'>): Promise<void> {
    const failures = this.#progress.jobsStarted - this.#progress.possibleDuplicates;
    if (failures >= jobAttempts) {
      throw ApplicationFailure.nonRetryable(`${reason}; ${triedText(failures)}`, 'JobFailed');
    }
    this.#progress.jobId = null;
    this.#view.enter('starting');
    await sleep(restartPauseMs(failures), { summary: summaryText(`start another job: ${reason}`) });
  }

  /** Repeats a start that may have arrived for `repeatForMs`, if its answer was lost: each may leave another job. */
  async #startJob(repeatForMs: number): Promise<{ jobId: string; jobStartedAt: number }> {
    const { org, domain, parameters } = this.#input;
    let uncertainSince: number | null = null;
    let unreadable = 0;
    for (let repetitions = 0; ; ) {
      this.#progress.jobsStarted += 1;
      try {
        const { jobId } = await this.#key.through(() =>
          runStep('startJob', startOptions, `start a job for ${domain}`, { org, domain, parameters }),
        );
        // After the answer: the start may have been retried for hours.
        const jobStartedAt = Date.now();
        Object.assign(this.#progress, {
          jobId,
          jobStartedAt,
          percent: null,
          pageCount: null,
          samples: [],
          runningMs: 0,
          jobMs: undefined,
          namedAt: undefined,
        });
        this.#view.repeatStart(null);
        return { jobId, jobStartedAt };
      } catch (error) {
        this.#view.repeatStart(null);
        // The next run starts it.
        if (error instanceof WaitsInNextRun) this.#progress.jobsStarted -= 1;
        if (!mayHaveStarted(error)) throw error;
        // A worker that shuts down says nothing about the service.
        const byWorker = failureType(error) === 'WorkerShutdown';
        uncertainSince ??= byWorker ? null : Date.now();
        const leftMs = uncertainSince === null ? 0 : uncertainSince + repeatForMs - Date.now();
        // Not a number when a worker of an earlier version has planned the run.
        if (!byWorker && !(leftMs > 0)) throw error;
        if (hasDetail(error, answeredStart)) unreadable += 1;
        if (unreadable >= unreadableStarts) throw error;
        this.#progress.possibleDuplicates += 1;
        this.#view.show();
        if (byWorker) continue;
        repetitions += 1;
        const pauseMs = Math.min(repeatPauseMs(repetitions), leftMs);
        const failed = { attempt: repetitions + 1, reason: failureSummary(error) };
        this.#view.repeatStart({ ...failed, nextAt: Date.now() + pauseMs });
        const summary = summaryText(`the start may have arrived, repeated for ${spanText(leftMs)}: ${failed.reason}`);
        await sleep(pauseMs, { summary });
        this.#view.repeatStart({ ...failed, nextAt: null });
      }
    }
  }

  /** Polls a job until it ends, with durable timers that `pollNow` cuts short. */
  async #follow(jobId: string, startedAt: number, settings: JobSettings): Promise<JobEnd> {
    const timeoutMs = settings.jobTimeoutMs;
    // What whole exports took says nothing about a few pages.
    const usualJobsMs = (this.#input.parameters.paths ?? []).length === 0 ? settings.usualJobsMs : [];
    for (;;) {
      const elapsedMs = Date.now() - startedAt;
      const { delayMs, reason, expectedAtMs } = nextPollDelay({
        elapsedMs,
        samples: this.#progress.samples,
        timeoutMs,
        usualJobsMs,
      });
      await this.#waitForPoll(delayMs, reason, expectedAtMs === null ? null : startedAt + expectedAtMs);
      const summary = `poll ${this.#progress.polls + 1} of ${jobId}`;
      const reading = await this.#key.through(() =>
        runStep('readJob', requestOptions, summary, { org: this.#input.org, jobId }),
      );
      this.#progress.polls += 1;
      this.#progress.percent = reading.percent ?? this.#progress.percent;
      this.#progress.pageCount = reading.pageCount ?? this.#progress.pageCount;
      this.#view.show();
      const now = Date.now() - startedAt;
      if (reading.state === 'completed') {
        const { runningMs, samples } = this.#progress;
        // For the polls of later exports, as the first run saw it, which may be days ago.
        this.#progress.jobMs ??= observedDuration(runningMs, now, pollSpacing(now, samples.length > 0));
        return { kind: 'completed' };
      }
      if (reading.state === 'failed')
        return { kind: 'ended', reason: `the service says: ${reading.error ?? 'the job failed, without a reason'}` };
      if (reading.state === 'missing') return { kind: 'ended', reason: 'the service no longer knows the job' };
      if (now >= timeoutMs) {
        return { kind: 'ended', reason: `the job is not done after ${spanText(now)}${unknownStatus(reading.status)}` };
      }
      this.#progress.runningMs = now;
      this.#progress.samples = keepSamples(this.#progress.samples, { atMs: now, percent: reading.percent });
      if (!workflowInfo().continueAsNewSuggested) continue;
      requireNotCancelled();
      return { kind: 'continue-as-new' };
    }
  }

  async #waitForPoll(delayMs: number, reason: string, expectedAt: number | null): Promise<void> {
    this.#woken = false;
    try {
      this.#view.waitForPoll({ at: Date.now() + delayMs, reason, expectedAt });
      await condition(() => this.#woken, delayMs, {
        summary: `next poll in ${spanText(delayMs)}: ${reason}`,
      });
    } finally {
      this.#view.waitForPoll(null);
    }
  }
}

/** Whether a failed start may still have made a job. */
function mayHaveStarted(error: unknown): boolean {
  const type = failureType(error);
  return type === 'StartUncertain' || type === 'WorkerShutdown' || timedOut(error);
}

/** Names a status that is not in the interface and so counted as running: it may be the service's word for done. */
function unknownStatus(status: string): string {
  const isKnown = /^(queued|running)$/i.test(status);
  return isKnown || !/^[\w -]{1,40}$/.test(status) ? '' : ` (its status is "${status}")`;
}

const triedText = (jobs: number): string => `${counted(jobs, 'job')} ${jobs === 1 ? 'was' : 'were'} tried`;
