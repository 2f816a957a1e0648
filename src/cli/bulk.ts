import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { ExportParameters } from '../exports/rules/site-export.ts';
import { openBundleStore } from '../exports/store/open-bundle-store.ts';
import { type PassKind, type ReadingKind, readingKinds } from '../feedback/rules/pass-bounds.ts';
import type { EntryStore } from '../feedback/store/feedback-store.ts';
import { approveExport, exportHandle, exportState, startExport } from '../operations/exports.ts';
import { startOrJoinSync, syncHandle } from '../operations/syncs.ts';
import { counted } from '../rules/text.ts';
import { exportWorkflowId, syncWorkflowId } from '../rules/workflow-ids.ts';
import {
  cancelledRun,
  doneBy,
  type OwnAuditEntry,
  startedExport,
  startedPass,
} from '../runs/rules/own-audit-entries.ts';
import { failoverFor } from '../temporal/connection.ts';
import { inBatches, type RunningWork, runningWork } from '../temporal/runs.ts';
import { actorOf, type BulkFlags } from './actor.ts';
import { AuditKeeper } from './audit.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import { explainFailure } from './explain-failure.ts';
import { type ExitCode, exitCodes, type Failure } from './failure.ts';
import { selectedInBulk } from './selection.ts';
import { requireRunning, type Session, withTemporal } from './session.ts';
import { withFeedbackStore } from './stores.ts';
import { confirm, onInterrupt } from './terminal/prompts.ts';
import { indent } from './terminal/text.ts';
import { askWorker } from './waiting.ts';

/** At a time. */
const atOnce = 16;

/** One of many, named by `domain` or `project`. */
export interface BulkItem {
  org: string;
  domain?: string;
  project?: string;
}

/** What a bulk command would do, and how. */
export interface BulkPlan<Item extends BulkItem> {
  /** Name of the list in the document. */
  kind: 'sites' | 'projects';
  /** E.g. `start` and `started`. */
  verb: string;
  done: string;
  items: readonly Item[];
  /** What was selected and needs nothing. */
  left: readonly { item: Item; why: string }[];
  /** An item in the plan, with what will be done to it. */
  lineOf(item: Item): string;
  /** Does it to one. */
  work(item: Item): Promise<BulkAnswer>;
}

export interface BulkAnswer {
  /** What the document says of an item besides its names. */
  document: object;
  /** What the audit keeps; none where the workflow that is reached sees to that. */
  auditEntries: readonly OwnAuditEntry[];
}

type Ended<Item> = { item: Item } & ({ answer: BulkAnswer; failure: null } | { answer: null; failure: Failure });

/**
 * Shows what will be done and asks, unless told not to; then does it to all, a few at a time, and prints one summary. What
 * fails for one is named and stops no other; then the exit code is 1.
 */
export async function runBulk<Item extends BulkItem>(
  context: CommandContext,
  config: Config,
  flags: BulkFlags,
  plan: BulkPlan<Item>,
): Promise<ExitCode> {
  const { output } = context;
  const { kind, verb, done, items, left, lineOf } = plan;
  const count = counted(items.length, kind.slice(0, -1));
  const lines = [
    ...items.map(lineOf),
    ...left.map(({ item, why }) => output.paintNotes.dim(`${lineOf(item)}: left out, ${why}`)),
  ];
  const text = `${verb} ${count}:\n${indent(lines.join('\n'))}`;
  if (items.length > 0 && flags.yes !== true) {
    await confirm({ text: `${text}\n${verb} ${count}?`, declined: 'nothing was done' }, false);
  } else if (items.length > 0) {
    output.note(text);
  }
  const { ended, notBegun } = await workOff(plan, new AuditKeeper(context, config, flags), () =>
    output.note('interrupted: what has begun ends, nothing else begins; again to stop at once'),
  );
  const failed = ended.filter(({ failure }) => failure !== null);
  const leftOut = [...left, ...notBegun.map((item) => ({ item, why: 'interrupted' }))];
  const document = {
    [kind]: ended.map(documentOf),
    left: leftOut.map(({ item, why }) => ({ ...item, why })),
    totals: { done: ended.length - failed.length, failed: failed.length, left: leftOut.length },
  };
  const summary = [
    `${notBegun.length > 0 ? 'interrupted: ' : ''}${done} ${ended.length - failed.length} of ${count}`,
    ...(leftOut.length > 0 ? [`${leftOut.length} left out`] : []),
    ...(failed.length > 0 ? [output.paint.red(`${failed.length} failed`)] : []),
  ].join(', ');
  const failures = failed.map(({ item, failure }) => `${lineOf(item)}: ${failure?.message}`);
  output.result(document, items.length === 0 ? `nothing to ${verb}` : [...failures, summary].join('\n'));
  return failed.length === 0 && notBegun.length === 0 ? exitCodes.done : exitCodes.failed;
}

/**
 * Does the work, and keeps each audit entry once it is done: a command that is killed in the middle loses what it did last. After
 * Ctrl-C what has begun goes on to its end and nothing else begins.
 */
async function workOff<Item extends BulkItem>(
  plan: BulkPlan<Item>,
  keeper: AuditKeeper,
  onInterrupted: () => void,
): Promise<{ ended: Ended<Item>[]; notBegun: Item[] }> {
  const { signal, dispose } = onInterrupt();
  signal.addEventListener('abort', onInterrupted);
  try {
    const all = await inBatches(plan.items, atOnce, async (item) => {
      if (signal.aborted) return { item, begun: false as const };
      const ended = await attempt(plan, item);
      const auditEntries = ended.answer?.auditEntries ?? [];
      keeper.keep(auditEntries.map((entry) => ({ ...entry, detail: { bulk: true, ...entry.detail } })));
      return { ...ended, begun: true as const };
    });
    const ended = all.filter((found) => found.begun);
    return { ended, notBegun: all.filter((found) => !found.begun).map(({ item }) => item) };
  } finally {
    await keeper.end();
    dispose();
  }
}

async function attempt<Item extends BulkItem>({ work }: BulkPlan<Item>, item: Item): Promise<Ended<Item>> {
  try {
    return { item, answer: await work(item), failure: null };
  } catch (error) {
    return { item, answer: null, failure: explainFailure(error) };
  }
}

function documentOf<Item extends BulkItem>({ item, answer, failure }: Ended<Item>): object {
  if (failure === null) return { ...item, ok: true, ...answer.document };
  const { code, message, hint } = failure;
  return { ...item, ok: false, error: { code, message, hint } };
}

interface Site {
  org: string;
  domain: string;
}

const queriesAtOnce = 16;

/** Starts the exports of many sites; one that runs is joined or refused, as for one site. */
export async function startExports(
  context: CommandContext,
  flags: BulkFlags & { onRunning: 'join' | 'refuse' },
  parameters: ExportParameters,
): Promise<ExitCode> {
  return ofSites(context, flags, async ({ client, config }, sites, running) => {
    const { taskQueue } = config.temporal;
    const failover = failoverFor(config.temporal);
    return runBulk<Site>(context, config, flags, {
      kind: 'sites',
      verb: 'start the exports of',
      done: 'started',
      items: sites,
      left: [],
      lineOf: (site) => `${site.domain}${running.has(exportId(site)) ? ' (already running)' : ''}`,
      work: async (site) => {
        const start = () => startExport(client, taskQueue, { ...site, parameters, failover }, flags.onRunning);
        const { handle, joined, runId } = await askWorker(client, taskQueue, start);
        const auditEntries = startedExport(site.org, site.domain, runId, parameters);
        return { document: { workflowId: handle.workflowId, joined }, auditEntries };
      },
    });
  });
}

/** Cancels the running exports and rollbacks of many sites. */
export async function cancelExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return ofSites(context, flags, ({ client, config }, sites, running) =>
    runBulk<Site>(context, config, flags, {
      kind: 'sites',
      verb: 'cancel the exports of',
      done: 'cancelling',
      items: sites.filter((site) => running.has(exportId(site))),
      left: sites.filter((site) => !running.has(exportId(site))).map((item) => ({ item, why: 'no export runs' })),
      lineOf: ({ domain }) => domain,
      work: async ({ org, domain }) => {
        const handle = exportHandle(client, org, domain);
        const { runId } = await requireRunning(handle, `export of ${domain}`);
        await handle.cancel();
        const auditEntries = [cancelledRun({ kind: 'export', org, domain }, runId)];
        return { document: { workflowId: handle.workflowId, cancelRequested: true }, auditEntries };
      },
    }),
  );
}

/** Approves what waits at many sites: the versions of the plan, and never one that came after it. */
export async function approveExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return ofSites(context, flags, async ({ client, config }, sites, running) => {
    const { taskQueue } = config.temporal;
    const actor = actorOf(flags);
    const waits = (site: Site) => running.get(exportId(site))?.phase === 'awaiting-approval';
    const asked = await inBatches(sites.filter(waits), queriesAtOnce, async ({ org, domain }) => {
      const { approval } = await askWorker(client, taskQueue, () => exportState(client, org, domain));
      return { org, domain, version: approval?.version ?? null };
    });
    const versions = new Map(asked.map((site) => [exportId(site), site.version]));
    const known = sites.map((site) => ({ ...site, version: versions.get(exportId(site)) ?? null }));
    return runBulk(context, config, flags, {
      kind: 'sites',
      verb: 'approve the versions of',
      done: 'approved',
      items: known.filter(({ version }) => version !== null),
      left: known.filter(({ version }) => version === null).map((item) => ({ item, why: 'no version waits' })),
      lineOf: ({ domain, version }) => (version === null ? domain : `${domain}  ${version}`),
      work: async ({ org, domain, version }) => {
        if (version === null) throw new Error('only the versions shown in the plan are approved');
        await askWorker(client, taskQueue, () => approveExport(client, { org, domain, version }, actor));
        return { document: { decision: 'approved' }, auditEntries: [] };
      },
    });
  });
}

/** Does the work with the selected sites and what runs of them, by workflow id. */
async function ofSites(
  context: CommandContext,
  flags: BulkFlags,
  work: (session: Session, sites: Site[], running: ReadonlyMap<string, RunningWork>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const sites = selectedInBulk(config, flags, 'sites');
  return withTemporal(config, async (session) => {
    const running = await runningWork(session.client, config.temporal.taskQueue);
    return work(session, sites, new Map(running.map((found) => [found.workflowId, found])));
  });
}

const exportId = ({ org, domain }: Site): string => exportWorkflowId(org, domain);

/** Holds many sites at what each has in service; those held already stay as they are. */
export async function holdSites(context: CommandContext, flags: BulkFlags, reason: string | null): Promise<ExitCode> {
  const { config, store, sites } = await sitesInService(context, flags);
  const free = sites.filter(({ current, held }) => current !== null && held === null);
  const others = sites.filter((site) => !free.includes(site));
  return runBulk(context, config, flags, {
    kind: 'sites',
    verb: 'hold',
    done: 'held',
    items: free,
    left: others.map((item) => ({
      item,
      why: item.held === null ? 'nothing is published' : `it is held at ${item.held}`,
    })),
    lineOf: ({ domain, current }) => (current === null ? domain : `${domain}  ${current}`),
    work: async ({ org, domain }) => {
      const { version, since } = await store.holds.place(domain, { version: null, reason, at: new Date() });
      const entry = doneBy(randomUUID(), 'hold', { kind: 'export', org, domain }, { version });
      return { document: { held: version, since }, auditEntries: [entry] };
    },
  });
}

/** Ends the holds of many sites. */
export async function releaseSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  const { config, store, sites } = await sitesInService(context, flags);
  return runBulk(context, config, flags, {
    kind: 'sites',
    verb: 'release',
    done: 'released',
    items: sites.filter(({ held }) => held !== null),
    left: sites.filter(({ held }) => held === null).map((item) => ({ item, why: 'it is not held' })),
    lineOf: ({ domain, held }) => (held === null ? domain : `${domain}  held at ${held}`),
    work: async ({ org, domain }) => {
      const released = await store.holds.release(domain);
      const version = released?.version;
      const auditEntries = released
        ? [doneBy(randomUUID(), 'release', { kind: 'export', org, domain }, { version })]
        : [];
      return { document: { held: null, released }, auditEntries };
    },
  });
}

async function sitesInService(context: CommandContext, flags: BulkFlags) {
  const config = await loadContextConfig(context);
  const sites = selectedInBulk(config, flags, 'sites');
  const store = await openBundleStore(config.store.bundles);
  const found = await store.inService(sites.map(({ domain }) => domain));
  const nothing = { current: null, held: null };
  return { config, store, sites: sites.map((site) => ({ ...site, ...(found.get(site.domain) ?? nothing) })) };
}

interface Pass<Kind extends ReadingKind = ReadingKind> {
  org: string;
  project: string;
  pass: Kind;
}

/** Starts a pass of many projects; one that runs is joined. */
export async function startSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: PassKind },
  dates: { from?: string; to?: string },
  defaultPass: (store: EntryStore, org: string, project: string) => Promise<PassKind>,
): Promise<ExitCode> {
  return ofProjects(context, flags, async ({ client, config }, projects, running) => {
    const items = await withFeedbackStore(config, async (store) => {
      const passes: Pass<PassKind>[] = [];
      for (const { org, project } of projects) {
        passes.push({ org, project, pass: flags.pass ?? (await defaultPass(store, org, project)) });
      }
      return passes;
    });
    return runBulk(context, config, flags, {
      kind: 'projects',
      verb: 'start a pass of',
      done: 'started',
      items,
      left: [],
      lineOf: (item) => `${lineOf(item)}${running.has(passId(item)) ? ' (already running)' : ''}`,
      work: async (item) => {
        const input = { ...item, class: 'on-demand' as const, ...dates, failover: failoverFor(config.temporal) };
        const { handle, joined, runId } = await startOrJoinSync(client, config.temporal.taskQueue, input);
        return { document: { workflowId: handle.workflowId, joined }, auditEntries: startedPass(item, runId) };
      },
    });
  });
}

/** Cancels the running passes of many projects, of one kind or of all. */
export async function cancelSyncs(
  context: CommandContext,
  flags: BulkFlags & { pass?: ReadingKind },
): Promise<ExitCode> {
  return ofProjects(context, flags, ({ client, config }, projects, running) => {
    const kinds = flags.pass === undefined ? readingKinds : [flags.pass];
    const passes = projects.flatMap((ids) => kinds.map((pass): Pass => ({ ...ids, pass })));
    return runBulk(context, config, flags, {
      kind: 'projects',
      verb: 'cancel the running passes of',
      done: 'cancelling',
      items: passes.filter((pass) => running.has(passId(pass))),
      left: [],
      lineOf,
      work: async (pass) => {
        const handle = syncHandle(client, pass);
        const { runId } = await requireRunning(handle, `${pass.pass} of ${pass.project}`);
        await handle.cancel();
        const auditEntries = [cancelledRun({ kind: 'sync', ...pass }, runId)];
        return { document: { workflowId: handle.workflowId, cancelRequested: true }, auditEntries };
      },
    });
  });
}

async function ofProjects(
  context: CommandContext,
  flags: BulkFlags,
  work: (
    session: Session,
    projects: { org: string; project: string }[],
    running: ReadonlyMap<string, RunningWork>,
  ) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const projects = selectedInBulk(config, flags, 'projects');
  return withTemporal(config, async (session) => {
    const running = await runningWork(session.client, config.temporal.taskQueue);
    return work(session, projects, new Map(running.map((found) => [found.workflowId, found])));
  });
}

const passId = ({ org, project, pass }: Pass): string => syncWorkflowId(org, project, pass);
const lineOf = ({ org, project, pass }: Pass): string => `${org}/${project}  ${pass}`;
