import type { WindowSettings } from '../budget/rules/permits.ts';
import type { Access } from '../operations/installation.ts';
import type { Trouble } from '../operations/status.ts';
import type { ConfiguredOrganization } from '../schedules/rules/desired-schedules.ts';

/** An organization as far as the console needs it. */
export interface ShownOrganization extends ConfiguredOrganization {
  budget: WindowSettings;
  projects: readonly (ConfiguredOrganization['projects'][number] & { name?: string; freshnessMs: number })[];
  sites: readonly (ConfiguredOrganization['sites'][number] & {
    lateAfterMs?: number;
    rollout: readonly { name: string }[];
  })[];
}

/** What the console shows and how it reaches it; the command line makes it of the configuration. */
export interface ConsoleSetting extends Access {
  organizations: readonly ShownOrganization[];
  /** For links; null when it is not known. */
  temporalUi: string | null;
  namespace: string;
  /** Any failure, as the command line explains it. */
  explain(error: unknown): Trouble;
}
