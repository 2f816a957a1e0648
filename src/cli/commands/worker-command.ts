import type { WorkKind } from '../../worker.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import type { HostAndPort } from '../input/flag-values.ts';
import { freeAddress } from '../processes/free-address.ts';
import { startHealthPart } from '../processes/health-part.ts';
import { withParts } from '../processes/running-parts.ts';
import { startWorkerPart } from '../processes/worker-part.ts';

interface WorkerFlags {
  health?: HostAndPort;
  metrics?: HostAndPort;
  only?: WorkKind;
}

export default async function work(context: CommandContext, { health, metrics, only }: WorkerFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    if (health) await freeAddress('--health', health);
    const metricsAddress = metrics && (await freeAddress('--metrics', metrics));
    const level = output.quiet ? 'warn' : 'info';
    const worker = await startWorkerPart(config, { stderr: true }, { level, only, metricsAddress });
    parts.add(worker);
    if (health) parts.add(await startHealthPart(health, worker.state));
    const { address, namespace, taskQueue } = config.temporal;
    const { taskQueues } = worker;
    const document = { ready: true, temporal: address, namespace, taskQueue, taskQueues };
    output.result(document, `worker: ready on task queue ${taskQueues.join(' and ')}`);
    await parts.untilAborted(interrupted);
    output.note('stopping: steps about to end may finish, the others are handed back');
    return exitCodes.done;
  });
}
