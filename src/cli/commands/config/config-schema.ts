import { configJsonSchema } from '../../../config/json-schema.ts';
import type { CommandContext } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';

/** The document is the same with and without `--json`. */
export default async function printConfigSchema({ output }: CommandContext): Promise<ExitCode> {
  const document = configJsonSchema();
  output.result(document, JSON.stringify(document, null, 2));
  return exitCodes.done;
}
