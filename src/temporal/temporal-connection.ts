import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { ExplainedError } from '../rules/explained-error.ts';
import { isLoopback } from '../rules/loopback.ts';
import type { Handover } from './rules/failover.ts';
import { type CallLimits, limitCalls } from './call-limits.ts';

/** Where Temporal is, according to docferry.yaml. */
export interface TemporalSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  /** A profile of Temporal's own configuration file; null for the default one. */
  profile: string | null;
  /** Whether docferry.yaml or the command line named address and namespace: then no profile replaces them. */
  given: { address: boolean; namespace: boolean };
  /** Absent: by Temporal's address. */
  handover?: Handover;
  /** The server that `docferry up` runs, to which Temporal's variables and profiles do not apply. */
  embedded?: boolean;
}

/** Temporal did not answer in time. */
export class TemporalUnreachable extends ExplainedError {
  override readonly name = 'TemporalUnreachable';
  readonly code = 'TemporalUnreachable';
  readonly hint = 'start one with `docferry up`, or correct temporal.address in the configuration';
  readonly address: string;

  constructor(address: string, options?: ErrorOptions) {
    super(`no Temporal server answers at ${address}`, options);
    this.address = address;
  }
}

/** Temporal's own variables or configuration file are unusable. Quotes nothing of them: they may hold an API key. */
export class TemporalSettingsInvalid extends ExplainedError {
  override readonly name = 'TemporalSettingsInvalid';
  readonly code = 'TemporalSettingsInvalid';
  readonly hint = 'check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the files that TEMPORAL_TLS_… name';
}

const connectTimeoutMs = 5_000;

/**
 * Options for a connection: from docferry.yaml, and for the rest (TLS, API key, perhaps the address) from Temporal's own
 * variables and profiles. Throws `TemporalSettingsInvalid`.
 */
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

/** The configured handover; without one, `quick` where Temporal is on this machine. Throws `TemporalSettingsInvalid`. */
export function handoverFor(settings: TemporalSettings): Handover {
  if (settings.handover) return settings.handover;
  return isLoopback(connectOptions(settings).connection.address) ? 'quick' : 'steady';
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
 * throws that error. The caller closes `client.connection`.
 */
export async function connectClient(settings: TemporalSettings, limits?: CallLimits): Promise<Client> {
  const options = connectOptions(settings);
  try {
    const connection = await Connection.connect({
      ...options.connection,
      connectTimeout: connectTimeoutMs,
      interceptors: [limitCalls(limits)],
      // A proxy meant for the service must not intercept connections to a server on this machine.
      ...(isLoopback(options.connection.address) ? { channelArgs: { 'grpc.enable_http_proxy': 0 } } : {}),
    });
    return new Client({ connection, namespace: options.namespace });
  } catch (error) {
    if (error instanceof TypeError || isRefusal(error)) throw error;
    throw new TemporalUnreachable(options.connection.address, { cause: error });
  }
}

const refusals: ReadonlySet<number> = new Set(Object.values({ permissionDenied: 7, unauthenticated: 16 }));

/** Whether Temporal answered but refused the client's identity. */
function isRefusal(error: unknown): boolean {
  if (isGrpcServiceError(error)) return refusals.has(error.code);
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}
