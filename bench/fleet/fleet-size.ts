import type { Failover } from '../../src/temporal/rules/failover.ts';

/** How much is asked for at once. */
export interface FleetSize {
  sites: number;
  projects: number;
  organizations: number;
  /** Feedback entries of each project. */
  entries: number;
  jobSeconds: number;
  /** `temporal.failover` of docferry's workers. */
  failover: Failover;
}

/** The organization that has the sites. */
export const exportOrg = 'org1';

export const apiKeyOf = (org: string): string => `dk_admin_bench_${org}_planted_key`;

interface FleetOrganization {
  id: string;
  projects: string[];
  domains: string[];
}

/** The sites in the first organization, the projects spread over all of them. */
export function fleetOrganizations({ sites, projects, organizations }: FleetSize): FleetOrganization[] {
  return Array.from({ length: organizations }, (_, place) => ({
    id: `org${place + 1}`,
    projects: numbers(projects)
      .filter((number) => number % organizations === place)
      .map((number) => `prj_${number + 1}`),
    domains: place === 0 ? numbers(sites).map((number) => `docs${number + 1}.bench.example`) : [],
  }));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}
