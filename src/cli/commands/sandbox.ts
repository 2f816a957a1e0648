import { Option } from 'commander';
import type { Sandbox } from '../../../sandbox/index.ts';
import {
  optionsFromFlags,
  type SandboxFlag,
  SandboxFlagError,
  type SandboxOptions,
  sandboxFlags,
} from '../../../sandbox/options.ts';
import type { CommandContext, CommandFile } from '../context.ts';
import { type ExitCode, exitCodes, usageFailure } from '../failure.ts';
import { withParts } from '../parts/running-parts.ts';
import { startSandboxPart } from '../parts/sandbox-part.ts';
import { factLines } from '../terminal/text.ts';

export default {
  sandbox: (command, run) => {
    for (const flag of sandboxFlags) command.addOption(sandboxOption(flag));
    command.action(run(runSandbox));
  },
} satisfies CommandFile;

function sandboxOption({ flag, kind, description, default: initial }: SandboxFlag): Option {
  if (kind === 'boolean') return new Option(`--${flag}`, description);
  const shown = initial === '' ? description : `${description} (default: ${initial})`;
  return new Option(`--${flag} <${kind === 'string' ? 'text' : kind}>`, shown);
}

/** The sandbox's addresses and organizations, for scripts. Its keys are fakes. */
function sandboxDocument({ url, storageUrl, controlUrl, organizations }: Sandbox): object {
  return {
    url,
    storageUrl,
    controlUrl,
    organizations: organizations.map(({ id, apiKey, plan, projects, sites }) => ({
      id,
      apiKey,
      plan,
      projects: projects.map((project) => project.id),
      domains: sites.map(({ domain }) => domain),
    })),
  };
}

/** The same for people. */
function sandboxText({ url, storageUrl, controlUrl, organizations }: Sandbox): string {
  const facts: [string, string][] = [
    ['service', url],
    ['storage', storageUrl],
    ['faults', controlUrl],
  ];
  for (const { id, apiKey, projects, sites } of organizations) {
    facts.push([id, `key ${apiKey} (a fake)`]);
    facts.push(['', `projects ${projects.map((project) => project.id).join(', ')}`]);
    facts.push(['', `sites ${sites.map(({ domain }) => domain).join(', ')}`]);
  }
  return factLines(facts);
}

async function runSandbox({ output }: CommandContext, flags: Record<string, unknown>): Promise<ExitCode> {
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
