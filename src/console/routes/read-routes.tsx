import type { Hono } from 'hono';
import { isStoreName } from '../../exports/store/bundle-store.ts';
import { addressOf } from '../../exports/verify/find-browser.ts';
import type { EndedRun } from '../../operations/history.ts';
import { projectLines, siteLines } from '../../operations/status.ts';
import { exportWorkflowId, workflowIdOf } from '../../rules/workflow-ids.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import { desiredSchedules } from '../../schedules/rules/desired-schedules.ts';
import { whenText } from '../../schedules/rules/schedule-settings.ts';
import type { ConsoleApp, ConsoleEnv } from '../app-context.ts';
import { ConsoleFailure } from '../console-failure.ts';
import { AuditPage } from '../pages/audit-page.tsx';
import { BudgetPage } from '../pages/budget-page.tsx';
import { ChangesPage } from '../pages/changes-page.tsx';
import { HistoryPage, historyQuery, sinceMsOf } from '../pages/history-page.tsx';
import { OverviewPage, type WrittenTables, writtenTable } from '../pages/overview-page.tsx';
import { projectAddress, siteAddress } from '../pages/parts.tsx';
import { PreviewPage } from '../pages/preview-page.tsx';
import { ProjectPage } from '../pages/project-page.tsx';
import { type ScheduleLine, SchedulesPage, scheduleQuery } from '../pages/schedules-page.tsx';
import { SitePage } from '../pages/site-page.tsx';
import { auditQuery } from '../readings/audit-query.ts';
import type { KnownProject, OverviewFacts, SiteFacts, StoredSite } from '../readings/console-reader.ts';
import { type OverviewLine, overviewQuery } from '../readings/overview-filter.ts';
import { policyFraming } from '../security/page-headers.ts';
import { notFound, orFailure, page, viewerIn } from './answers.tsx';

/** Ages grow, and what is late becomes stale, also while nothing else changes. */
const linesTrueMs = 30_000;

/** Pages that show something. */
export function addReadRoutes(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { reader } = app;
  const organizations = reader.setting.organizations.map(({ id }) => id);
  const inTemporal = temporalAddresses(app);
  const overviews = new WeakMap<OverviewFacts, { at: number; lines: OverviewLine[]; written: WrittenTables }>();
  hono.get('/', async (c) => {
    const { value, at, late } = await reader.overview.get();
    const query = overviewQuery(new URL(c.req.url).searchParams);
    const before = overviews.get(value);
    const isTrue = before !== undefined && Math.abs(at - before.at) < linesTrueMs;
    const prepared = isTrue ? before : { at, lines: linesOf(app, value, at), written: new Map() };
    overviews.set(value, prepared);
    const { unavailable } = value;
    const { mayAct } = viewerIn(c, app);
    const shown = { mayAct, query, lines: prepared.lines, organizations, unavailable };
    const table = writtenTable(shown, prepared.written);
    return page(c, app, <OverviewPage {...shown} table={table} />, { read: { at, late }, written: table.tables });
  });
  hono.get('/sites/:org/:domain', async (c) => {
    const { org, domain } = c.req.param();
    const site = reader.knownSite(org, domain);
    if (site === null) return notFound(c, app);
    const read = await reader.sites.of(site).get();
    const temporal = inTemporal?.(exportWorkflowId(org, domain)) ?? null;
    return page(c, app, <SitePage site={site} facts={read.value} temporal={temporal} />, { read });
  });
  hono.get('/sites/:org/:domain/changes/:version', async (c) => {
    const { org, domain, version } = c.req.param();
    const site = reader.knownSite(org, domain);
    if (site === null || !isStoreName(version)) return notFound(c, app);
    return orFailure(c, app, siteAddress(org, domain), async () => {
      const { value: facts } = await reader.sites.of(site).get();
      const waiting = facts.running?.state?.approval?.version ?? null;
      const { current } = storedIn(facts);
      const { value: changes } = await reader.changes.of({ domain, from: current, to: version }).get();
      return page(c, app, <ChangesPage site={site} changes={changes} waiting={waiting} />);
    });
  });
  hono.get('/sites/:org/:domain/preview/:version', async (c) => {
    const { org, domain, version } = c.req.param();
    const site = reader.knownSite(org, domain);
    if (site === null || !isStoreName(version)) return notFound(c, app);
    return orFailure(c, app, siteAddress(org, domain), async () => {
      const { value: facts } = await reader.sites.of(site).get();
      const { session } = c.get('signedIn');
      const path = c.req.query('page') ?? null;
      const show = async (of: string) => {
        const origin = await app.previews.show(domain, of, session);
        return { version: of, origin, address: path === null ? `${origin}/` : addressOf(origin, path) };
      };
      const { current } = storedIn(facts);
      const isBeside = current !== null && current !== version && app.previews.hasNames;
      const inService = isBeside ? await show(current) : null;
      const shown = await show(version);
      const approval = facts.running?.state?.approval;
      const changes = approval?.version === version ? approval.changes : null;
      const origins = [shown, ...(inService === null ? [] : [inService])].map(({ origin }) => origin);
      c.header('Content-Security-Policy', policyFraming(origins));
      return page(c, app, <PreviewPage {...{ site, shown, inService, path, changes }} />);
    });
  });
  hono.get('/projects/:org/:project', async (c) => {
    const { org, project: id } = c.req.param();
    const project = reader.knownProject(org, id);
    if (project === null) return notFound(c, app);
    const charts = chartsOf(app, project);
    const read = await reader.projects.of(project).get();
    return page(c, app, <ProjectPage project={project} facts={read.value} charts={await charts} />, { read });
  });
  hono.get('/budget', async (c) => {
    const read = await reader.budgets.get();
    return page(c, app, <BudgetPage budgets={read.value} />, { read });
  });
  hono.get('/history', async (c) => {
    const query = historyQuery(new URL(c.req.url).searchParams);
    return orFailure(c, app, '/history', async () => {
      const read = await reader.history.of(sinceMsOf(query)).get();
      const titleOf = (org: string, project: string) => reader.knownProject(org, project)?.name ?? project;
      const temporalOf = inTemporal && (({ workflowId, runId }: EndedRun) => inTemporal(workflowId, runId));
      const shown = { query, organizations, ...read.value, titleOf, temporalOf };
      return page(c, app, <HistoryPage {...shown} />, { read });
    });
  });
  hono.get('/schedules', async (c) => {
    const read = await reader.overview.get();
    const query = scheduleQuery(new URL(c.req.url).searchParams);
    const lines = scheduleLines(app, read.value);
    const unavailable = read.value.unavailable.filter(({ part }) => part === 'temporal');
    const shown = { query, organizations, lines, unavailable, at: read.at };
    return page(c, app, <SchedulesPage {...shown} />, { read });
  });
}

/** Throws what kept the bundle store from being read. */
function storedIn({ stored, troubles: [trouble] }: SiteFacts): StoredSite {
  if (stored !== null) return stored;
  const { code, message, hint } = trouble ?? { code: 'Failed', message: 'the bundle store is away', hint: null };
  throw new ConsoleFailure(code, message, hint);
}

/** Null while they are made, or when the store is down, which the page says. */
async function chartsOf({ reader }: ConsoleApp, project: KnownProject): Promise<string | null> {
  try {
    return (await reader.charts.of(project).get()).value;
  } catch {
    return null;
  }
}

/** `at` in milliseconds since the epoch. */
function linesOf({ reader }: ConsoleApp, { facts, drifts }: OverviewFacts, at: number): OverviewLine[] {
  const { organizations } = reader.setting;
  const begun = new Map(facts.live?.running?.map(({ workflowId, startedAt }) => [workflowId, startedAt.toISOString()]));
  return [
    ...siteLines(reader.selection, facts, organizations, at).map((line) => {
      const startedAt = begun.get(exportWorkflowId(line.org, line.domain)) ?? null;
      const drift = drifts.get(line.domain) ?? null;
      return { kind: 'site' as const, title: line.domain, startedAt, drift, ...line };
    }),
    ...projectLines(reader.selection, facts, organizations, at).map((line) => {
      const title = reader.knownProject(line.org, line.project)?.name ?? line.project;
      return { kind: 'project' as const, title, startedAt: null, drift: null, ...line };
    }),
  ];
}

/** The configured schedules, with what Temporal lists of each. */
function scheduleLines({ reader }: ConsoleApp, { facts }: OverviewFacts): ScheduleLine[] {
  const { taskQueue, organizations, failover } = reader.setting;
  const running = new Set(facts.live?.running?.map(({ workflowId }) => workflowId));
  return desiredSchedules(taskQueue, organizations, failover).map(({ target, settings }) => {
    const id = workflowIdOf(target);
    const state = facts.live?.starts?.get(id) ?? null;
    const thenAt = settings.calendars.length === 0 ? [] : (state?.thenAt ?? []);
    return { id, target, when: whenText(settings), state, thenAt, running: running.has(id) };
  });
}

/** Addresses of workflows and runs in the Temporal UI; null where it is not known. */
function temporalAddresses({ reader }: ConsoleApp): ((workflowId: string, runId?: string) => string) | null {
  const { temporalUi, namespace } = reader.setting;
  if (temporalUi === null) return null;
  return (workflowId, runId) => {
    const parts = [workflowId, ...(runId === undefined ? [] : [runId])].map(encodeURIComponent);
    return `${temporalUi}/namespaces/${encodeURIComponent(namespace)}/workflows/${parts.join('/')}`;
  };
}

/** The audit, which everybody who is signed in may read. */
export function addAuditRoute(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { reader } = app;
  const organizations = reader.setting.organizations.map(({ id }) => id);
  const addressOf = ({ org, subject }: AuditEntry): string | null => {
    if (org === null || subject === null) return null;
    if (reader.knownSite(org, subject) !== null) return siteAddress(org, subject);
    return reader.knownProject(org, subject) === null ? null : projectAddress(org, subject);
  };
  hono.get('/audit', async (c) => {
    return orFailure(c, app, '/audit', async () => {
      const query = auditQuery(new URL(c.req.url).searchParams);
      const read = await reader.audit.of(query).get();
      return page(c, app, <AuditPage {...{ query, organizations, facts: read.value, addressOf }} />, { read });
    });
  });
}
