import type { Sandbox } from '../../../sandbox/index.ts';
import { factLines } from '../terminal/text.ts';

/** The sandbox's addresses and organizations, for scripts. Its keys are fakes. */
export function sandboxDocument({ url, storageUrl, controlUrl, organizations }: Sandbox): object {
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
export function sandboxText({ url, storageUrl, controlUrl, organizations }: Sandbox): string {
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
