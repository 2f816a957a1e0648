import { isIPv4 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { ExplainedError } from '../rules/errors.ts';
import { isLoopback } from '../rules/proxy.ts';
import { clockTime } from '../rules/text.ts';
import { clientConverter, type EncryptionSettings, failureMessage } from './encryption.ts';
import type { Failover } from './rules/failover.ts';
import { clientTraces } from './traces.ts';

type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;
type CallOptions = Parameters<Interceptor>[0];
type Call = ReturnType<Parameters<Interceptor>[1]>;
type Retries = Parameters<typeof makeGrpcRetryInterceptor>[0];
type Status = Parameters<Retries['retryableDecider']>[1];

interface CallLimits {
  /** For one attempt of a call, in milliseconds. */
  attemptMs: number;
  /** For a call that Temporal holds until a workflow or worker has answered; it answers "not yet" itself after 20 s. */
  longPollMs: number;
  /** For a query: a busy server may lose one, and the next is answered. */
  queryMs: number;
}

const usualLimits: CallLimits = { attemptMs: 5_000, longPollMs: 70_000, queryMs: 10_000 };

const attempts = 3;

/** Calls that wait for a workflow or a worker. All but a query carry an id, or only read. */
const longPolls: ReadonlySet<string> = new Set([
  'ExecuteMultiOperation',
  'GetWorkflowExecutionHistory',
  'PollWorkflowExecutionUpdate',
  'QueryWorkflow',
  'UpdateWorkflowExecution',
]);

/** Calls that could act twice: triggers, backfills, pauses and signals. The server forgets a request's id when a run continues. */
const actOnce: ReadonlySet<string> = new Set([
  'PatchSchedule',
  'SignalWithStartWorkflowExecution',
  'SignalWorkflowExecution',
]);

/**
 * Gives every call to Temporal a deadline, because the server may leave one unanswered, and repeats those that only read
 * or that Temporal recognizes by their id. A deadline of the caller's (`client.withDeadline`) still ends all attempts.
 */
export function limitCalls({ attemptMs, longPollMs, queryMs }: CallLimits = usualLimits): Interceptor {
  return (options, nextCall) => {
    const method = methodOf(options);
    const waitMs = method === 'QueryWorkflow' ? queryMs : longPollMs;
    const limitMs = longPolls.has(method) ? waitMs : attemptMs;
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    let last: Status | null = null;
    let isClosed = false;
    const repeat = makeGrpcRetryInterceptor({
      delayFunction,
      retryableDecider: (attempt, status) => {
        last = status;
        if (isClosed || isOver(options.deadline)) return false;
        if (actOnce.has(method)) return neverSent(status) && retryableDecider(attempt, status);
        if (isUnanswered(status)) return attempt < attempts;
        return retryableDecider(attempt, status);
      },
    });
    return repeat(options, (attempt) => {
      try {
        return nextCall({ ...attempt, deadline: sooner(attempt.deadline, limitMs) });
      } catch (error) {
        if (last === null) throw error;
        // The connection was closed before this attempt, whose timer has nobody to throw to.
        isClosed = true;
        return endedWith(last);
      }
    });
  };
}

function endedWith(status: Status): Call {
  const start: Call['start'] = (_metadata, listener) => listener?.onReceiveStatus?.(status);
  return { start, sendMessage() {}, halfClose() {} } as Partial<Call> as Call;
}

/** `DescribeSchedule` of `/temporal.api.workflowservice.v1.WorkflowService/DescribeSchedule`. */
function methodOf({ method_definition: { path } }: CallOptions): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The deadline of an attempt has passed. If the server notices first, as on a busy machine, it cancels the call. */
function isUnanswered({ code, details }: Status): boolean {
  return code === grpc.deadlineExceeded || (code === grpc.cancelled && details !== 'Cancelled on client');
}

/** The server has refused the call, or there was no connection to send it on. */
function neverSent({ code, details }: Status): boolean {
  return code === grpc.resourceExhausted || details.startsWith('No connection established');
}

function sooner(deadline: CallOptions['deadline'], ms: number): number {
  return Math.min(deadline === undefined ? Number.POSITIVE_INFINITY : Number(deadline), Date.now() + ms);
}

function isOver(deadline: CallOptions['deadline']): boolean {
  return deadline !== undefined && Number(deadline) <= Date.now();
}

/** Where Temporal is, according to docferry.yaml. */
export interface TemporalSettings extends EncryptionSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  /** A profile of Temporal's own configuration file; null for the default one. */
  profile: string | null;
  /** Whether docferry.yaml or the command line named address and namespace: then no profile replaces them. */
  given: { address: boolean; namespace: boolean };
  /** Absent: by Temporal's address. */
  failover?: Failover;
  /** The server that `docferry up` runs, to which Temporal's variables and profiles do not apply. */
  embedded?: boolean;
}

/** Temporal did not answer in time. */
export class TemporalUnreachable extends ExplainedError {
  override readonly name = 'TemporalUnreachable';
  readonly code = 'TemporalUnreachable';
  override readonly hint = 'start one with `docferry up`, or correct temporal.address in the configuration';

  constructor(address: string, options?: ErrorOptions) {
    super(`no Temporal server answers at ${address}`, null, options);
  }
}

/** Temporal's own variables or configuration file are unusable. Quotes nothing of them: they may hold an API key. */
export class TemporalSettingsInvalid extends ExplainedError {
  override readonly name = 'TemporalSettingsInvalid';
  readonly code = 'TemporalSettingsInvalid';
  override readonly hint = 'check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the files that TEMPORAL_TLS_… name';
}

const connectTimeoutMs = 5_000;

/** From docferry.yaml, the rest from Temporal's own variables and profiles. Throws `TemporalSettingsInvalid`. */
export function connectOptions(settings: TemporalSettings) {
  const { address, namespace, profile, given } = settings;
  if (settings.embedded) return { connection: { address }, namespace };
  const own = loadOwnSettings(profile);
  return {
    connection: {
      ...own.connectionOptions,
      address: given.address ? address : (own.connectionOptions.address ?? address),
    },
    namespace: given.namespace ? namespace : (own.namespace ?? namespace),
  };
}

/**
 * The proxy between a worker and Temporal: the one that commands use, whose library reads the variables in lower case alone,
 * takes no exception for a range as none, and never uses a proxy for this machine. Undefined for none.
 */
export function temporalProxy(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): NativeConnectionOptions['proxy'] {
  const written = env.grpc_proxy || env.https_proxy || env.http_proxy || '';
  if (isLoopback(address) || !URL.canParse(written)) return undefined;
  const { protocol, hostname, port, username, password } = new URL(written);
  if (protocol !== 'http:') return undefined;
  const host = address.replace(/:\d+$/, '');
  const exceptions = (env.no_grpc_proxy || env.no_proxy || '').split(',').map((entry) => entry.trim());
  // The range may contain the address.
  const isExcepted = (entry: string) => entry !== '' && (host.endsWith(entry) || (isIPv4(host) && entry.includes('/')));
  if (exceptions.some(isExcepted)) return undefined;
  const basicAuth = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  const targetHost = `${hostname}:${port || '80'}`;
  return { type: 'http-connect', targetHost, ...(username !== '' && { basicAuth }) };
}

/** The configured failover; without one, `fast` where Temporal is on this machine. Throws `TemporalSettingsInvalid`. */
export function failoverFor(settings: TemporalSettings): Failover {
  if (settings.failover) return settings.failover;
  return isLoopback(connectOptions(settings).connection.address) ? 'fast' : 'tolerant';
}

function loadOwnSettings(profile: string | null) {
  try {
    return loadClientConnectConfig(profile === null ? {} : { profile });
  } catch (error) {
    throw new TemporalSettingsInvalid(`Temporal's own settings cannot be used: ${safeReason(error)}`);
  }
}

/** What is wrong, in our own words: the library's messages quote the lines around a mistake. */
function safeReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if ('line' in error) return `the configuration file is not valid TOML (line ${String(error.line)})`;
  if ('code' in error && 'path' in error) return `${String(error.path)} cannot be read (${String(error.code)})`;
  const [, profile] = /^Profile '(.*)' not found/.exec(error.message) ?? [];
  return profile === undefined ? 'a value in them is invalid' : `there is no profile ${profile}`;
}

/**
 * Connects a client, or throws `TemporalUnreachable` within seconds. When a server refuses the certificate or API key,
 * throws that error; `EncryptionUnusable` when a key cannot be read. The caller closes `client.connection`, which
 * follows changed certificates and API keys until then.
 */
export async function connectClient(settings: TemporalSettings, limits?: CallLimits): Promise<Client> {
  const options = connectOptions(settings);
  const dataConverter = await clientConverter(settings);
  const connect = (connection: typeof options.connection) =>
    Connection.connect({
      ...connection,
      connectTimeout: connectTimeoutMs,
      interceptors: [limitCalls(limits)],
      // A proxy meant for the service must not intercept connections to a server on this machine.
      ...(isLoopback(connection.address) ? { channelArgs: { 'grpc.enable_http_proxy': 0 } } : {}),
    });
  try {
    let current = await connect(options.connection);
    const endRenewal = renewConnection(settings, options.connection, async (renewed) => {
      const former = current;
      current = await connect(renewed);
      // Its open calls still end.
      await former.close();
    });
    const close = async () => {
      await endRenewal();
      await current.close();
    };
    const connection = new Proxy<Connection>(Object.create(Connection.prototype), {
      get: (_, name) => (name === 'close' ? close : Reflect.get(current, name)),
    });
    const interceptors = { workflow: [clientTraces] };
    return new Client({ connection, namespace: options.namespace, dataConverter, interceptors });
  } catch (error) {
    if (error instanceof TypeError || hasCode(error, grpc.permissionDenied, grpc.unauthenticated)) throw error;
    throw new TemporalUnreachable(options.connection.address, { cause: error });
  }
}

/** How often a process looks for changed certificates and API keys of Temporal, in milliseconds. */
const renewalMs = 10_000;

/**
 * Has a connection replaced when the API key in Temporal's configuration file or a certificate's file has changed. If
 * `replace` fails, as it does while only one of two files has changed, it is called again with what the files hold then.
 * Address and namespace stay until a restart. The function that it returns ends this, after a replacement under way.
 */
export function renewConnection<Options extends { address: string }>(
  settings: TemporalSettings,
  connected: Options,
  replace: (renewed: Options) => Promise<void>,
  onFailure: (error: unknown) => void = () => {},
): () => Promise<void> {
  let current = connected;
  let renewal = Promise.resolve();
  const renew = async () => {
    const { address } = current;
    const renewed = { ...current, ...connectOptions(settings).connection, address };
    if (isDeepStrictEqual(renewed, current)) return;
    await replace(renewed);
    current = renewed;
  };
  const timer = setInterval(() => {
    renewal = renewal.then(renew).catch(onFailure);
  }, renewalMs).unref();
  return () => {
    clearInterval(timer);
    return renewal;
  };
}

/** The status codes of gRPC (https://grpc.github.io/grpc/core/md_doc_statuscodes.html) that tell failures apart here. */
export const grpc = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Code and details of a gRPC error, also of one wrapped in another; null for other errors. */
export function grpcStatus(error: unknown): { code: number; details: string } | null {
  if (isGrpcServiceError(error)) return { code: error.code, details: error.details };
  return error instanceof Error && error.cause !== undefined ? grpcStatus(error.cause) : null;
}

/** Whether a call ended with one of these codes of `grpc`, however the error is wrapped. */
export function hasCode(error: unknown, ...codes: readonly number[]): boolean {
  const status = grpcStatus(error);
  return status !== null && codes.includes(status.code);
}

/** Whether the server is away, restarting or overloaded, so that asking again may help: other codes will not change. */
export function isOutage(error: unknown): boolean {
  const { cancelled, unknown, deadlineExceeded, resourceExhausted, aborted, internal, unavailable } = grpc;
  return hasCode(error, cancelled, unknown, deadlineExceeded, resourceExhausted, aborted, internal, unavailable);
}

/** An activity that failed and is retried, or that an operator has paused. */
export interface Retry {
  activity: string;
  attempt: number;
  /** Type and message of the last failure; of a paused activity without one, why it was paused. */
  reason: string;
  /** When the next attempt begins, in milliseconds; null while one is at work, and while it is paused. */
  nextAt: number | null;
  /** With Temporal's own tools, until the operator lets it go on. */
  paused: boolean;
}

/** The activities being retried or paused, of a workflow that otherwise looks idle. */
export function retriesIn(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<Retry[]> {
  const pending = (raw.pendingActivities ?? []).map((activity) => ({ ...activity, attempt: activity.attempt ?? 1 }));
  const stuck = pending.filter(({ paused, lastFailure, attempt }) => paused || (lastFailure && attempt > 1));
  return Promise.all(
    stuck.map(async ({ activityType, attempt, lastFailure, nextAttemptScheduleTime, paused, pauseInfo }) => {
      const type = lastFailure?.applicationFailureInfo?.type;
      const failure = lastFailure && `${type ? `${type}: ` : ''}${await failureMessage(client, lastFailure)}`;
      // The pause itself ends an attempt so.
      const isPause = paused && type === 'WorkerShutdown';
      const reason = (!isPause && failure) || pauseInfo?.manual?.reason || 'no reason given';
      const nextAt = paused ? null : (optionalTsToMs(nextAttemptScheduleTime) ?? null);
      return { activity: activityType?.name ?? 'a step', attempt, reason, nextAt, paused: paused ?? false };
    }),
  );
}

/** `failed; the next try is at 04:02:00 UTC (attempt 3)`, or that an operator has paused it. */
export function triedAgain({ attempt, nextAt, paused }: Omit<Retry, 'activity' | 'reason'>): string {
  if (paused) return 'is paused by an operator until `temporal activity unpause`';
  const next = nextAt === null ? 'it is being tried again now' : `the next try is at ${clockTime(nextAt)}`;
  return `failed; ${next} (attempt ${attempt})`;
}
