import { describe, expect, it } from 'vitest';
import { fleetOrganizations } from '../../../bench/fleet/fleet-size.ts';

const size = { sites: 3, projects: 5, organizations: 2, entries: 1, jobSeconds: 1, failover: 'tolerant' } as const;

describe('the fleet', () => {
  it('has every project once, spread over the organizations, and the sites in the first', () => {
    expect(fleetOrganizations(size)).toEqual([
      {
        id: 'org1',
        projects: ['prj_1', 'prj_3', 'prj_5'],
        domains: ['docs1.bench.example', 'docs2.bench.example', 'docs3.bench.example'],
      },
      { id: 'org2', projects: ['prj_2', 'prj_4'], domains: [] },
    ]);
  });
});
