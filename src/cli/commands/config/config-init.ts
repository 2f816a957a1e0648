import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configJsonSchema } from '../../../config/json-schema.ts';
import { errorCode } from '../../../files.ts';
import { type CommandContext, type CommandFile, operationFailure, usageFailure } from '../../context.ts';
import { readPackageFile } from '../../package-file.ts';
import { isToStdout, replaceOutput } from '../../terminal/files.ts';
import { sandboxConfigText, usualSandbox } from '../sandbox.ts';

export default {
  init: (command, run) =>
    command
      .option('--out <file>', 'file to write, - for stdout; default: the file that the other commands read')
      .option('--trial, --sandbox', 'what `up --sandbox` writes, instead of an example for a real service')
      .option('--force', 'replace an existing file')
      .action(run(writeExampleConfig)),
  schema: (command, run) => command.action(run(printConfigSchema)),
} satisfies CommandFile;

interface InitFlags {
  out?: string;
  force?: boolean;
  sandbox?: boolean;
}

async function writeExampleConfig({ output, configFile, env, cwd }: CommandContext, flags: InitFlags): Promise<void> {
  const named = flags.out ?? configFile ?? (env.DOCFERRY_CONFIG || 'docferry.yaml');
  const file = resolve(cwd, named);
  const example = flags.sandbox ? sandboxConfigText(usualSandbox) : exampleText();
  if (isToStdout(named, output)) {
    await output.data(example);
    return;
  }
  const writing = flags.force ? replaceOutput('--out', file, example) : writeFile(file, example, { flag: 'wx' });
  await writing.catch((error: unknown) => {
    throw explained(named, error);
  });
  const next = flags.sandbox
    ? 'run `docferry up --sandbox`'
    : 'edit it, set ACME_API_KEY, and check it with `docferry config check`';
  output.result({ out: file }, `${named}: written\n${next}`);
}

function exampleText(): string {
  const text = readPackageFile('docferry.example.yaml');
  if (text !== null) return text;
  throw operationFailure('Failed', 'docferry.example.yaml is missing', 'this installation is damaged: reinstall it');
}

function explained(named: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EACCES' || code === 'EPERM') {
    return usageFailure(`${named} cannot be written: no permission`, 'name another file with --out');
  }
  if (code === 'EEXIST') {
    return usageFailure(`${named} already exists`, 'replace it with --force, or name another file with --out');
  }
  if (code === 'ENOENT') return usageFailure(`${named}: its folder does not exist`, 'create the folder first');
  return error;
}

/** The document is the same with and without `--json`. */
async function printConfigSchema({ output }: CommandContext): Promise<void> {
  const document = configJsonSchema();
  output.result(document, JSON.stringify(document, null, 2));
}
