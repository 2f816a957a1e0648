import type { LinkPolicy } from '../bundle/download/link-policy.ts';
import type { RenderRuleLevels } from '../bundle/rules/render-rules.ts';
import type { SiteRuleLevels } from '../bundle/rules/site-rules.ts';
import type { BundleStore } from '../bundle/store/bundle-store.ts';
import type { EntryStore } from '../feedback/entry-store.ts';
import type { FeedbackStore } from '../feedback/feedback-store.ts';
import type { FigureStore } from '../feedback/figures/figure-store.ts';
import type { PassStore } from '../feedback/pass/pass-store.ts';
import type { PrivacyStore } from '../feedback/privacy/privacy-store.ts';
import type { RunRecords } from '../feedback/runs/run-records.ts';
import type { ExportPhase } from '../model/export/site-export.ts';
import type { Transfer } from '../model/export/transfer.ts';
import type { ScheduledDemand } from '../model/planning/expected-demand.ts';
import type { WebhookEventType } from '../model/webhook-event.ts';
import type { RolloutTarget } from '../rollout/rollout-target.ts';
import type { DocumentationService } from '../service/documentation-service.ts';
import { subscribedTo, type Webhook } from '../webhooks/webhook.ts';
import { permanent } from './failures.ts';
import type { PermitSource } from './leases.ts';

/** What the worker knows of one site from its configuration. */
export interface Site {
  domain: string;
  jobTimeoutMs: number;
  jobAttempts: number;
  /** How long a version waits for a person's approval; null when it needs none. */
  approvalTimeoutMs: number | null;
  maxBytes: number;
  maxFiles: number;
  /** Connections a download uses where the source gives parts. */
  connections: number;
  /** Longest time of a download, over all attempts. */
  downloadTimeoutMs: number;
  /** What becomes of a bundle that breaks a rule about its content, where it differs from the rule's default. */
  siteRules: SiteRuleLevels & RenderRuleLevels;
  /** How many pages are opened in a browser, and in which; null for none. */
  render: { pages: number; browser: string | null; sandbox: boolean } | null;
  targets: readonly RolloutTarget[];
}

/** What the worker knows of one organization. */
export interface Organization {
  id: string;
  service: DocumentationService;
  projects: readonly string[];
  sites: readonly Site[];
  /** The use of spare requests; null unless configured. */
  spare: SpareUse | null;
  /** Who is told of finished passes and exports. */
  webhooks: readonly Webhook[];
}

/** How spare requests are used (`budget.spare: verify`). */
export interface SpareUse {
  /** The budget's window: what was read within it is left alone, and what schedules start within it is not spare. */
  windowMs: number;
  scheduled: readonly ScheduledDemand[];
}

/** What a pass needs of the feedback store. */
export type FeedbackRoles = PassStore & EntryStore & PrivacyStore & FigureStore & Pick<FeedbackStore, 'identity'>;

/** Everything activities touch; made once by the worker. */
export interface ActivityDependencies {
  organizations: readonly Organization[];
  feedback: FeedbackRoles;
  runs: RunRecords;
  bundles: BundleStore;
  /** Newest versions of each site that are kept in the bundle store. */
  keepVersions: number;
  permits: PermitSource;
  linkPolicy: LinkPolicy;
  /** Tells the export's workflow that a long activity entered another phase. */
  announcePhase(workflowId: string, phase: ExportPhase): Promise<void>;
  /** Tells the export's workflow how far the download is. */
  announceDownload(workflowId: string, transfer: Transfer): Promise<void>;
}

export function organizationOf(deps: ActivityDependencies, org: string): Organization {
  const found = deps.organizations.find((candidate) => candidate.id === org);
  if (!found) throw permanent('InvalidInput', `organization ${org} is not in this worker's configuration`);
  return found;
}

/** The webhooks of an organization that subscribe to an event, for the result of an activity; nothing for none. */
export function webhooksFor(deps: ActivityDependencies, org: string, type: WebhookEventType): { webhooks?: string[] } {
  const { webhooks = [] } = deps.organizations.find((candidate) => candidate.id === org) ?? {};
  const names = subscribedTo(webhooks, type);
  return names.length === 0 ? {} : { webhooks: names };
}

/** Throws when the configuration no longer has spare requests: a worker may be older than a schedule. */
export function spareUseOf(deps: ActivityDependencies, org: string): SpareUse {
  const { spare } = organizationOf(deps, org);
  if (spare === null) throw permanent('InvalidInput', 'spare requests are not used: budget.spare is not configured');
  return spare;
}

export function siteOf(deps: ActivityDependencies, org: string, domain: string): Site {
  const found = organizationOf(deps, org).sites.find((site) => site.domain === domain);
  if (!found) throw permanent('UnknownSite', `site ${domain} is not in the worker's configuration of ${org}`);
  return found;
}

/** Refuses to write to another store than the one the workflow began with (architecture.md). */
export function requireStore(what: 'feedback' | 'bundle', pinned: string, own: string): void {
  if (pinned === own) return;
  throw permanent(
    'StoreMismatch',
    `this worker's ${what} store is not the one this run began with: give all workers of a task queue the same store`,
  );
}
