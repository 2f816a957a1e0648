import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import type { HealthAddress } from '../processes/health-address.ts';
import { startHealthPart } from '../processes/health-part.ts';
import { withParts } from '../processes/running-parts.ts';
import { startWorkerPart } from '../processes/worker-part.ts';

export default async function work(context: CommandContext, { health }: { health?: HealthAddress }): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    const worker = await startWorkerPart(config, { stderr: true }, output.quiet ? 'warn' : 'info');
    parts.add(worker);
    if (health) parts.add(await startHealthPart(health, worker.state));
    const { address, namespace, taskQueue } = config.temporal;
    const document = { ready: true, temporal: address, namespace, taskQueue };
    output.result(document, `worker: ready on task queue ${taskQueue}`);
    await parts.untilAborted(interrupted);
    output.note('stopping: steps about to end may finish, the others are handed back');
    return exitCodes.done;
  });
}
