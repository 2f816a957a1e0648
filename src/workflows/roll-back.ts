import { CancellationScope, defineWorkflowOptions, isCancellation, patched, workflowInfo } from '@temporalio/workflow';
import { exportStateQuery } from '../contract.ts';
import { readRollbackInput } from '../exports/rules/export-messages.ts';
import {
  type EndDetail,
  type ExportPhase,
  type ExportState,
  heldMeanwhile,
  outcomeWith,
  type RollbackInput,
  type RollbackResult,
  type RolloutResult,
  type RunOutcome,
  whyEnded,
} from '../exports/rules/site-export.ts';
import { type Actor, readActor, unnamedActor } from '../runs/rules/audit.ts';
import {
  endFacts,
  failureSummary,
  followFailover,
  hasDetail,
  hurry,
  onQuery,
  pinnedVersioning,
  planSite,
  readInput,
  readsInput,
  runStep,
  showEnd,
  showFacts,
  wholeVersionOptions,
} from './kit.ts';
import { rollOutToTargets } from './publication.ts';
import { recordOrLater, writeAuditEntry } from './runs.ts';

/** Holds the site at a kept version, without the service (E7), under the id of the site's exports (E1). */
export async function rollBack(given: RollbackInput): Promise<RollbackResult> {
  const input = readInput(readRollbackInput, given);
  followFailover(input);
  hurry();
  const run = new Rollback(input);
  onQuery(exportStateQuery, () => run.state(), 'Phase and rollouts.');
  return run.run();
}
/** Even in a run that is cancelled: half a rollback would hold the site at a version that is not in service. */
const toItsEnd = <Result>(step: () => Promise<Result>): Promise<Result> =>
  patched('rollBackTo-to-its-end') ? CancellationScope.nonCancellable(step) : step();

defineWorkflowOptions(rollBack, { ...readsInput, workflowDefinitionOptions: pinnedVersioning });

class Rollback {
  readonly #input: RollbackInput;
  readonly #startedAt = workflowInfo().startTime;
  #rollouts: RolloutResult[] = [];
  #phase: ExportPhase = 'starting';
  #contentDigest: string | null = null;
  #kept: Promise<void> | null = null;
  #ended: { outcome: RunOutcome; reason: string } | null = null;

  constructor(input: RollbackInput) {
    this.#input = input;
  }

  state(): ExportState {
    const { org, domain, version } = this.#input;
    return {
      org,
      domain,
      phase: this.#phase,
      parameters: { rollback: version },
      progress: null,
      nextPoll: null,
      unauthorized: null,
      download: null,
      version,
      approval: null,
      rollouts: this.#rollouts,
      ignored: 0,
    };
  }

  async run(): Promise<RollbackResult> {
    try {
      const result = await this.#rollBack();
      await this.#end(result.outcome, { previous: result.previous, rollouts: result.rollouts });
      return result;
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await this.#end(cancelled ? 'cancelled' : 'failed', { error: failureSummary(error), rollouts: this.#rollouts });
      throw error;
    }
  }

  async #rollBack(): Promise<RollbackResult> {
    const { org, domain, version, who, reason } = this.#input;
    // A run started in the Temporal UI may name anything.
    const actor = readInput(readActor, { reason, ...(who !== undefined && { who }) });
    this.#show();
    const { storeId, targets } = await planSite(org, domain);
    this.#enter('verifying');
    const { current } = await runStep('checkKeptVersion', wholeVersionOptions, `verify ${version} again`, {
      domain,
      storeId,
      version,
    });
    this.#enter('publishing');
    const rolledBack = await toItsEnd(() =>
      runStep('rollBackTo', wholeVersionOptions, `hold ${domain} at ${version}`, {
        domain,
        storeId,
        version,
        reason: actor.reason ?? null,
        at: Date.now(),
      }),
    ).catch((error: unknown) => {
      // The next export brings the version into service.
      if (hasDetail(error, heldMeanwhile)) this.#kept = this.#keep(actor, current);
      throw error;
    });
    this.#kept = this.#keep(actor, current);
    this.#contentDigest = rolledBack.contentDigest;
    this.#enter('rolling-out');
    const wanted = { version, previous: current, force: false, held: true };
    await rollOutToTargets({ org, domain, storeId, targets }, wanted, (results) => {
      this.#rollouts = results;
      this.#show();
    });
    const { workflowId, runId } = workflowInfo();
    return {
      workflowId,
      runId,
      org,
      domain,
      outcome: outcomeWith('rolled-back', this.#rollouts),
      version,
      previous: current,
      ...rolledBack,
      held: version,
      rollouts: this.#rollouts,
    };
  }

  /** Hands the rollback to the audit: from now on the site is held. */
  #keep({ who = unnamedActor, reason = null }: Actor, previous: string | null): Promise<void> {
    const { org, domain: subject, version } = this.#input;
    const { workflowId, runId } = workflowInfo();
    return writeAuditEntry({
      entryId: `${runId}/rollback`,
      at: new Date().toISOString(),
      action: 'rollback',
      org,
      subject,
      who,
      reason,
      detail: JSON.stringify({ version, previous }),
      workflowId,
    });
  }

  #enter(phase: ExportPhase): void {
    this.#phase = phase;
    this.#show();
  }

  #show(): void {
    const { org, domain, version, reason } = this.#input;
    const facts: [string, string][] = [
      ...(this.#ended ? endFacts(this.#ended) : [['phase', `**${this.#phase}**`] as [string, string]]),
      ['version', version],
      ...(reason === null ? [] : [['reason of the rollback', reason] as [string, string]]),
      ...this.#rollouts.map(({ target, outcome, detail }): [string, string] => [target, `${outcome}: ${detail}`]),
    ];
    showFacts(`**Rollback of ${domain}** (${org})`, facts);
  }

  async #end(outcome: RunOutcome, detail: EndDetail & { previous?: string | null }): Promise<void> {
    this.#ended = { outcome, reason: whyEnded(detail) };
    this.#phase = 'done';
    showEnd(outcome);
    this.#show();
    const { org, domain, version } = this.#input;
    const row = {
      org,
      domain,
      startedAt: this.#startedAt.toISOString(),
      outcome,
      jobId: null,
      jobsStarted: 0,
      version,
      contentDigest: this.#contentDigest,
      polls: 0,
      detail: JSON.stringify(detail),
      jobMs: null,
    };
    await this.#kept;
    await CancellationScope.nonCancellable(() => recordOrLater(row));
  }
}
