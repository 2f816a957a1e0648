import type { z } from 'zod';
import type { Placed } from './field-schemas.ts';
import type { configSchema } from './schema.ts';

export type { CheckConfig, GitConfig, PlaceConfig, ProgramConfig } from './rollout-schema.ts';
export type { FeedbackStoreConfig } from './secrets.ts';

type Resolved = Placed<z.output<typeof configSchema>>;

/** `docferry.yaml` (contracts.md) with defaults, in milliseconds, bytes and absolute paths. Contains no secrets. */
export type Config = Omit<Resolved, 'defaults'> & {
  /** Absolute path of the file it was read from. */
  file: string;
  /** Folder of that file; what relative paths were resolved against. */
  directory: string;
  /** Names of the environment variables that the file refers to: programs of a rollout do not get them. */
  variables: readonly string[];
};

export type ServiceConfig = Config['service'];
export type OrganizationConfig = Config['organizations'][number];
export type SiteConfig = OrganizationConfig['sites'][number];
export type PrivacyConfig = Config['privacy'];
export type BundleStoreConfig = Config['store']['bundles'];

/** Where versions are stored, and the address under which they are published. */
export type BundlePlaceConfig = WithoutServer<BundleStoreConfig>;

type WithoutServer<Store> = Store extends unknown ? Omit<Store, 'server'> : never;
