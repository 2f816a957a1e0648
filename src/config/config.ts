import type { PermitClass } from '../budget/rules/permits.ts';
import type { WebhookEventType, WebhookFormat } from '../runs/rules/webhook-event.ts';
import type { Failover } from '../temporal/rules/failover.ts';
import type { SiteRulesInput } from './organization-schema.ts';
import type { PostgresAddress } from './postgres-address.ts';
import type { SecretSource } from './secrets.ts';

/**
 * `docferry.yaml` (contracts.md) with defaults filled in: durations in milliseconds, sizes in bytes, paths absolute,
 * addresses without a trailing slash. Contains no secrets.
 */
export interface Config {
  /** Absolute path of the file it was read from. */
  file: string;
  /** Folder of that file; what relative paths were resolved against. */
  directory: string;
  temporal: TemporalConfig;
  worker: WorkerConfig;
  service: ServiceConfig;
  organizations: OrganizationConfig[];
  store: StoreConfig;
  privacy: PrivacyConfig;
  gateway: GatewayConfig;
  console: ConsoleConfig;
}

/** Who may use the console, and for what (docs/console.md). */
export interface ConsoleConfig {
  /** Whether operators may act; everybody may only look when false. */
  write: boolean;
  /** Sessions end after this long without a request. */
  idleMs: number;
  /** Sessions end this long after they began. */
  lifetimeMs: number;
  /** Its address for browsers, when a proxy is in front of it; null for the address it listens on. */
  url: string | null;
  /** Address of the Temporal UI for links; null for the one that `up` starts. */
  temporalUi: string | null;
  proxy: { from: string[]; user: string; groups: string } | null;
  oidc: { issuer: string; clientId: string; clientSecret: SecretSource; groups: string } | null;
  /** Who may look; null for everybody who is signed in. */
  viewers: PeopleConfig | null;
  /** Who may act. */
  operators: PeopleConfig;
  /** Who may see contacts. */
  contacts: PeopleConfig;
}

export interface PeopleConfig {
  groups: string[];
  logins: string[];
}

/** What the gateway serves (docs/gateway.md). */
export interface GatewayConfig {
  clients: GatewayClientConfig[];
}

export interface GatewayClientConfig {
  /** Unique. */
  name: string;
  token: SecretSource;
  org: string;
  class: PermitClass;
  /** Per cent of a window's limit; null for no limit of its own. */
  share: number | null;
}

export interface TemporalConfig {
  /** `localhost:7233` when not configured. */
  address: string;
  /** `default` when not configured. */
  namespace: string;
  taskQueue: string;
  /** Name of a profile of Temporal's own configuration file; null for none. */
  profile: string | null;
  /** Whether the file names address and namespace: otherwise Temporal's own variables and profiles do. */
  given: { address: boolean; namespace: boolean };
  /** Absent: by Temporal's address. */
  failover?: Failover;
}

/** How much a worker does at a time; null: by the machine's processors. */
export interface WorkerConfig {
  /** Long steps, most of them downloads. */
  downloads: number;
  /** Archives read to verify them. */
  verifications: number | null;
  browsers: number | null;
}

export interface ServiceConfig {
  baseUrl: string;
  analyticsBaseUrl: string;
  /** Hosts, besides public addresses, that links may lead to (E3). */
  linkHosts: string[];
  allowInsecure: boolean;
}

export interface OrganizationConfig {
  id: string;
  apiKey: SecretSource;
  budget: BudgetConfig;
  /** The use of spare requests. */
  spare?: 'verify';
  webhooks: WebhookConfig[];
  /** How often the watch looks what has become late, stale, starved, held, taken back or refused. */
  watchEveryMs: number;
  projects: ProjectConfig[];
  sites: SiteConfig[];
}

export interface WebhookConfig {
  /** Unique within the organization. */
  name: string;
  /** Secret too: an address may hold a token. */
  url: SecretSource;
  format: WebhookFormat;
  /** Null for formats that are not signed. */
  secret: SecretSource | null;
  events: readonly WebhookEventType[];
}

export interface BudgetConfig {
  requests: number;
  windowMs: number;
  reserve: number;
  arrivalMs: number;
  /** When the file was written, in milliseconds. */
  configuredAt?: number;
}

/** Exactly one of `everyMs` and `cron`. */
export type Schedule = { jitterMs: number } & (
  | { everyMs: number; cron?: never }
  | { cron: string; timezone: string; everyMs?: never }
);

/** Passes without a schedule never start on their own. */
export interface ProjectConfig {
  id: string;
  /** For people; unique within the organization. */
  name?: string;
  incremental?: Schedule;
  review?: Schedule;
  sweep?: Schedule;
  /** How old the proof of completeness may become. */
  freshnessMs?: number;
}

export interface SiteConfig {
  /** Bare host name, lower case. */
  domain: string;
  schedule?: Schedule;
  /** Time since the last good export after which the site is late. */
  lateAfterMs?: number;
  job: { timeoutMs: number; attempts: number; startTimeoutMs: number };
  bundle: {
    maxBytes: number;
    maxFiles: number;
    connections: number;
    timeoutMs: number;
    /** Levels by the name of a rule about a site's content; the others have their default. */
    rules: SiteRulesInput;
    /** Null when no page is opened in a browser. `browser` is null for the machine's own. */
    render: { pages: number; browser: string | null; sandbox: boolean } | null;
  };
  /** Set when a person must approve versions; after the time-out they count as rejected. */
  approval: { timeoutMs: number } | null;
  rollout: RolloutConfig[];
}

export type RolloutConfig = {
  /** With the path as written in the file, e.g. `directory:./site`, `helmValues:deploy/values.yaml`. */
  name: string;
} & ({ kind: 'directory'; path: string } | { kind: 'helmValues'; file: string });

export interface StoreConfig {
  feedback: FeedbackStoreConfig;
  bundles: BundleStoreConfig;
  /** Versions kept of each site. */
  keep: number;
}

/** How personal data is treated (docs/privacy.md). */
export interface PrivacyConfig {
  contacts: 'keep' | 'hash' | 'drop';
  comments: 'keep' | 'hash' | 'drop';
  /** Null unless something is hashed. */
  hashKey: SecretSource | null;
  /** Unknown fields that are kept despite `hash` and `drop`. */
  keepFields: string[];
  /** Null: personal data is kept without limit. */
  retentionMs: number | null;
}

/** Signs the manifests of new versions (docs/verification.md). */
export interface SigningConfig {
  keyFile: string;
  /** Null for a key without password. */
  password: SecretSource | null;
  /** Former public keys whose signatures are accepted too, each as the line in its `.pub` file. */
  formerKeys: readonly string[];
}

/** Access and limits of the bundle server. */
export interface BundleServerConfig {
  /** Null when readers need none. */
  token: SecretSource | null;
  readers: number;
  readersPerAddress: number;
  /** Idle readers are disconnected after this. */
  idleMs: number;
}

/** Where versions are stored, and the address under which they are published. */
export type BundlePlaceConfig = {
  publicUrl: string;
  /** Null when versions are not signed. */
  signing: SigningConfig | null;
} & (
  | { kind: 'directory'; directory: string }
  | {
      kind: 's3';
      bucket: string;
      /** Without slashes around it; empty for the whole bucket. */
      prefix: string;
      endpoint?: string;
      region?: string;
      /** Folder of this machine for downloads and archives to unpack. */
      workFolder: string;
    }
);

export type BundleStoreConfig = BundlePlaceConfig & { server: BundleServerConfig };

/** `place` is a readable name: the file, or the address without password. */
export type FeedbackStoreConfig = { place: string } & (
  | {
      kind: 'sqlite';
      file: string;
      /** Its folder also holds the bundles, which other users may read. */
      sharedFolder: boolean;
    }
  | ({ kind: 'postgres'; password: SecretSource | null } & Omit<PostgresAddress, 'password'>)
);
