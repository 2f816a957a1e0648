import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/index.ts';
import { assertPortFree } from '../../local/ports.ts';
import { usageFailure } from '../failure.ts';
import { never, type Part } from './running-parts.ts';

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

/** Where `up --sandbox` has everything unless told otherwise. */
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
    projects:
      - id: ${project}
    sites:
      - domain: ${domain}
        rollout:
          - directory: { path: ./site }
store:
  feedback: sqlite:./data/feedback.db
  bundles: { directory: ./data/bundles, publicUrl: "http://127.0.0.1:${bundlePort}" }
`;
}
