import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { ExplainedError } from '../model/explained-error.ts';

/** Where Temporal is, as docferry.yaml says it. */
export interface TemporalSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  /** A profile of Temporal's own configuration file; null for the default one. */
  profile: string | null;
  /** Which of address and namespace docferry.yaml or the command line named: these are not replaced by a profile. */
  given: { address: boolean; namespace: boolean };
  /** The server that `docferry up` runs itself: Temporal's variables and profiles do not concern it. */
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

/** Temporal's own variables or configuration file cannot be used. Quotes nothing of them: they may hold an API key. */
export class TemporalSettingsInvalid extends ExplainedError {
  override readonly name = 'TemporalSettingsInvalid';
  readonly code = 'TemporalSettingsInvalid';
  readonly hint = 'check TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE and the files that TEMPORAL_TLS_… name';
}

const connectTimeoutMs = 5_000;

/**
 * Options for a connection: what docferry.yaml names, and for the rest (TLS, API key, an address it does not name)
 * Temporal's own variables and profiles. Throws `TemporalSettingsInvalid`.
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

function loadOwnSettings(profile: string | null) {
  try {
    return loadClientConnectConfig(profile === null ? {} : { profile });
  } catch (error) {
    throw new TemporalSettingsInvalid(`Temporal's own settings cannot be used: ${safeReason(error)}`);
  }
}

/** What is wrong in words of our own: the library's messages show the lines around a mistake. */
function safeReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if ('line' in error) return `the configuration file is no TOML (line ${String(error.line)})`;
  if ('code' in error && 'path' in error) return `${String(error.path)} cannot be read (${String(error.code)})`;
  const [profile] = /(?<=^Profile ').*(?=' not found)/.exec(error.message) ?? [];
  return profile === undefined ? 'a value in them is not as it should be' : `there is no profile ${profile}`;
}

/**
 * Connects a client, or throws `TemporalUnreachable` within seconds; a server that refuses the certificate or API key is
 * no unreachable one, and its own error is thrown. The caller closes `client.connection`.
 */
export async function connectClient(settings: TemporalSettings): Promise<Client> {
  const options = connectOptions(settings);
  try {
    const connection = await Connection.connect({
      ...options.connection,
      connectTimeout: connectTimeoutMs,
      // A proxy meant for the service must not catch the way to a server on this machine.
      ...(isLoopback(options.connection.address) ? { channelArgs: { 'grpc.enable_http_proxy': 0 } } : {}),
    });
    return new Client({ connection, namespace: options.namespace });
  } catch (error) {
    if (error instanceof TypeError || isRefusal(error)) throw error;
    throw new TemporalUnreachable(options.connection.address, { cause: error });
  }
}

const refusals: ReadonlySet<number> = new Set(Object.values({ permissionDenied: 7, unauthenticated: 16 }));

/** Temporal answered, and does not accept who asks. */
function isRefusal(error: unknown): boolean {
  if (isGrpcServiceError(error)) return refusals.has(error.code);
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}

/** Whether `host:port` is this machine. */
export function isLoopback(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(address);
}
