import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { failureOf, key, load, minimal, organizationWith, problemsOf } from './config-folder.ts';

const validate = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false }).compile(configJsonSchema());

const many = `
service: { baseUrl: https://docs-service.example }
defaults:
  organizations: { budget: { requests: 60, window: 30m } }
  projects:
    weight: 2
    freshness: 7d
  sites:
    schedule: { every: 1d }
    approval: manual
    approvalTimeout: 2d
    job: { attempts: 5, timeout: 1h }
    bundle: { render: { pages: 5, sandbox: false } }
    rollout:
      - directory: { path: "./sites/{domain}" }
organizations:
  - id: acme
    apiKey: \${ACME_API_KEY}
    budget: { requests: 100 }
    projects:
      - { id: prj_1, name: Handbook }
      - id: prj_2
        weight: 3
        freshness: null
    sites:
      - domains: [docs1.acme.example, docs2.acme.example]
        job: { timeout: 2h }
      - domain: blog.acme.example
        approval: none
        schedule: { cron: "0 6 * * *" }
        bundle: { render: null }
        rollout:
          - helmValues: { file: deploy/values.yaml }
  - id: beta
    apiKey: \${ACME_API_KEY}
`;

describe('defaults and lists of domains', () => {
  it('merge mappings field by field, and let an entry replace lists and schedules and take a default away', () => {
    const config = load(many);
    const [acme, beta] = config.organizations;
    expect(acme?.budget).toMatchObject({ requests: 100, windowMs: 1_800_000 });
    expect(beta?.budget).toMatchObject({ requests: 60, windowMs: 1_800_000 });
    expect(acme?.projects).toEqual([
      {
        id: 'prj_1',
        name: 'Handbook',
        weight: 2,
        freshnessMs: 604_800_000,
      },
      { id: 'prj_2', weight: 3, freshnessMs: 86_400_000 },
    ]);
    const [first, second, blog] = acme?.sites ?? [];
    expect(first).toMatchObject({
      domain: 'docs1.acme.example',
      schedule: { everyMs: 86_400_000 },
      approval: { always: true, timeoutMs: 2 * 86_400_000 },
      job: { attempts: 5, timeoutMs: 7_200_000 },
      bundle: { render: { pages: 5, sandbox: false } },
    });
    expect(first?.rollout.map(({ name }) => name)).toEqual(['directory:./sites/docs1.acme.example']);
    expect({ ...second, domain: first?.domain, rollout: first?.rollout }).toEqual(first);
    expect(second?.rollout.map(({ name }) => name)).toEqual(['directory:./sites/docs2.acme.example']);
    expect(blog).toMatchObject({
      domain: 'blog.acme.example',
      approval: { always: false, timeoutMs: 2 * 86_400_000 },
      schedule: { cron: '0 6 * * *' },
      bundle: { render: null },
      rollout: [{ name: 'helmValues:deploy/values.yaml', place: { kind: 'helmValues' } }],
    });
  });

  it('mean the same as the file written out', () => {
    const site = (domain: string) =>
      `{ domain: ${domain}, job: { attempts: 2 }, rollout: [{ directory: { path: s/${domain} } }] }`;
    const long = load(organizationWith(`sites: [${site('a.example')}, ${site('b.example')}]`));
    const short = load(
      organizationWith(
        'sites: [{ domains: [a.example, b.example], job: { attempts: 2 }, rollout: [{ directory: { path: "s/{domain}" } }] }]',
      ),
    );
    const inOneFolder = (config: typeof long) =>
      JSON.stringify(config.organizations[0]?.sites).replaceAll(config.directory, '');
    expect(inOneFolder(short)).toEqual(inOneFolder(long));
    expect(inOneFolder(short)).toContain('"path":"/s/b.example"');
  });

  it('are known to editors', () => {
    expect([validate(parse(many)), validate.errors]).toEqual([true, null]);
    for (const wrong of [
      many.replace('job: { timeout: 2h }', 'domain: docs3.acme.example'),
      many.replace('[docs1.acme.example, docs2.acme.example]', '[]'),
      many.replace('approvalTimeout: 2d', 'domain: a.example'),
      many.replace('{ every: 1d }', '{ jitter: 1m }'),
    ]) {
      expect(validate(parse(wrong))).toBe(false);
      expect(problemsOf(wrong)).not.toEqual([]);
    }
  });

  it.each([
    ['attempts: 5', 'attempts: 0', 'defaults.sites.job.attempts (line 12, column 22): expected a whole number'],
    [
      '{ timeout: 2h }',
      '{ timeout: 2x }',
      'organizations[0].sites[0].job.timeout (line 27, column 25): expected a duration',
    ],
    [
      'docs2.acme.example',
      'https://docs2',
      'organizations[0].sites[0].domains[1] (line 26, column 39): expected a bare host name',
    ],
    [
      'sandbox: false',
      'sandbx: false',
      'defaults.sites.bundle.render.sandbx (line 13, column 35): unknown key; did you mean "sandbox"?',
    ],
    ['requests: 60', 'limit: 60', 'defaults.organizations.budget.limit (line 4, column 30): unknown key'],
    ['freshness: 7d', 'freshness: 7d\n    id: prj_9', 'defaults.projects.id (line 8, column 5): unknown key'],
    [
      'approvalTimeout: 2d',
      'approvalTimeout: 90d',
      'defaults.sites.approvalTimeout (line 11, column 22): expected a duration',
    ],
    [
      'sites/{domain}',
      'sites',
      'defaults.sites.rollout[0].directory.path (line 15, column 28): this folder is listed twice',
    ],
    [
      'domain: blog.acme.example',
      'domain: docs2.acme.example',
      'organizations[0].sites[1].domain (line 28, column 17): this domain is listed twice',
    ],
    [
      'sites/{domain}" }',
      '{domain}", mode: 7 }',
      'defaults.sites.rollout[0].directory.mode (line 15, column 42): unknown key',
    ],
    [
      '[docs1.acme.example, docs2.acme.example]',
      'docs1.acme.example',
      'organizations[0].sites[0].domains (line 26, column 18): expected a list of host names',
    ],
  ])('name the place as written: %s replaced by %s', (from, to, expected) => {
    const { message } = failureOf(() => load(many.replace(from, to)));
    const [, first, ...others] = message.split('\n');
    expect(first?.trim().slice(0, expected.length)).toBe(expected);
    expect(others).toEqual([]);
  });

  it('never show a secret of a webhook in the defaults', () => {
    const yaml = `${minimal}defaults: { organizations: { webhooks: [{ url: "https://hook.example/${key}", secret: ${key} }] } }\n`;
    const { message } = failureOf(() => load(yaml));
    expect(message).toContain('defaults.organizations.webhooks[0].secret (line 6, ');
    expect(message).not.toContain(key);
  });

  it('allow a thousand uses of one anchor', () => {
    const sites = Array.from({ length: 1_000 }, (_, index) => `{ domain: docs${index}.example, job: *job }`);
    const yaml = organizationWith(
      `sites:\n  - { domain: a.example, job: &job { attempts: 7 } }\n  - ${sites.join('\n  - ')}`,
    );
    expect(load(yaml).organizations[0]?.sites.every(({ job }) => job.attempts === 7)).toBe(true);
  });
});

describe('names of projects', () => {
  it('are unique within an organization', () => {
    const projects = 'projects: [{ id: a, name: Docs }, { id: b, name: Docs }]';
    expect(problemsOf(organizationWith(projects))).toEqual([
      'organizations[0].projects[1].name: this name is listed twice',
    ]);
    const isIdOfAnother = 'projects: [{ id: a, name: b }, { id: b }, { id: c, name: c }]';
    expect(problemsOf(organizationWith(isIdOfAnother))).toEqual([
      'organizations[0].projects[0].name: another project has this name as its id: commands could mean either',
    ]);
  });

  it.each(['"a/b"', '" a"', '""', '"a\\e[2Jb"', '7'])('are text for people: not %s', (name) => {
    expect(problemsOf(organizationWith(`projects: [{ id: a, name: ${name} }]`))[0]).toMatch(/expected a name of up to/);
  });
});
