import type { Command } from 'commander';
import type { CommandContext, RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';

export function addConfigSchema(parent: Command, run: RunCommand): void {
  parent
    .command('schema')
    .description('Print the JSON Schema of the configuration, for editors')
    .action(() => run(schema));
}

/** The document is the same with and without `--json`. */
async function schema({ output }: CommandContext): Promise<ExitCode> {
  const { configJsonSchema } = await import('../../../config/json-schema.ts');
  const document = configJsonSchema();
  output.result(document, JSON.stringify(document, null, 2));
  return exitCodes.done;
}
