import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext, RunCommand } from '../../context.ts';
import { CliFailure, usageFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { readPackageFile } from '../../input/package-file.ts';
import { replaceOutput } from '../../terminal/replace-output.ts';
import { stdoutName } from '../../terminal/write-out.ts';

interface InitFlags {
  out?: string;
  force?: boolean;
}

export function addConfigInit(parent: Command, run: RunCommand): void {
  parent
    .command('init')
    .description('Write an example of a configuration to begin with')
    .option('--out <file>', 'what to write; - for stdout; default: the file that the other commands read')
    .option('--force', 'replace a file that is there')
    .action((flags: InitFlags) => run((context) => init(context, flags)));
}

async function init({ output, configFile, env, cwd }: CommandContext, flags: InitFlags): Promise<ExitCode> {
  const named = flags.out ?? configFile ?? (env.DOCFERRY_CONFIG || 'docferry.yaml');
  const file = resolve(cwd, named);
  const example = exampleText();
  if (named === stdoutName) {
    if (output.json) throw usageFailure('--out - and --json both want stdout', 'name a file with --out');
    await output.data(example);
    return exitCodes.done;
  }
  if (flags.force) {
    await replaceOutput('--out', file, one(example));
  } else {
    await writeFile(file, example, { flag: 'wx' }).catch((error: unknown) => {
      throw explained(named, error);
    });
  }
  const next = 'adapt it, set ACME_API_KEY, and check it with `docferry config check`';
  output.result({ out: file }, `${named}: written\n${next}`);
  return exitCodes.done;
}

/** The example that comes with the package is the only one there is. */
function exampleText(): string {
  const text = readPackageFile('docferry.example.yaml');
  if (text !== null) return text;
  throw new CliFailure({
    code: 'Failed',
    message: 'docferry.example.yaml is missing',
    hint: 'this installation is damaged: install it again',
    exitCode: exitCodes.failed,
  });
}

async function* one(text: string): AsyncGenerator<string, void, undefined> {
  yield text;
}

function explained(named: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EEXIST') {
    return usageFailure(`there is a ${named} already`, 'replace it with --force, or name another file with --out');
  }
  if (code === 'ENOENT') return usageFailure(`${named}: there is no such folder`, 'make the folder first');
  return error;
}
