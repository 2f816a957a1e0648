import { setCurrentDetails } from '@temporalio/workflow';
import type { RunOutcome } from '../exports/rules/site-export.ts';
import {
  type AwaitedApproval,
  changesMarkdown,
  type ExportInput,
  type ExportPhase,
  type ExportProgress,
  type ExportState,
  type RolloutResult,
  reasonText,
  searchedPhase,
} from '../exports/rules/site-export.ts';
import { barText, clockTime, factsTable, ignoredFacts } from '../rules/text.ts';
import { endFacts, showEnd, shownPhase, showPhase } from './kit.ts';

/** What people see of an export: the query `state`, Current Details, and the phase as a search attribute. */
export class ExportView {
  readonly #input: ExportInput;
  readonly #progress: ExportProgress;
  #phase: ExportPhase = 'starting';
  #nextPoll: ExportState['nextPoll'] = null;
  #unauthorized: ExportState['unauthorized'] = null;
  #approval: AwaitedApproval | null = null;
  #end: { outcome: RunOutcome; reason: string } | null = null;
  version: string | null = null;
  rollouts: RolloutResult[] = [];

  constructor(input: ExportInput, progress: ExportProgress) {
    this.#input = input;
    this.#progress = progress;
  }

  get nextPoll(): ExportState['nextPoll'] {
    return this.#nextPoll;
  }

  get approval(): AwaitedApproval | null {
    return this.#approval;
  }

  state(): ExportState {
    return {
      org: this.#input.org,
      domain: this.#input.domain,
      phase: this.#phase,
      parameters: this.#input.parameters,
      progress: this.#progress,
      nextPoll: this.#nextPoll,
      unauthorized: this.#unauthorized,
      download: null,
      version: this.version,
      approval: this.#approval,
      rollouts: this.rollouts,
      ignored: this.#progress.ignored ?? 0,
    };
  }

  enter(phase: ExportPhase): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#search(searchedPhase[phase]);
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
    this.#nextPoll = poll;
    this.show();
  }

  /** Enters the phase that waits for a person; null ends the wait. */
  awaitApproval(approval: AwaitedApproval | null): void {
    this.#approval = approval;
    if (approval) this.enter('awaiting-approval');
    this.show();
  }

  /** Shows that the service refuses the key, searchable as `DocferryPhase = "unauthorized"`. */
  keyRefused(refused: ExportState['unauthorized']): void {
    if (refused === null && this.#unauthorized === null) return;
    this.#search(refused ? 'unauthorized' : searchedPhase[this.#phase]);
    this.#unauthorized = refused;
    this.show();
  }

  #search(phase: string): void {
    if (shownPhase() !== phase) showPhase(phase);
  }

  show(): void {
    const { jobId, percent, pageCount, polls, jobsStarted, possibleDuplicates } = this.#progress;
    const facts: [string, string][] = this.#end ? endFacts(this.#end) : [['phase', `**${this.#phase}**`]];
    if (this.#unauthorized) {
      const { since, nextTryAt } = this.#unauthorized;
      facts.push(['API key', `refused (401) since ${clockTime(since)}, tried again at ${clockTime(nextTryAt)}`]);
    }
    const exported = pageCount === null ? '' : `${pageCount} pages`;
    // How far the job was says nothing about a run that has ended.
    const done = percent === null || this.#end ? '' : `${barText(percent)} ${Math.round(percent)} %`;
    if (exported || done) facts.push(['progress', [done, exported].filter(Boolean).join(', ')]);
    if (this.#nextPoll) {
      const { at, reason, expectedAt } = this.#nextPoll;
      facts.push(['next poll', `${clockTime(at)} (${reason})`]);
      if (expectedAt !== null) facts.push(['expected end', clockTime(expectedAt)]);
    }
    if (this.#phase === 'fetching') facts.push(['download', 'see the heartbeat of the pending activity']);
    facts.push(['job', `${jobId ?? 'none yet'}, polled ${polls === 1 ? 'once' : `${polls} times`}`]);
    if (jobsStarted > 1) facts.push(['jobs started', `${jobsStarted}`]);
    if (possibleDuplicates > 0) {
      facts.push(['possible duplicate jobs', `${possibleDuplicates} (the answer to a start was lost)`]);
    }
    if (this.version) facts.push(['version', this.version]);
    if (this.#approval) {
      const { version, expiresAt, asks } = this.#approval;
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
    if (this.#approval) parts.push('**Changes**', changesMarkdown(this.#approval.changes));
    setCurrentDetails(parts.join('\n\n'));
  }
}
