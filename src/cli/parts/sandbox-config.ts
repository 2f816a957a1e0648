/** What goes into a configuration for the sandbox on this machine. */
export interface SandboxPlaces {
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
