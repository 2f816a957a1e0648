import type { WorkKind } from '../../worker.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import type { HealthAddress } from '../processes/health-address.ts';
import { startHealthPart } from '../processes/health-part.ts';
import { withParts } from '../processes/running-parts.ts';
import { startWorkerPart } from '../processes/worker-part.ts';

interface WorkerFlags {
  health?: HealthAddress;
  only?: WorkKind;
}

export default async function work(context: CommandContext, { health, only }: WorkerFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    const worker = await startWorkerPart(config, { stderr: true }, { level: output.quiet ? 'warn' : 'info', only });
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
