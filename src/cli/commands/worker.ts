import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { listen, stopListening } from '../../http-server.ts';
import { rotateLongLog } from '../../local/dev-server.ts';
import { connectOptions } from '../../temporal/connection.ts';
import { builtWorkflows } from '../../temporal/encryption.ts';
import { createLog, type LogPlace, logDestination } from '../../temporal/log.ts';
import type { WorkKind } from '../../temporal/rules/failover.ts';
import { startWorker, type WorkerSettings } from '../../worker.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig, usageFailure } from '../context.ts';
import { explainFailure } from '../explain-failure.ts';
import { buildId, deploymentName, type HostAndPort, hostAndPort, metricsHelp } from '../flags.ts';
import { packageVersion } from '../package-file.ts';
import { freeAddress, keepHeapLean, never, type Part, withParts } from '../parts.ts';

export default {
  worker: (command, run) =>
    command
      .option(
        '--health <host:port>',
        'answer GET /healthz at this address: 200 while the worker takes work',
        hostAndPort('--health'),
      )
      .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
      .addOption(
        new Option('--only <kind>', 'take only workflows and short steps, or only long, heavy steps').choices([
          'short',
          'bulk',
        ]),
      )
      .option('--deployment <name>', "be a build of this Worker Deployment of Temporal's", deploymentName)
      .option(
        '--build <id>',
        'id of this build in the deployment (default: docferry@<version>+<hash of the workflows>)',
        buildId,
      )
      .addHelpText(
        'after',
        '\nA new build takes no work before `temporal worker deployment set-current-version` (docs/upgrading.md).',
      )
      .action(run(work)),
} satisfies CommandFile;

/**
 * Answers `GET /healthz` with `{"state": …}`: 200 while the worker is `RUNNING`, else 503. A process that hangs does not
 * answer at all. Whether Temporal can be reached does not count: a restart would not help, and the worker waits for it.
 */
export async function startHealthPart({ host, port }: HostAndPort, state: () => string): Promise<Part> {
  const server = createServer((request, response) => {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    const now = state();
    const status = request.url !== '/healthz' ? 404 : now === 'RUNNING' ? 200 : 503;
    response.writeHead(status, headers).end(status === 404 ? '{}\n' : `${JSON.stringify({ state: now })}\n`);
  });
  await listen(server, { host, port, flag: '--health' });
  return { name: 'the health check', ended: never, stop: () => stopListening(server, 0) };
}

interface WorkerFlags {
  health?: HostAndPort;
  metrics?: HostAndPort;
  only?: WorkKind;
  deployment?: string;
  build?: string;
}

async function work(context: CommandContext, flags: WorkerFlags): Promise<ExitCode> {
  const { output } = context;
  const { health, metrics, only } = flags;
  const version = versionOf(flags);
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    let worker: WorkerPart | undefined;
    if (health) {
      await freeAddress('--health', health);
      // It is stopped last, and so answers while the worker ends.
      parts.add(await startHealthPart(health, () => worker?.state() ?? 'STARTING'));
    }
    const metricsAddress = metrics && (await freeAddress('--metrics', metrics));
    const level = output.quiet ? 'warn' : 'info';
    worker = await startWorkerPart(config, { stderr: true }, { level, only, metricsAddress, version });
    parts.add(worker);
    const { connection, namespace } = connectOptions(config.temporal);
    const { taskQueues } = worker;
    const document = {
      ready: true,
      temporal: connection.address,
      namespace,
      taskQueue: config.temporal.taskQueue,
      taskQueues,
      ...(version && { version }),
    };
    output.result(document, `worker: ready on task queue ${taskQueues.join(' and ')}`);
    if (version !== undefined) output.note(takeWorkText(version, namespace));
    await parts.untilAborted(interrupted);
    output.note('stopping: steps about to end may finish, the others are handed back');
  });
}

type Version = NonNullable<WorkerSettings['version']>;

function versionOf({ deployment: deploymentName, build }: WorkerFlags): Version | undefined {
  if (deploymentName !== undefined) return { deploymentName, buildId: build ?? ownBuildId() };
  if (build === undefined) return undefined;
  throw usageFailure('--build is the id of a build of a deployment: give --deployment too');
}

/** Programs with the same id take the same steps. Throws when the bundle of workflows is missing. */
function ownBuildId(): string {
  const code = readFileSync(builtWorkflows().codePath);
  return `docferry@${packageVersion()}+${createHash('sha256').update(code).digest('hex').slice(0, 12)}`;
}

/** Said at every start: a build that no operator makes current waits for work in silence. */
function takeWorkText({ deploymentName, buildId }: Version, namespace: string): string {
  const command = `temporal worker deployment set-current-version --namespace ${namespace} --deployment-name ${deploymentName} --build-id ${buildId}`;
  return `this is build ${buildId} of ${deploymentName}; unless it is the current one, it takes no new work before:\n  ${command}`;
}

/** A worker in this process; its state is `RUNNING` while it takes work. */
interface WorkerPart extends Part {
  state(): string;
  taskQueues: readonly string[];
}

interface WorkerOptions {
  level?: 'info' | 'warn';
  only?: WorkKind | undefined;
  /** `ip:port` for Prometheus. */
  metricsAddress?: string | undefined;
  version?: WorkerSettings['version'] | undefined;
}

/** Starts a worker, for only one kind of work if so asked. */
export async function startWorkerPart(
  config: Config,
  place: LogPlace,
  { level = 'info', only, metricsAddress, version }: WorkerOptions = {},
): Promise<WorkerPart> {
  if ('file' in place) await rotateLongLog(place.file);
  const log = createLog(logDestination(place), level);
  const worker = await startWorker(config, {
    log,
    ...(only && { only }),
    ...(metricsAddress && { metricsAddress }),
    ...(version && { version }),
  });
  keepHeapLean();
  return {
    name: 'the worker',
    state: () => worker.state(),
    taskQueues: worker.taskQueues,
    ended: worker.done.then(
      () => null,
      (error: unknown) => {
        const failure = explainFailure(error);
        return { ...failure, message: `the worker ended: ${failure.message}` };
      },
    ),
    stop: () => worker.stop(),
  };
}
