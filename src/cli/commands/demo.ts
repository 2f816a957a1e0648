import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import type { Sandbox } from '../../../sandbox/index.ts';
import { untouchedView } from '../../budget/rules/window-view.ts';
import type { Config } from '../../config/config.ts';
import type { ExportResult } from '../../exports/rules/site-export.ts';
import { delaysText, type ExpectedDelays } from '../../feedback/rules/refresh/expected.ts';
import type { SyncInput, SyncResult } from '../../feedback/rules/sync.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import { tryLock } from '../../files.ts';
import { findFreePort } from '../../local/ports.ts';
import { DatabaseInUse } from '../../local/run-command.ts';
import { exportState, startExport } from '../../operations/exports.ts';
import { startSync, syncState } from '../../operations/syncs.ts';
import { counted, countText, sizeText, spanText } from '../../rules/text.ts';
import { failoverFor } from '../../temporal/connection.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  type Output,
  operationFailure,
  type Paint,
  usageFailure,
} from '../context.ts';
import { startEmbedded } from '../embedded.ts';
import { bundlePlace, withFeedbackStore } from '../operator.ts';
import { type RunningParts, withParts } from '../parts.ts';
import { type Session, withTemporal } from '../session.ts';
import { exportStep, syncStep } from '../terminal/progress.ts';
import { factLines, indent } from '../terminal/text.ts';
import { type SharedWait, type Waiting, waitTogether } from '../waiting.ts';
import { sandboxConfigText, sandboxOrganization, startSandboxPart } from './sandbox.ts';
import { startBundlePart } from './serve.ts';
import { withEmbedded } from './up.ts';
import { startWorkerPart } from './worker.ts';

export default {
  demo: (command, run) =>
    command.option('--keep', 'keep everything running at the end, until Ctrl-C').action(run(runDemo)),
} satisfies CommandFile;

const { id: org, project, domain } = sandboxOrganization;

async function runDemo(context: CommandContext, { keep = false }: { keep?: boolean }): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const whole = await show(context, parts, interrupted, keep).catch((error: unknown) => {
      if (!interrupted.aborted) throw error;
      throw operationFailure('Interrupted', 'the demo was interrupted', 'run it again: it starts over');
    });
    if (keep) {
      output.note('everything keeps running; Ctrl-C stops it');
      await parts.untilAborted(interrupted);
    }
    return whole ? exitCodes.done : exitCodes.failed;
  });
}

/** Plays the story and prints the summary; returns whether everything is as it should be. */
async function show(
  context: CommandContext,
  parts: RunningParts,
  interrupted: AbortSignal,
  keep: boolean,
): Promise<boolean> {
  const { output } = context;
  const folder = await prepareDemoFolder(resolve(context.cwd, 'demo-data'));
  const stage = await setStage(context, parts, folder, interrupted);
  const results = await parts.during(playStory(output, stage, interrupted));
  output.result(demoDocument(stage, results), demoText(stage, results, { keep, paint: output.paint }));
  return isWhole(stage, results);
}

/** Whether the demo kept its promises: a published version, all feedback stored, the budget kept. */
function isWhole(stage: Stage, results: DemoResults): boolean {
  const published = results.export.outcome === 'published' && results.again.outcome === 'unchanged';
  const rolledOut = results.export.rollouts.every(({ outcome }) => outcome !== 'failed');
  const { requests } = budgetOf(stage);
  const { most, refused } = trafficOf(stage);
  return published && rolledOut && results.stored === results.served && most <= requests && refused === 0;
}

function demoDocument(stage: Stage, results: DemoResults): object {
  const { most, refused } = trafficOf(stage);
  return {
    export: results.export,
    feedback: results.feedback,
    addresses: addressesOf(stage, results),
    again: results.again,
    sandbox: { entries: results.served, mostRequestsInAnyWindow: most, refused },
    stored: results.stored,
    expected: results.expected,
  };
}

/** The summary for people. */
function demoText(stage: Stage, results: DemoResults, { keep, paint }: { keep: boolean; paint: Paint }): string {
  const { export: first, feedback, again } = results;
  const { most, refused } = trafficOf(stage);
  const { requests, windowMs } = budgetOf(stage);
  const rollouts = first.rollouts.map(({ target, outcome }) => `${outcome} to ${target}`);
  const verdict = isWhole(stage, results) ? paint.green('Done.') : paint.red('Something went wrong: see below.');
  const files = addressesOf(stage, results);
  return [
    verdict,
    '',
    paint.bold(`Export of ${domain}`),
    indent(
      factLines([
        ['version', `${first.version ?? '-'} (${first.outcome})`],
        ['digest', first.contentDigest ?? '-'],
        [
          'content',
          `${counted(first.pages, 'page')}, ${counted(first.files, 'file')}, ${sizeText(first.archive?.bytes ?? 0)}`,
        ],
        ['polls', `${first.polls}`],
        ['rollout', rollouts.join(', ') || 'none'],
        ['again', `${again.outcome}: the same content is not published twice`],
      ]),
    ),
    paint.bold(`Feedback of ${feedback.project}`),
    indent(
      factLines([
        ['entries', `${countText(results.stored)} stored of ${countText(results.served)} in the sandbox`],
        ['requests', `${countText(feedback.requests)} for ${counted(feedback.pages, 'page')}`],
        [
          'budget',
          `${requests} requests in ${spanText(windowMs)}: at most ${most} in any window, ${refused} refused with 429`,
        ],
        ['waited', `${spanText(feedback.waitedMs)} for the budget`],
        ...(results.expected === null ? [] : [['from now on', delaysText(results.expected)] as [string, string]]),
      ]),
    ),
    paint.bold(keep ? 'To look at' : 'To look at (files stay; `docferry demo --keep` leaves the servers running)'),
    indent(factLines(Object.entries(files).filter(([name]) => keep || !servers.has(name)))),
  ].join('\n');
}

function budgetOf({ config }: Stage): { requests: number; windowMs: number } {
  const budget = config.organizations.find(({ id }) => id === org)?.budget;
  return { requests: budget?.requests ?? 0, windowMs: budget?.windowMs ?? 0 };
}

/** What the sandbox received: the most analytics requests in any window, and how many it refused. */
function trafficOf({ sandbox }: Stage): { most: number; refused: number } {
  const seen = sandbox.stats().organizations[org];
  return { most: seen?.maxInAnyWindow ?? 0, refused: seen?.throttled ?? 0 };
}

/** Addresses that end with the demo. */
const servers: ReadonlySet<string> = new Set(['temporal', 'ui', 'bundle', 'sandbox']);

function addressesOf({ config, folder, sandbox, uiUrl, configFile, workerLog }: Stage, results: DemoResults) {
  return {
    temporal: config.temporal.address,
    ui: uiUrl,
    bundle: results.export.url ?? '',
    sandbox: sandbox.url,
    site: join(folder, 'site', 'current', 'index.html'),
    bundles: bundlePlace(config.store.bundles),
    database: config.store.feedback.place,
    config: configFile,
    log: workerLog,
  };
}

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

/** Makes the demo's folder and empties it of an earlier demo. Throws a usage failure if it is another's, `DatabaseInUse` while a demo runs there. */
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
interface Stage extends DemoFolder {
  config: Config;
  sandbox: Sandbox;
  uiUrl: string;
  workerLog: string;
}

/** Starts server, sandbox, bundle server and worker on free ports. */
async function setStage(
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
  return { ...place, config, sandbox, uiUrl: embedded.uiUrl ?? '', workerLog };
}

interface DemoResults {
  export: ExportResult;
  feedback: SyncResult;
  /** A second export of the same site, which publishes nothing because nothing changed. */
  again: ExportResult;
  /** Entries that the sandbox serves. */
  served: number;
  /** Entries in the feedback store. */
  stored: number;
  /** How late `refresh` would know of changes; null when the configuration has no `refresh`. */
  expected: ExpectedDelays | null;
}

/** Exports a site while reading its feedback, then exports it again. */
async function playStory(output: Output, stage: Stage, interrupted: AbortSignal): Promise<DemoResults> {
  const { config, sandbox } = stage;
  return withTemporal(config, async (session) => {
    return waitTogether(output, session, interrupted, async (wait) => {
      const show = { paint: output.paintNotes, session, wait };
      const [first, feedback] = await Promise.all([exportOnce(show, `export of ${domain}`), syncOnce(show)]);
      const again = await exportOnce(show, 'the same again');
      const [counts, expected] = await withFeedbackStore(config, async (store) => {
        await store.prepareRefresh(org, [project], Date.now());
        return [await store.countEntries(org, project), await expectedOf(config, store)] as const;
      });
      return {
        export: first,
        feedback,
        again,
        served: [...sandbox.truth(project)].length,
        stored: counts.entries,
        expected,
      };
    });
  });
}

async function expectedOf({ organizations }: Config, store: FeedbackStore): Promise<ExpectedDelays | null> {
  const organization = organizations.find(({ id }) => id === org);
  if (organization === undefined) return null;
  const delays = await store.refreshDelays(organization, untouchedView(organization.budget), Date.now());
  return delays.get(project)?.expected ?? null;
}

interface Show {
  paint: Paint;
  session: Session;
  wait: SharedWait;
}

async function exportOnce(show: Show, label: string): Promise<ExportResult> {
  const { client, config } = show.session;
  const input = { org, domain, parameters: {}, failover: failoverFor(config.temporal) };
  const { handle } = await startExport(client, config.temporal.taskQueue, input, 'join');
  return untilEnd(
    show,
    {
      handle,
      label,
      readState: () => exportState(client, org, domain),
      stepOf: (state) => exportStep(state, Date.now(), show.paint),
    },
    ({ outcome, version }) => [outcome, ...(version === null ? [] : [version])],
  );
}

async function syncOnce(show: Show): Promise<SyncResult> {
  const { client, config } = show.session;
  const input: SyncInput = { org, project, pass: 'sweep', failover: failoverFor(config.temporal) };
  return untilEnd(
    show,
    {
      handle: await startSync(client, config.temporal.taskQueue, input),
      label: `feedback of ${project}`,
      readState: () => syncState(client, input),
      stepOf: (state) => syncStep(state, Date.now(), show.paint),
    },
    ({ pages, entries }) => ['completed', counted(pages, 'page'), counted(entries.seen, 'entry', 'entries')],
  );
}

/** Shows a run until its end, and then how it ended. */
async function untilEnd<W extends Workflow, State>(
  { paint, wait }: Show,
  run: Pick<Waiting<W, State>, 'handle' | 'label' | 'readState' | 'stepOf'>,
  endOf: (result: WorkflowResultType<W>) => string[],
): Promise<WorkflowResultType<W>> {
  // An interrupted demo stops its Temporal too, so there is nothing to follow.
  const result = await wait.until({ ...run, timeoutMs: null, follow: 'docferry demo', cancel: 'Ctrl-C' });
  const [outcome = '', ...facts] = endOf(result);
  wait.live.ended(run.label, [paint.green(outcome), ...facts].join(', '));
  return result;
}
