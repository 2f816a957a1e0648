import { type Command, Option } from 'commander';
import {
  optionsFromFlags,
  type SandboxFlag,
  SandboxFlagError,
  type SandboxOptions,
  sandboxFlags,
} from '../../../sandbox/options.ts';
import type { CommandContext, RunCommand } from '../context.ts';
import { usageFailure } from '../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { withParts } from '../processes/running-parts.ts';
import { sandboxDocument, sandboxText } from '../processes/sandbox-text.ts';

export function addSandbox(parent: Command, run: RunCommand): void {
  const command = parent
    .command('sandbox')
    .description('A stand-in of the documentation service on this machine, with faults on demand');
  for (const flag of sandboxFlags) command.addOption(optionOf(flag));
  command.action((flags: Record<string, unknown>) => run((context) => runSandbox(context, flags)));
}

function optionOf({ flag, kind, description, default: initial }: SandboxFlag): Option {
  if (kind === 'boolean') return new Option(`--${flag}`, description);
  const shown = initial === '' ? description : `${description} (default: ${initial})`;
  return new Option(`--${flag} <${kind === 'string' ? 'text' : kind}>`, shown);
}

async function runSandbox({ output }: CommandContext, flags: Record<string, unknown>): Promise<ExitCode> {
  const options = readOptions(flags);
  return withParts(output, async (parts, interrupted) => {
    const { startSandboxPart } = await import('../processes/sandbox-part.ts');
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
