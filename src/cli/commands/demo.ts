import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext, RunCommand } from '../context.ts';
import { CliFailure } from '../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { type RunningParts, withParts } from '../processes/running-parts.ts';

export function addDemo(parent: Command, run: RunCommand): void {
  parent
    .command('demo')
    .description('The whole story against the sandbox on free ports, with results under ./demo-data')
    .option('--keep', 'leave everything running at the end, until Ctrl-C')
    .action((flags: { keep?: boolean }) => run((context) => demo(context, flags.keep === true)));
}

async function demo(context: CommandContext, keep: boolean): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const whole = await show(context, parts, interrupted, keep).catch((error: unknown) => {
      throw interrupted.aborted ? stopped() : error;
    });
    if (keep) {
      output.note('everything keeps running; Ctrl-C stops it');
      await parts.untilAborted(interrupted);
    }
    return whole ? exitCodes.done : exitCodes.failed;
  });
}

/** Plays the story and prints the summary; returns whether all is as it should be. */
async function show(
  context: CommandContext,
  parts: RunningParts,
  interrupted: AbortSignal,
  keep: boolean,
): Promise<boolean> {
  const { output } = context;
  const { prepareDemoFolder } = await import('../demo/demo-folder.ts');
  const { setStage } = await import('../demo/demo-stage.ts');
  const { tellStory } = await import('../demo/demo-story.ts');
  const { demoDocument, demoText, isWhole } = await import('../demo/demo-text.ts');
  const folder = await prepareDemoFolder(resolve(context.cwd, 'demo-data'));
  const stage = await setStage(context, parts, folder, interrupted);
  const told = await parts.during(tellStory(output, stage, interrupted));
  output.result(demoDocument(stage, told), demoText(stage, told, { keep, paint: output.paint }));
  return isWhole(stage, told);
}

function stopped(): CliFailure {
  return new CliFailure({
    code: 'Interrupted',
    message: 'the demo was interrupted',
    hint: 'run it again: it starts anew',
    exitCode: exitCodes.failed,
  });
}
