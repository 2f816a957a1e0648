import { CancellationScope, condition, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import { waitText } from '../budget/rules/window-view.ts';
import { permitsFreedSignal } from '../contract.ts';
import type { SyncState } from '../feedback/rules/sync.ts';
import { clockTime } from '../rules/text.ts';
import { endFacts, failureSummary, noInput, onSignal, showEnd, showPhase } from './kit.ts';

type Phase = SyncState['phase'];
export type RunEnd = 'completed' | 'failed' | 'cancelled';

/** What one activity has read. */
interface Leg {
  isLast: boolean;
  waiting?: SyncState['waiting'];
}

/** Events of a run before it continues as new, well below 4,096, at which the server suggests it. */
const eventsPerRun = 3_000;

/** A run that reads feedback lease by lease and waits for the budget in between: a pass, or a refresh. */
export abstract class FeedbackRun<Result> {
  protected phase: Phase = 'starting';
  protected waiting: SyncState['waiting'] = null;
  protected ended: { outcome: RunEnd; reason: string } | null = null;
  /** Signals that made no sense. */
  protected ignored = 0;
  #woken = false;

  /** Whether there is something to finish. */
  protected get hasRow(): boolean {
    return true;
  }

  /** What comes before the first page. */
  protected async begin(): Promise<void> {}
  protected abstract readLeg(): Promise<Leg>;
  protected abstract addWait(ms: number): void;
  protected abstract finish(outcome: RunEnd, error: string | null): Promise<Result>;
  /** Each change of a search attribute costs an event: most are left out. */
  protected abstract isSearched(from: Phase, to: Phase): boolean;
  protected abstract show(): void;

  /** Hears the budget; call it when the run can be shown. */
  listen(): void {
    onSignal(permitsFreedSignal, noInput, {
      take: () => {
        this.#woken = true;
      },
      ignored: () => {
        this.ignored += 1;
        this.show();
      },
      description: 'Permits came back: ask again now.',
    });
  }

  /** The result, or null when the run has grown long and should continue as new. */
  async run(): Promise<Result | null> {
    try {
      await this.begin();
      return (await this.#read()) ? await this.finish('completed', null) : null;
    } catch (error) {
      const cancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
      await CancellationScope.nonCancellable(() => this.#recordFailure(error, cancelled));
      throw error;
    }
  }

  /** True when all is read, false when the run should continue as new. */
  async #read(): Promise<boolean> {
    this.#enter('reading');
    for (;;) {
      // A wake-up may overtake the answer that says to wait, so it counts from the question.
      this.#woken = false;
      const { isLast, waiting } = await this.readLeg();
      this.show();
      if (isLast) return true;
      if (waiting) await this.#waitForBudget(waiting);
      const { continueAsNewSuggested, historyLength } = workflowInfo();
      if (continueAsNewSuggested || historyLength >= eventsPerRun) return false;
    }
  }

  /** Waits on a durable timer that the budget can cut short. */
  async #waitForBudget(waiting: NonNullable<SyncState['waiting']>): Promise<void> {
    const since = Date.now();
    const { until, place, reason } = waiting;
    const refused = reason === 'unauthorized';
    this.waiting = waiting;
    this.#enter(refused ? 'unauthorized' : 'waiting-for-budget');
    const summary = refused
      ? `key refused (401), next try at ${clockTime(until)}`
      : `budget free at ${clockTime(until)}, place ${place}`;
    await condition(() => this.#woken, Math.max(1, until - since), { summary });
    this.waiting = null;
    this.#enter('reading');
    this.addWait(Date.now() - since);
  }

  /** The workflow ends with the run's own failure, even if its row cannot be written. */
  async #recordFailure(error: unknown, cancelled: boolean): Promise<void> {
    const outcome = cancelled ? 'cancelled' : 'failed';
    const reason = failureSummary(error);
    try {
      if (this.hasRow) await this.finish(outcome, reason);
    } catch (failure) {
      log.error('the row of the run could not be written', { failure: failureSummary(failure) });
    }
    if (!this.ended) this.showEnd(outcome, reason);
  }

  protected showEnd(outcome: RunEnd, reason: string): void {
    this.ended = { outcome, reason };
    this.phase = 'done';
    this.waiting = null;
    showEnd(outcome);
    this.show();
  }

  /** The first lines of Current Details: the end, or the phase and what the run waits for. */
  protected facts(): [string, string][] {
    if (this.ended) return endFacts(this.ended);
    const facts: [string, string][] = [['phase', this.phase]];
    if (!this.waiting) return facts;
    const { until, place, behind, reason } = this.waiting;
    const queue = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
    return [...facts, ['waiting until', `${clockTime(until)}, place ${place}${queue}`], ['why', waitText[reason]]];
  }

  #enter(phase: Phase): void {
    if (phase === this.phase) return;
    if (this.isSearched(this.phase, phase)) showPhase(phase);
    this.phase = phase;
    this.show();
  }
}
