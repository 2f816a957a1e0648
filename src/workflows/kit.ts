import {
  CancelledFailure,
  defaultPayloadConverter,
  type QueryDefinition,
  RawValue,
  rawValueTypeInfo,
  rootCause,
  type SignalDefinition,
  TimeoutFailure,
  TimeoutType,
  type TypeInfo,
  type UpdateDefinition,
  type WorkflowDefinitionOptions,
} from '@temporalio/common';
import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  currentUpdateInfo,
  isCancellation,
  type LocalActivityOptions,
  log,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  TemporalFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { attributeKeys } from '../contract.ts';
import { programHeartbeatMs, type RolloutStep } from '../exports/rules/rollout-steps.ts';
import type { RunOutcome } from '../exports/rules/site-export.ts';
import { Misshapen, type Reader } from '../rules/messages.ts';
import { factsTable, summaryText } from '../rules/text.ts';
import { type Actor, type AuditEntry, readActor, unnamedActor } from '../runs/rules/audit.ts';
import {
  bulkQueueOf,
  checksQueueOf,
  type Failover,
  failoverIn,
  failoverTimes,
  urgentQueueOf,
  type WithFailover,
} from '../temporal/rules/failover.ts';

declare global {
  /** Temporal gives every run its own globals; modules are shared by all runs of a worker. */
  var docferryFailover: Failover | undefined;
  /** Whether a person waits for what this run still does. */
  var docferryUrgent: boolean | undefined;
}

/** A workflow calls this first if its input says how its steps are watched. */
export function followFailover(input: WithFailover): void {
  globalThis.docferryFailover = failoverIn(input);
}

/** From now on a person waits for this run: its heavy steps go before those of others, on every server. */
export function hurry(): void {
  globalThis.docferryUrgent = true;
}

/** The failover of this run. */
export const runFailover = (): Failover => globalThis.docferryFailover ?? 'fast';

/*
 * Options of activities, one complete block for each kind of step: options given with a call replace those of its proxy.
 * What depends on the run is a getter, which `{ ...options, summary }` reads anew for each step.
 */

/** Work with a heartbeat: a dead worker is noticed as the run's failover says, and a cancellation waits for its clean-up. */
const watched = <Options extends ActivityOptions>(options: Options) => ({
  ...options,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
  get heartbeatTimeout() {
    return failoverTimes(runFailover()).heartbeats.short.timeoutMs;
  },
});

/** Of the run's heavy steps: what a person waits for has slots of its own. */
const heavyQueueOf = (taskQueue: string): string =>
  globalThis.docferryUrgent ? urgentQueueOf(taskQueue) : bulkQueueOf(taskQueue);

/** The same on the task queue of long and heavy work, which must not delay short steps. */
const heavy = <Options extends ActivityOptions>(options: Options, queueOf = heavyQueueOf) => ({
  ...options,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' as const,
  get heartbeatTimeout() {
    return failoverTimes(runFailover()).heartbeats.bulk.timeoutMs;
  },
  get taskQueue() {
    return queueOf(workflowInfo().taskQueue);
  },
});

/** Outages are waited out for as long as the step may take altogether. */
const patiently = { initialInterval: '1s', maximumInterval: '1m' } satisfies ActivityOptions['retry'];

/**
 * The feedback store's transactions, and what the configuration says: short, so that a dead worker costs seconds, and
 * tried for an hour. Limited by attempts, so that none fails because it waited for a worker.
 */
export const recordOptions = {
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '30s', maximumAttempts: 125 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies ActivityOptions;

/** Steps of milliseconds within a workflow task: tried once, then as separate tasks. */
const passingOptions = {
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 1 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
} satisfies LocalActivityOptions;

/** The end of a run: tried for half a minute, because a person may wait for it. */
const endOptions = {
  ...recordOptions,
  retry: { initialInterval: '500ms', maximumInterval: '5s', maximumAttempts: 9 },
} satisfies ActivityOptions;

/** The row of an ended run that could not be written at its end: nothing waits for it, so it is tried for a day. */
export const lateRecordOptions = {
  ...recordOptions,
  retry: { initialInterval: '10s', maximumInterval: '5m', maximumAttempts: 290 },
} satisfies ActivityOptions;

const requestTimes = { startToCloseTimeout: '90s', scheduleToCloseTimeout: '6h', retry: patiently } as const;

/** One request to the service that may be repeated. */
export const requestOptions = watched(requestTimes);

/** One request that may have arrived is not repeated: time-outs, as of a worker that died, end the step. */
export const startOptions = watched({
  ...requestTimes,
  retry: { ...patiently, nonRetryableErrorTypes: ['TemporalTimeout:StartToClose', 'TemporalTimeout:Heartbeat'] },
});

/** Link, download and verification: given up after a day. */
export const fetchOptions = heavy({
  startToCloseTimeout: '12h',
  scheduleToCloseTimeout: '24h',
  retry: patiently,
});

/** Outages of the bundle store are waited out for six hours, not counting the time in the queue. */
const storeRetry = { ...patiently, maximumAttempts: 365 };

/** Steps in the bundle store that copy and read no archive, but perhaps large manifests. */
export const storeOptions = heavy({ startToCloseTimeout: '15m', retry: storeRetry });

/** Like `storeOptions`, for steps that read a whole version, perhaps from a bucket. */
export const wholeVersionOptions = heavy({ startToCloseTimeout: '1h', retry: storeRetry });

/** The activity itself ends with the last failure; the limit here is for workers that die of it. */
const rolloutRetry = { initialInterval: '1s', maximumInterval: '30s', maximumAttempts: 34 } as const;

/** Steps of a rollout. The configuration limits how long programs and checks take. */
export const rolloutOptions = {
  place: heavy({ startToCloseTimeout: '13h', retry: rolloutRetry }),
  run: {
    startToCloseTimeout: '13h',
    retry: rolloutRetry,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    heartbeatTimeout: programHeartbeatMs,
    get taskQueue() {
      return heavyQueueOf(workflowInfo().taskQueue);
    },
  },
  check: heavy({ startToCloseTimeout: '13h', retry: rolloutRetry }, checksQueueOf),
} satisfies Record<RolloutStep, ActivityOptions>;

/** Requests to the service under a lease: outages are waited out for a day, because nothing is lost by waiting. */
export const pageOptions = watched({
  startToCloseTimeout: '5m',
  scheduleToCloseTimeout: '24h',
  retry: patiently,
});

/** A check of the key: one attempt, because a second one could be a second request. */
export const keyCheckOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '90s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
} satisfies ActivityOptions;

/** A message to a webhook: its receiver may be down for a day. */
export const deliveryOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '24h',
  retry: { initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '1h' },
} satisfies ActivityOptions;

/** A look at stores and budget: tried for a while, and then again at the next look's time. */
export const watchOptions = {
  startToCloseTimeout: '2m',
  retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 60 },
} satisfies ActivityOptions;

/** `Type: message` of the original failure, for a row in the store; activities keep secrets out of both. */
export function failureSummary(error: unknown): string {
  const cause = innermost(error);
  if (cause instanceof ApplicationFailure && cause.type) return `${cause.type}: ${cause.message}`;
  return rootCause(error) ?? 'unknown failure';
}

/** The type of the original failure, e.g. `StartUncertain`; null for anything but an ApplicationFailure. */
export function failureType(error: unknown): string | null {
  const cause = innermost(error);
  return cause instanceof ApplicationFailure ? (cause.type ?? null) : null;
}

/** Whether an attempt ran out of time, as when its worker died. */
export function timedOut(error: unknown): boolean {
  // The server may name the failure of an earlier attempt as its cause.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof TimeoutFailure && cause.timeoutType !== TimeoutType.SCHEDULE_TO_CLOSE;
}

/** The original failure: Temporal wraps it once for every layer it passes. */
export function innermost(error: unknown): unknown {
  let current = error;
  while (current instanceof TemporalFailure && current.cause) current = current.cause;
  return current;
}

/** Whether the failure of an activity has this as its detail. */
export function hasDetail(error: unknown, detail: string): boolean {
  const cause = innermost(error);
  return cause instanceof ApplicationFailure && cause.details?.[0] === detail;
}

/** Shows a table under a title in the Temporal UI. */
export function showFacts(title: string, facts: readonly (readonly [string, string])[]): void {
  setCurrentDetails(`${title}\n\n${factsTable(facts)}`);
}

/** Longest reason in Current Details, in characters. */
const reasonLength = 300;

/** The first lines of Current Details of a run that has ended. */
export function endFacts({ outcome, reason }: { outcome: string; reason: string }): [string, string][] {
  const facts: [string, string][] = [['outcome', `**${outcome}**`]];
  return reason === '' ? facts : [...facts, ['reason', reason.slice(0, reasonLength)]];
}

/*
 * Handlers of messages whose shape is not known: the Temporal UI and older clients may send anything, and an error in a
 * handler would stop the workflow until an operator terminates it (X5).
 */

/** Inputs as they came: one that cannot be decoded before the handler runs would stop the workflow too. */
const undecoded = {
  inputTypes: new Proxy<TypeInfo[]>([], { get: () => rawValueTypeInfo }),
};

/** For messages without input: arguments are ignored. */
export const noInput: Reader<undefined> = () => undefined;

interface SignalHandling<Message> {
  description: string;
  take(message: Message): void;
  /** A malformed message arrived, and is ignored. */
  ignored?(): void;
}

export function onSignal<Message>(
  signal: SignalDefinition<[Message]> | SignalDefinition<[]>,
  read: Reader<Message>,
  { description, take, ignored }: SignalHandling<Message>,
): void {
  const handler = (input: unknown) => {
    const message = tryRead(read, input);
    if (!(message instanceof Misshapen)) return take(message);
    log.warn('a signal that makes no sense is ignored', { signal: signal.name, problem: message.message });
    ignored?.();
  };
  setHandler({ ...signal, typeInfo: undecoded }, handler, { description });
}

interface UpdateHandling<Message, Answer, Context extends unknown[] = []> {
  description: string;
  answer(message: Message, ...context: Context): Answer;
  /** Throws to refuse a message of the right shape. */
  check?(message: Message): void;
}

/** The validator refuses a wrong shape and names the field, so that nothing of it enters the history. */
export function onUpdate<Message, Answer>(
  update: UpdateDefinition<Answer, [Message]> | UpdateDefinition<Answer>,
  read: Reader<Message>,
  { description, answer, check }: UpdateHandling<Message, Answer>,
): void {
  const validator = (input: unknown) => {
    const message = readInput(read, input);
    check?.(message);
  };
  const definition = { ...(update as UpdateDefinition<Answer, [Message]>), typeInfo: undecoded };
  setHandler(definition, (input: unknown) => answer(readInput(read, input)), { description, validator });
}

/** What the audit says of a message: who sent it, when and why. */
export type Sent = Pick<AuditEntry, 'entryId' | 'at' | 'who' | 'reason' | 'workflowId'>;

/** Like `onUpdate`, for what a person does: the second input, which other clients may leave out, says who and why. */
export function onDecision<Message, Answer>(
  update: UpdateDefinition<Answer, [Message, Actor?]>,
  read: Reader<Message>,
  { description, answer, check }: UpdateHandling<Message, Answer, [Sent]>,
): void {
  const validator = (input: unknown, actor?: unknown) => {
    const message = readInput(read, input);
    readInput(readActor, actor);
    check?.(message);
  };
  setHandler(
    { ...update, typeInfo: undecoded },
    (input: unknown, actor?: unknown) => answer(readInput(read, input), sentNow(readInput(readActor, actor))),
    { description, validator },
  );
}

/** An update's id is unique within a run. */
function sentNow({ who = unnamedActor, reason = null }: Actor): Sent {
  const { workflowId, runId } = workflowInfo();
  const entryId = `${runId}/${currentUpdateInfo()?.id}`;
  return { entryId, at: new Date().toISOString(), who, reason, workflowId };
}

/** A query always gets an answer: the reader makes the best of its input. */
export function onQuery<Input, Answer>(
  query: QueryDefinition<Answer, [Input?]> | QueryDefinition<Answer>,
  answer: (input: unknown) => Answer,
  description: string,
): void {
  const handler = (input: unknown) => {
    const message = tryRead((value) => value, input);
    return answer(message instanceof Misshapen ? undefined : message);
  };
  setHandler({ ...query, typeInfo: undecoded }, handler, { description });
}

/** Refuses a message, or an input, with words for the actor. */
export function invalidInput(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, 'InvalidInput');
}

/**
 * A message, or the input of a workflow with `readsInput`. People start workflows in the Temporal UI, and other programs
 * anything: an input of another shape, or one that cannot be decoded, would fail the first task for ever; now the run
 * fails (X5).
 */
export function readInput<Message>(read: Reader<Message>, input: unknown): Message {
  const message = tryRead(read, input);
  if (message instanceof Misshapen) throw invalidInput(message.message);
  return message;
}

/** An input of which these fields are taken as they are, since the run before wrote them: anybody else's are refused. */
export function readContinued<Input extends object>(read: Reader<Input>, given: unknown): Input {
  const input = readInput(read, given);
  if (workflowInfo().continuedFromExecutionRunId !== undefined) return input;
  const field = ['carried', 'refused', 'awaited'].find((name) => name in input);
  if (field !== undefined) throw invalidInput(`${field}: only continue-as-new sets it`);
  return input;
}

function tryRead<Message>(read: Reader<Message>, input: unknown): Message | Misshapen {
  try {
    return read(input instanceof RawValue ? decoded(input) : input);
  } catch (error) {
    if (error instanceof Misshapen) return error;
    throw error;
  }
}

function decoded({ payload }: RawValue): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    // What the library says may quote the input.
    throw new Misshapen('the input: expected an input that can be decoded');
  }
}

/** Static options of a workflow that reads its input itself, with `readInput`. */
export const readsInput = { staticOptions: { typeInfo: undecoded } };

/** The input of the run that continues one with `readsInput`. */
export const nextInput = <Input>(input: Input): Input => new RawValue(input) as Input;

/** The form of an activity's proxy that the compiler can follow for any name. */
type Step<Name extends keyof Activities> = {
  executeWithOptions(options: object, args: [input: StepInput<Name>]): Promise<StepResult<Name>>;
};
type StepInput<Name extends keyof Activities> = Parameters<Activities[Name]>[0];
type StepResult<Name extends keyof Activities> = Awaited<ReturnType<Activities[Name]>>;

/** Runs an activity. The summary, which may quote the service, is for the Temporal UI. */
export function runStep<Name extends keyof Activities>(
  name: Name,
  options: ActivityOptions,
  summary: string,
  input: StepInput<Name>,
): Promise<StepResult<Name>> {
  const { [name]: step } = proxyActivities<Activities>(options) as unknown as { [Each in Name]: Step<Each> };
  return step.executeWithOptions({ ...options, summary: summaryText(summary) }, [input]);
}

export type SitePlan = StepResult<'planExport'>;
export type RunRow = StepInput<'recordExportRun'>;

/** What the configuration says about a site. If this worker's lacks the site, the step goes to other workers for some minutes. */
export function planSite(org: string, domain: string): Promise<SitePlan> {
  return runInPassing('planExport', recordOptions, `read the configuration of ${domain}`, { org, domain });
}

/** Removes a download. A failure is only logged: leftovers are swept after a week. */
export async function discardDownload(storeId: string, stageId: string): Promise<void> {
  try {
    await runInPassing('discardStaged', endOptions, 'remove the download', { storeId, stageId });
  } catch (failure) {
    if (isCancellation(failure)) throw failure;
    log.warn('the download stays until it is swept', { failure: failureSummary(failure) });
  }
}

/** Writes the row of a run that has ended. Throws when the database is down for half a minute. */
export function recordRow(row: RunRow): Promise<void> {
  return runInPassing('recordExportRun', endOptions, `record the run: ${row.outcome}`, row);
}

/**
 * Runs a step that is not worth a separate task within a workflow task, where it leaves one event. If that fails, any worker
 * may run it, and Temporal retries it.
 */
async function runInPassing<Name extends 'planExport' | 'discardStaged' | 'recordExportRun'>(
  name: Name,
  otherwise: ActivityOptions,
  summary: string,
  input: StepInput<Name>,
): Promise<StepResult<Name>> {
  const { [name]: step } = proxyLocalActivities<Activities>(passingOptions) as unknown as {
    [Each in Name]: Step<Each>;
  };
  try {
    return await step.executeWithOptions({ ...passingOptions, summary: summaryText(summary) }, [input]);
  } catch (error) {
    // Anything but the step's own failure fails the workflow task, as it would again in a replay.
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    log.info('the step becomes a task, for any worker', { step: name, failure: failureSummary(error) });
    return await runStep(name, otherwise, summary, input);
  }
}

/**
 * Options of a workflow that stays with the build that began it; the others move on (decisions/0110). Said only where a
 * build of a Worker Deployment began it: from other workers the server refuses to hear of it, and stops the workflow.
 */
export function pinnedVersioning(): WorkflowDefinitionOptions {
  return isOfBuild() ? { versioningBehavior: 'PINNED' } : {};
}

/** Whether the worker of this task is a build of a Worker Deployment. */
export const isOfBuild = (): boolean => Boolean(workflowInfo().currentDeploymentVersion?.deploymentName);

/** Whether another build became current, as servers since 1.32 say with each task of a pinned run. */
export const leavesBuild = (): boolean => workflowInfo().targetWorkerDeploymentVersionChanged;

/**
 * Throws if the run was cancelled. Call it before continuing as new: the next run would not be cancelled, and what ended
 * before it heard of the cancellation succeeded.
 */
export function requireNotCancelled(): void {
  if (CancellationScope.current().consideredCancelled && patched('cancelled-before-next-run')) {
    throw new CancelledFailure('cancelled');
  }
}

/** Makes the outcome searchable, `DocferryOutcome = "rollout-failed"`; every run that has ended is in the phase `done`. */
export function showEnd(outcome: RunOutcome | 'completed'): void {
  upsertSearchAttributes([
    { key: attributeKeys.phase, value: 'done' },
    { key: attributeKeys.outcome, value: outcome },
  ]);
}

/** The phase by which this run is found now; undefined when it was started without one. */
export function shownPhase(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(attributeKeys.phase);
}

/** Makes the phase searchable: `DocferryPhase = "rendering"`. */
export function showPhase(phase: string): void {
  upsertSearchAttributes([{ key: attributeKeys.phase, value: phase }]);
}
