import type { LogEntry } from './request-log.ts';
import { mostInAnyWindow } from './sliding-log.ts';
import type { World } from './world.ts';

/** Statistics of one organization's requests. */
export interface OrganizationStats {
  analyticsRequests: number;
  /** How many of them used a slot. */
  counted: number;
  /** How many of them were answered 429. */
  throttled: number;
  /** The most analytics requests in any window, whatever they were answered. */
  maxInAnyWindow: number;
  /** The same for requests for feedback alone, and for all others (other clients). */
  maxFeedbackInAnyWindow: number;
  maxOthersInAnyWindow: number;
}

export interface SandboxStats {
  requests: { analytics: number; export: number; storage: number; other: number };
  /** Oldest requests that the log has dropped; the figures are without them. */
  forgotten: number;
  organizations: Record<string, OrganizationStats>;
  jobsStarted: number;
  jobIds: readonly string[];
  linksIssued: number;
  storage: { whole: { requests: number; bytes: number }; ranged: { requests: number; bytes: number } };
}

export function collectStats(world: World): SandboxStats {
  const entries = world.log.entries;
  const ofKind = (kind: LogEntry['kind']) => entries.filter((entry) => entry.kind === kind);
  const storage = ofKind('storage');
  return {
    requests: {
      analytics: ofKind('analytics').length,
      export: ofKind('export').length,
      storage: storage.length,
      other: ofKind('other').length,
    },
    forgotten: world.log.forgotten,
    organizations: Object.fromEntries(world.organizations.map(({ id }) => [id, organizationStats(world, id)])),
    jobsStarted: world.jobs.ids.length,
    jobIds: world.jobs.ids,
    linksIssued: world.links.count,
    storage: { whole: sumOf(storage, 200), ranged: sumOf(storage, 206) },
  };
}

/** The most analytics requests of an organization that any window of the configured length held (B1). */
export function maxInAnyWindow(world: World, org: string, wanted: (entry: LogEntry) => boolean = () => true): number {
  return mostInAnyWindow(
    analyticsOf(world, org)
      .filter(wanted)
      .map(({ atMono }) => atMono),
    world.settings.windowMs,
  );
}

function organizationStats(world: World, org: string): OrganizationStats {
  const requests = analyticsOf(world, org);
  return {
    analyticsRequests: requests.length,
    counted: requests.filter(({ counted }) => counted).length,
    throttled: requests.filter(({ status }) => status === 429).length,
    maxInAnyWindow: maxInAnyWindow(world, org),
    maxFeedbackInAnyWindow: maxInAnyWindow(world, org, isFeedback),
    maxOthersInAnyWindow: maxInAnyWindow(world, org, (entry) => !isFeedback(entry)),
  };
}

function isFeedback({ path }: LogEntry): boolean {
  return path.endsWith('/feedback');
}

function analyticsOf(world: World, org: string): LogEntry[] {
  return world.log.entries.filter((entry) => entry.kind === 'analytics' && entry.org === org);
}

function sumOf(entries: readonly LogEntry[], status: number): { requests: number; bytes: number } {
  const matching = entries.filter((entry) => entry.status === status);
  return { requests: matching.length, bytes: matching.reduce((sum, { bytes }) => sum + bytes, 0) };
}
