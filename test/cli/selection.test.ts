import { describe, expect, it } from 'vitest';
import { findProject, findSite, globOf, selected } from '../../src/cli/flags.ts';
import type { Config } from '../../src/config/config.ts';

const organization = (id: string, domains: string[], projects: string[]) => ({
  id,
  sites: domains.map((domain) => ({ domain })),
  projects: projects.map((project) => ({ id: project })),
});
const config = {
  file: 'docferry.yaml',
  organizations: [
    organization('acme', ['docs.acme.example', 'docs2.acme.example', 'api.acme.example'], ['prj_1']),
    organization('globex', ['docs.globex.example'], ['prj_2']),
  ],
} as unknown as Config;

describe('--org and --match', () => {
  it.each([
    [{}, 4, 2],
    [{ org: 'acme' }, 3, 1],
    [{ match: 'docs*.acme.example' }, 2, 0],
    [{ match: 'DOCS.*' }, 2, 0],
    [{ match: '{docs,api}.acme.example' }, 2, 0],
    [{ match: 'acme/*' }, 3, 1],
    [{ match: '*/prj_?' }, 0, 2],
    [{ org: 'globex', match: 'docs.*' }, 1, 0],
    [{ match: '!docs.*' }, 0, 0],
  ])('%j leave %d sites and %d projects', (flags, sites, projects) => {
    const chosen = selected(config, flags);
    expect([chosen.sites.length, chosen.projects.length]).toEqual([sites, projects]);
  });

  it.each(['[', 'docs]', '{docs,api', 'a[b'])('refuse %s, which is no pattern', (match) => {
    expect(() => selected(config, { match })).toThrow(`--match is "${match}": a bracket in it is not closed`);
    expect(() => globOf(match)).toThrow('a bracket in it is not closed');
  });

  it('refuse an organization that is not configured', () => {
    expect(() => selected(config, { org: 'nobody' })).toThrow('nobody is not an organization');
  });
});

it('a name that is nearly one of the configuration is met with that one', () => {
  const said = (find: () => unknown) => {
    try {
      find();
    } catch (error) {
      return (error as { hint: string }).hint;
    }
    return null;
  };
  expect(said(() => findSite(config, 'dcs.acme.example'))).toBe('did you mean docs.acme.example?');
  expect(said(() => findSite(config, 'Docs'))).toBe('did you mean docs.acme.example?');
  expect(said(() => findProject(config, 'prj_11'))).toMatch(/^did you mean acme\/prj_1\?$/);
  expect(said(() => findProject(config, 'globex/prj_1'))).toBe('did you mean globex/prj_2?');
  expect(said(() => findProject(config, 'globx/prj_1'))).toMatch(/^did you mean globex\/prj_2\?$/);
  expect(said(() => selected(config, { org: 'acmee' }))).toMatch(/^did you mean acme\?$/);
  expect(said(() => findSite(config, 'something.else'))).toMatch(/^configured sites: /);
});
