import { Option } from 'commander';
import { type Sandbox, startSandbox } from '../../../sandbox/index.ts';
import {
  optionsFromFlags,
  type SandboxFlag,
  SandboxFlagError,
  type SandboxOptions,
  sandboxFlags,
} from '../../../sandbox/options.ts';
import { assertPortFree } from '../../local/ports.ts';
import { type CommandContext, type CommandFile, type ExitCode, usageFailure } from '../context.ts';
import { never, type Part, withParts } from '../parts.ts';
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

/** Starts the sandbox in this process; `flags` are the options that change its ports. Throws `PortTaken`. */
export async function startSandboxPart(
  options: SandboxOptions,
  flags: { port: string; storagePort: string },
): Promise<{ sandbox: Sandbox; part: Part }> {
  const { port = 0, storagePort = 0 } = options;
  if (port !== 0) await assertPortFree(port, flags.port);
  if (storagePort !== 0) await assertPortFree(storagePort, flags.storagePort);
  try {
    const sandbox = await startSandbox(options);
    return { sandbox, part: { name: 'the sandbox', ended: never, stop: () => sandbox.stop() } };
  } catch (error) {
    // An error without a system code is the sandbox refusing an option.
    if (error instanceof Error && !('code' in error)) throw usageFailure(error.message);
    throw error;
  }
}

/** What goes into a configuration for the sandbox on this machine. */
interface SandboxPlaces {
  temporalPort: number;
  sandboxPort: number;
  bundlePort: number;
  budget: { requests: number; window: string };
}

/** Default ports and files of `up --sandbox`. */
export const usualSandbox: SandboxPlaces = {
  temporalPort: 7233,
  sandboxPort: 8787,
  bundlePort: 8090,
  budget: { requests: 100, window: '1h' },
};

/** The organization, project and site that the sandbox has by default, and the key it expects. */
export const sandboxOrganization = {
  id: 'acme',
  project: 'prj_1',
  domain: 'docs.acme.example',
  apiKey: 'dk_admin_sandbox_acme_planted_key',
} as const;

/** A docferry.yaml for the sandbox: everything on loopback, with a fake key. */
export function sandboxConfigText({ temporalPort, sandboxPort, bundlePort, budget }: SandboxPlaces): string {
  const { id, project, domain, apiKey } = sandboxOrganization;
  return `# Made by docferry for its sandbox, a stand-in for the documentation service on this machine.
temporal: { address: "127.0.0.1:${temporalPort}" }
service:
  baseUrl: http://127.0.0.1:${sandboxPort}
  linkHosts: [127.0.0.1]
  allowInsecure: true
organizations:
  - id: ${id}
    apiKey: ${apiKey}
    budget: { requests: ${budget.requests}, window: ${budget.window} }
    refresh: { every: 1m, share: 50% } # reads what has gathered the most staleness
    projects:
      - id: ${project}
    sites:
      - domain: ${domain}
        rollout:
          - directory: { path: ./site }
console: { write: true }
store:
  feedback: sqlite:./data/feedback.db
  bundles: { directory: ./data/bundles, publicUrl: "http://127.0.0.1:${bundlePort}" }
`;
}
