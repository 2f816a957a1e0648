import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { withParts } from './running-parts.ts';

export function addWorker(parent: Command, run: RunCommand): void {
  parent
    .command('worker')
    .description('A worker alone, until SIGINT or SIGTERM; its log goes to stderr')
    .action(() => run(work));
}

async function work(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context, 'required');
    const { startWorkerPart } = await import('./worker-part.ts');
    parts.add(await startWorkerPart(config, { stderr: true }, output.quiet ? 'warn' : 'info'));
    const { address, namespace, taskQueue } = config.temporal;
    const document = { ready: true, temporal: address, namespace, taskQueue };
    output.result(document, `worker: ready on task queue ${taskQueue}`);
    await parts.untilAborted(interrupted);
    output.note('stopping: running steps may finish, the others are handed back');
    return exitCodes.done;
  });
}
