import { optionsFromFlags, SandboxFlagError, type SandboxOptions } from '../../../sandbox/options.ts';
import type { CommandContext } from '../context.ts';
import { usageFailure } from '../cli-failure.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { withParts } from '../parts/running-parts.ts';
import { startSandboxPart } from '../parts/sandbox-part.ts';
import { sandboxDocument, sandboxText } from './sandbox-text.ts';

export default async function runSandbox(
  { output }: CommandContext,
  flags: Record<string, unknown>,
): Promise<ExitCode> {
  const options = readOptions(flags);
  return withParts(output, async (parts, interrupted) => {
    const { sandbox, part } = await startSandboxPart(options, { port: '--port', storagePort: '--storage-port' });
    parts.add(part);
    output.result(sandboxDocument(sandbox), `${sandboxText(sandbox)}\nsandbox: ready`);
    await parts.untilAborted(interrupted);
    return exitCodes.done;
  });
}

function readOptions(flags: Record<string, unknown>): SandboxOptions {
  try {
    return optionsFromFlags(flags);
  } catch (error) {
    if (error instanceof SandboxFlagError) throw usageFailure(error.message);
    throw error;
  }
}
