import type { ExportState } from '../../exports/rules/site-export.ts';
import type { BundleStore, PublishedVersion, SiteHold } from '../../exports/store/bundle-store.ts';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { exportHandle, exportState } from '../../operations/exports.ts';
import type { Installation } from '../../operations/installation.ts';
import type { Trouble } from '../../operations/status.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import { type Retry, retriesIn } from '../../temporal/connection.ts';
import type { ConsoleSetting } from '../console-setting.ts';
import { readerNoting } from './shared-reading.ts';

/** What runs of a site. */
interface RunningExport {
  runId: string;
  /** Null when no worker answers. */
  state: ExportState | null;
  retries: Retry[];
}

/** What the bundle store has of a site. */
export interface StoredSite {
  current: string | null;
  /** Address of the version in service. */
  url: string | null;
  hold: SiteHold | null;
  versions: PublishedVersion[];
  /** What each target runs; null for nothing yet. */
  targets: { name: string; version: string | null }[];
}

/** Everything on a site's page; null for a part that does not answer. */
export interface SiteFacts {
  running: RunningExport | null;
  stored: StoredSite | null;
  runs: ExportRunRow[] | null;
  /** What people did by hand, newest first. */
  auditEntries: AuditEntry[] | null;
  troubles: Trouble[];
}

const shownRuns = 20;
const shownAuditEntries = 20;

export async function readSite(
  setting: ConsoleSetting,
  installation: Installation,
  site: { org: string; domain: string; targets: readonly string[] },
): Promise<SiteFacts> {
  const troubles: Trouble[] = [];
  const read = readerNoting(troubles, setting);
  const [running, stored, runs, auditEntries] = await Promise.all([
    read(() => readRunning(setting, installation, site, troubles)),
    read(async () => readStored(await installation.bundles(), site)),
    read(async () =>
      (await installation.feedback()).listExportRuns({ org: site.org, domain: site.domain, limit: shownRuns }),
    ),
    // The store is named once when it is away.
    feedbackAuditEntries(installation, site).catch(() => null),
  ]);
  return { running, stored, runs, auditEntries, troubles };
}

async function readRunning(
  setting: ConsoleSetting,
  installation: Installation,
  { org, domain }: { org: string; domain: string },
  troubles: Trouble[],
): Promise<RunningExport | null> {
  const client = await installation.temporal();
  const described = await exportHandle(client, org, domain)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'WorkflowNotFoundError') return null;
      throw error;
    });
  if (described?.status.name !== 'RUNNING') return null;
  const running = { runId: described.runId, retries: retriesIn(described) };
  try {
    return { ...running, state: await setting.askWorker(client, () => exportState(client, org, domain)) };
  } catch (error) {
    troubles.push(setting.explain(error));
    return { ...running, state: null };
  }
}

async function readStored(
  store: BundleStore,
  { domain, targets }: { domain: string; targets: readonly string[] },
): Promise<StoredSite> {
  const [current, hold, versions, rolledOut] = await Promise.all([
    store.current(domain),
    store.holds.of(domain),
    store.versions(domain),
    Promise.all(targets.map(async (name) => ({ name, version: await store.rolledOut(domain, name) }))),
  ]);
  const url = current === null ? null : store.urlOf(domain, await store.manifest(domain, current.version));
  return { current: current?.version ?? null, url, hold, versions, targets: rolledOut };
}

async function feedbackAuditEntries(
  { feedback }: Installation,
  { org, domain }: { org: string; domain: string },
): Promise<AuditEntry[]> {
  const auditEntries: AuditEntry[] = [];
  for await (const entry of (await feedback()).listAuditEntries({ org, subject: domain })) {
    auditEntries.push(entry);
    if (auditEntries.length === shownAuditEntries) break;
  }
  return auditEntries;
}
