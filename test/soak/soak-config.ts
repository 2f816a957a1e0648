import type { Failover } from '../../src/temporal/rules/failover.ts';

/** The service's limit for each organization, which the configuration never exceeds. */
export const serviceBudget = { requests: 40, windowMs: 20_000 };
/** What the configuration says in turn. */
export const limits = [40, 24, 12] as const;

interface SoakOrganization {
  id: string;
  apiKey: string;
  /** The last one fits on a page, and has entries that cannot be understood: nothing of it is ever noted as gone. */
  projects: { id: string; entries: number }[];
  domains: string[];
}

export const organizations: SoakOrganization[] = ['acme', 'globex'].map((id) => ({
  id,
  apiKey: `dk_admin_sandbox_${id}_planted_key`,
  projects: [1_500, 800, 30].map((entries, number) => ({ id: `prj_${id}_${number + 1}`, entries })),
  domains: Array.from({ length: 4 }, (_, number) => `docs${number + 1}.${id}.example`),
}));

/** What changes while the soak goes on. */
export interface ChangingSettings {
  /** By organization. */
  requests: Record<string, number>;
  failover: Failover;
  /** A site that is not in the configuration for now. */
  without: string | null;
}

interface FixedSettings {
  temporalAddress: string;
  serviceUrl: string;
  feedback: string;
  /** On a small disk. */
  disk: string;
  webhook: { url: string; secret: string };
}

/** What no reader can understand, in the last project of each organization. */
export const unreadable = ['not an entry', null, { id: 12_345 }, { id: 'without-the-rest' }];

/** Folder of the site's target. */
export const releaseFolder = (disk: string, domain: string): string => `${disk}/released/${domain}`;

/** The text of docferry.yaml. */
export function soakConfig(fixed: FixedSettings, { requests, failover, without }: ChangingSettings): string {
  const { temporalAddress, serviceUrl, feedback, disk, webhook } = fixed;
  const listed = organizations.map(
    ({ id, apiKey, projects, domains }) => `  - id: ${id}
    apiKey: ${apiKey}
    budget: { requests: ${requests[id]}, window: ${serviceBudget.windowMs}ms, arrival: 5s }
    watchEvery: 10s
    webhooks: [{ name: ops, url: "${webhook.url}", secret: ${webhook.secret} }]
    projects:
${projects.map((project, _place) => `      - { id: ${project.id}, freshness: 2m }`).join('\n')}
    sites:
${domains
  .filter((domain) => domain !== without)
  .map(
    (domain, place) =>
      `      - { domain: ${domain}, lateAfter: 2m, ${place === 0 ? 'schedule: { every: 40s }, ' : ''}rollout: [{ directory: { path: "${releaseFolder(disk, domain)}" } }] }`,
  )
  .join('\n')}`,
  );
  return `temporal: { address: "${temporalAddress}", namespace: default, failover: ${failover} }
service: { baseUrl: "${serviceUrl}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
${listed.join('\n')}
store:
  feedback: "${feedback}"
  bundles: { directory: "${disk}/bundles" }
  keep: 4
`;
}
