import { resolve } from 'node:path';
import type { CommandContext, CommandFile } from '../context.ts';
import { type ExitCode, exitCodes, operationFailure } from '../failure.ts';
import { type RunningParts, withParts } from '../parts/running-parts.ts';
import { prepareDemoFolder, setStage, tellStory } from './demo-story.ts';
import { demoDocument, demoText, isWhole } from './demo-text.ts';

export default {
  demo: (command, run) =>
    command.option('--keep', 'keep everything running at the end, until Ctrl-C').action(run(runDemo)),
} satisfies CommandFile;

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
  const told = await parts.during(tellStory(output, stage, interrupted));
  output.result(demoDocument(stage, told), demoText(stage, told, { keep, paint: output.paint }));
  return isWhole(stage, told);
}
