import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import type { ExportResult } from '../../exports/rules/site-export.ts';
import type { SyncInput, SyncResult } from '../../feedback/rules/sync.ts';
import { tryLock } from '../../files.ts';
import { DatabaseInUse } from '../../local/embedded-errors.ts';
import { findFreePort } from '../../local/ports.ts';
import { exportState, startExport } from '../../operations/exports.ts';
import { startSync, syncState } from '../../operations/syncs.ts';
import { counted } from '../../rules/text.ts';
import { failoverFor } from '../../temporal/connection.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { startBundlePart } from '../parts/bundle-server-part.ts';
import { startEmbedded } from '../parts/embedded-part.ts';
import type { RunningParts } from '../parts/running-parts.ts';
import { sandboxConfigText, sandboxOrganization, startSandboxPart } from '../parts/sandbox-part.ts';
import { withEmbedded } from '../parts/up-config.ts';
import { startWorkerPart } from '../parts/worker-part.ts';
import { type Session, withTemporal } from '../session.ts';
import { withFeedbackStore } from '../stores.ts';
import type { LiveView } from '../terminal/live-lines.ts';
import type { Output } from '../terminal/output.ts';
import { exportStep, syncStep } from '../terminal/progress.ts';
import { waitInView } from '../waiting.ts';

/** Marks a folder whose contents may be deleted. */
const marker = '.docferry-demo';
const databaseFile = 'temporal.db';
/** With these a demo finds the server of a killed demo, or notices a demo that is still running. */
const serverFiles: ReadonlySet<string> = new Set([`${databaseFile}.lock`, `${databaseFile}.server.json`]);

interface DemoFolder {
  folder: string;
  /** Temporal's database. */
  dbFile: string;
  configFile: string;
}

/**
 * Creates the demo's folder, without what an earlier demo left in it. Throws a usage failure when the folder is not a
 * demo's, `DatabaseInUse` when a demo is still running in it.
 */
export async function prepareDemoFolder(folder: string): Promise<DemoFolder> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  if (names.length > 0 && !names.includes(marker)) {
    throw usageFailure(`${folder} was not made by docferry demo`, 'run the demo in another folder');
  }
  const dbFile = join(folder, databaseFile);
  await requireUnused(dbFile);
  const old = names.filter((name) => name !== marker && !serverFiles.has(name));
  await Promise.all(old.map((name) => rm(join(folder, name), { recursive: true })));
  await writeFile(join(folder, marker), 'docferry demo removes everything in this folder when it starts\n');
  return { folder, dbFile, configFile: join(folder, 'docferry.yaml') };
}

async function requireUnused(dbFile: string): Promise<void> {
  const lock = tryLock(`${dbFile}.lock`);
  if (!lock) throw new DatabaseInUse(dbFile, undefined);
  lock.release();
}

/** About 12 pages at 5 requests in 5 s: takes a minute at most, and shows the budget at work. */
const budget = { requests: 5, windowMs: 5_000, window: '5s' };
const entries = 1_150;
const jobSeconds = 8;

/** Everything that runs during the demo. */
export interface Stage extends DemoFolder {
  config: Config;
  sandbox: Sandbox;
  uiUrl: string;
  bundlesUrl: string;
  workerLog: string;
}

/** Starts server, sandbox, bundle server and worker on free ports. */
export async function setStage(
  context: CommandContext,
  parts: RunningParts,
  place: DemoFolder,
  interrupted: AbortSignal,
): Promise<Stage> {
  const { output, env } = context;
  const [port, uiPort, bundlePort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const { sandbox, part } = await startSandboxPart(
    { requests: budget.requests, windowMs: budget.windowMs, entries, jobSeconds },
    { port: '--port', storagePort: '--storage-port' },
  );
  parts.add(part);
  const sandboxPort = Number(new URL(sandbox.url).port);
  await writeFile(place.configFile, sandboxConfigText({ temporalPort: port, sandboxPort, bundlePort, budget }));
  const written = await loadContextConfig({ ...context, env, configFile: place.configFile }, 'required');
  output.note('starting Temporal …');
  const { dbFile } = place;
  const embedded = await startEmbedded(context, { port, uiPort, dbFile, namespace: 'default' }, interrupted);
  parts.add(embedded.part);
  const config = withEmbedded(written, embedded.server.address);
  const bundles = await startBundlePart(output, config.store.bundles, bundlePort, '--bundle-port');
  parts.add(bundles.part);
  const workerLog = join(place.folder, 'worker.log');
  parts.add(await startWorkerPart(config, { file: workerLog }));
  return { ...place, config, sandbox, uiUrl: embedded.uiUrl ?? '', bundlesUrl: bundles.url, workerLog };
}

const { id: org, project, domain } = sandboxOrganization;

/** The results of the demo. */
export interface DemoResult {
  export: ExportResult;
  feedback: SyncResult;
  /** A second export of the same site, which publishes nothing because nothing changed. */
  again: ExportResult;
  /** Entries that the sandbox serves. */
  served: number;
  /** Entries in the feedback store. */
  stored: number;
}

/** Exports a site while reading its feedback, then exports it again. */
export async function tellStory(output: Output, stage: Stage, interrupted: AbortSignal): Promise<DemoResult> {
  const { config, sandbox } = stage;
  return withTemporal(config, async (session) => {
    const live = await output.startLive();
    try {
      const show = { output, session, live, interrupted };
      const [first, feedback] = await Promise.all([exportOnce(show, `export of ${domain}`), syncOnce(show)]);
      const again = await exportOnce(show, 'the same again');
      const counts = await withFeedbackStore(config, (store) => store.countEntries(org, project));
      return {
        export: first,
        feedback,
        again,
        served: [...sandbox.truth(project)].length,
        stored: counts.entries,
      };
    } finally {
      live.end();
    }
  });
}

interface Show {
  output: Output;
  session: Session;
  live: LiveView;
  interrupted: AbortSignal;
}

async function exportOnce({ output, session, live, interrupted }: Show, label: string): Promise<ExportResult> {
  const { client, config } = session;
  const { handle } = await startExport(
    client,
    config.temporal.taskQueue,
    { org, domain, parameters: {}, failover: failoverFor(config.temporal) },
    'join',
  );
  const result = await waitInView(
    output,
    session,
    live,
    {
      handle,
      label,
      readState: () => exportState(client, org, domain),
      stepOf: (state) => exportStep(state, Date.now(), output.paintNotes),
      timeoutMs: null,
      ...whileDemoRuns,
    },
    interrupted,
  );
  const { outcome, version } = result;
  const facts = version === null ? [] : [version];
  const text = [output.paintNotes.green(outcome), ...facts].join('  ');
  live.show(label, { key: 'done', text, line: [outcome, ...facts].join(', ') });
  return result;
}

async function syncOnce({ output, session, live, interrupted }: Show): Promise<SyncResult> {
  const { client, config } = session;
  const failover = failoverFor(config.temporal);
  const input: SyncInput = { org, project, pass: 'sweep', class: 'on-demand', failover };
  const label = `feedback of ${project}`;
  const result = await waitInView(
    output,
    session,
    live,
    {
      handle: await startSync(client, config.temporal.taskQueue, input),
      label,
      readState: () => syncState(client, input),
      stepOf: (state) => syncStep(state, Date.now(), output.paintNotes),
      timeoutMs: null,
      ...whileDemoRuns,
    },
    interrupted,
  );
  const counts = [counted(result.pages, 'page'), counted(result.entries.seen, 'entry', 'entries')];
  const text = [output.paintNotes.green('completed'), ...counts].join('  ');
  live.show(label, { key: 'done', text, line: ['completed', ...counts].join(', ') });
  return result;
}

/** An interrupted demo stops its Temporal too, so there is nothing to follow. */
const whileDemoRuns = { follow: 'docferry demo', cancel: 'Ctrl-C' };
