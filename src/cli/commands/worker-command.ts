import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { healthAddress } from '../processes/health-address.ts';
import { withParts } from '../processes/running-parts.ts';

export function addWorker(parent: Command, run: RunCommand): void {
  parent
    .command('worker')
    .description('A worker alone, until SIGINT or SIGTERM; its log goes to stderr')
    .option('--health <host:port>', 'answer GET /healthz there, with 200 as long as the worker takes work')
    .action((flags: { health?: string }) => run((context) => work(context, flags.health)));
}

async function work(context: CommandContext, healthPlace: string | undefined): Promise<ExitCode> {
  const { output } = context;
  const health = healthPlace === undefined ? null : healthAddress(healthPlace);
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    const { startWorkerPart } = await import('../processes/worker-part.ts');
    const worker = await startWorkerPart(config, { stderr: true }, output.quiet ? 'warn' : 'info');
    parts.add(worker);
    if (health) {
      const { startHealthPart } = await import('../processes/health-part.ts');
      parts.add(await startHealthPart(health, worker.state));
    }
    const { address, namespace, taskQueue } = config.temporal;
    const document = { ready: true, temporal: address, namespace, taskQueue };
    output.result(document, `worker: ready on task queue ${taskQueue}`);
    await parts.untilAborted(interrupted);
    output.note('stopping: running steps may finish, the others are handed back');
    return exitCodes.done;
  });
}
