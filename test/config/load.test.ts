import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { configSchema } from '../../src/config/schema.ts';
import { failureOf, folderWith, key, load, minimal, organizationWith, problemsOf } from './config-folder.ts';

const designYaml = readFileSync(new URL('whole.yaml', import.meta.url), 'utf8');
const exampleYaml = readFileSync(new URL('../../docferry.example.yaml', import.meta.url), 'utf8');

describe('loadConfig', () => {
  it('reads the whole example', () => {
    const config = load(designYaml);
    const at = (relative: string) => path.join(config.directory, relative);
    expect(config).toMatchObject({
      file: at('docferry.yaml'),
      temporal: { address: 'localhost:7233', namespace: 'default', taskQueue: 'docferry', profile: null },
      worker: { downloads: 200, verifications: null, browsers: null },
      service: {
        baseUrl: 'https://docs-service.example',
        analyticsBaseUrl: 'https://docs-service.example',
        linkHosts: [],
        allowInsecure: false,
      },
      organizations: [
        {
          id: 'acme',
          budget: { requests: 100, windowMs: 3_600_000, reserve: 0, arrivalMs: 30_000 },
          refresh: { everyMs: 300_000, share: 0.5 },
          projects: [{ id: 'prj_1', weight: 1, freshnessMs: 86_400_000 }],
          sites: [
            {
              domain: 'docs.acme.example',
              schedule: { cron: '0 6 * * *', timezone: 'Europe/Berlin', jitterMs: 300_000 },
              job: { timeoutMs: 7_200_000, attempts: 3, startTimeoutMs: 3_600_000 },
              bundle: { maxBytes: 5 * 1024 ** 3, maxFiles: 200_000, rules: {}, render: null },
              rollout: [
                { name: 'directory:./site', place: { kind: 'directory', settings: { path: at('site') } } },
                {
                  name: 'helmValues:deploy/values.yaml',
                  place: { kind: 'helmValues', settings: { file: at('deploy/values.yaml'), key: 'staticExport' } },
                },
              ],
            },
          ],
        },
      ],
      store: {
        feedback: { kind: 'sqlite', file: at('data/feedback.db'), place: at('data/feedback.db'), sharedFolder: true },
        bundles: {
          kind: 'directory',
          directory: at('data/bundles'),
          publicUrl: 'http://localhost:8090',
          signing: null,
          server: { token: null, readers: 256, readersPerAddress: 64, idleMs: 30_000 },
        },
        keep: 10,
      },
    });
    expect(config.organizations[0]?.apiKey.read()).toBe(key);
  });

  it('reads the whole of a pipe, which gives its text in parts', () => {
    const sites = Array.from({ length: 4_000 }, (_, index) => `  - { domain: docs-${index}.acme.example }`);
    const cwd = folderWith({ 'whole.yaml': organizationWith(`sites:\n${sites.join('\n')}`) });
    execFileSync('mkfifo', [path.join(cwd, 'pipe')]);
    spawn('sh', ['-c', 'cat whole.yaml > pipe'], { cwd, stdio: 'ignore' });
    const config = loadConfig({ file: 'pipe', env: { ACME_API_KEY: key }, cwd, secrets: 'required' });
    expect(config.organizations[0]?.sites).toHaveLength(4_000);
  });

  it('keeps feedback fresh with half of the requests unless told otherwise, and not at all unless told', () => {
    const refreshOf = (more: string) => load(organizationWith(more)).organizations[0]?.refresh;
    expect(refreshOf('projects: [{ id: prj_1 }]')).toBeUndefined();
    expect(refreshOf('refresh: {}')).toEqual({ everyMs: 300_000, share: 0.5 });
    expect(refreshOf('refresh: { every: 1m, share: 12.5% }')).toEqual({ everyMs: 60_000, share: 0.125 });
    const projects = 'projects: [{ id: prj_1, atMost: 15m, weight: 2.5, freshness: 1h }]';
    expect(load(organizationWith(`refresh: {}\n${projects}`)).organizations[0]?.projects).toEqual([
      { id: 'prj_1', atMostMs: 900_000, weight: 2.5, freshnessMs: 3_600_000 },
    ]);
  });

  it('names everything that refresh has replaced in one problem, with the lines to paste', () => {
    const yaml = `${organizationWith('budget: { spare: verify }\nprojects: [{ id: p, sweep: { every: 7d } }, { id: q }]')}
defaults: { projects: { incremental: { every: 15m }, review: { cron: "@daily" } } }
`;
    const [problem, ...others] = failureOf(() => load(yaml)).problems;
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ path: 'defaults.projects.incremental', position: { line: 9 } });
    expect(problem?.message).toMatch(/remove these keys \(line 6, 7, 9\) and paste\n/);
    const pasted = problem?.message.split('paste\n')[1]?.replace(/^ {4}/gm, '') ?? '';
    expect(load(`${organizationWith('projects: [{ id: p }]')}${pasted}\n`).organizations[0]?.refresh).toEqual({
      everyMs: 300_000,
      share: 0.5,
    });
  });

  it('waits a week for an approval unless told otherwise', () => {
    const approvalOf = (more: string) =>
      load(organizationWith(`sites: [{ domain: docs.acme.example, ${more} }]`)).organizations[0]?.sites[0]?.approval;
    expect(approvalOf('approval: manual')).toEqual({ always: true, timeoutMs: 7 * 86_400_000 });
    expect(approvalOf('approval: manual, approvalTimeout: 90m')).toEqual({ always: true, timeoutMs: 90 * 60_000 });
    expect(approvalOf('approvalTimeout: 2d')).toEqual({ always: false, timeoutMs: 2 * 86_400_000 });
  });

  it('fills in the same defaults when they are left out', () => {
    const short = load(organizationWith('projects: [{ id: prj_1 }]\nsites: [{ domain: docs.acme.example }]'));
    const long = load(designYaml);
    const [organization, written] = [short.organizations[0], long.organizations[0]];
    expect(short.temporal).toEqual({ ...long.temporal, given: { address: false, namespace: false } });
    expect(organization?.budget).toEqual({ ...written?.budget, configuredAt: expect.any(Number) });
    expect(organization?.projects).toEqual([{ id: 'prj_1', weight: 1, freshnessMs: 86_400_000 }]);
    const { job, bundle } = written?.sites[0] ?? {};
    const never = { always: false, timeoutMs: 7 * 86_400_000 };
    expect(organization?.sites).toEqual([{ domain: 'docs.acme.example', job, bundle, approval: never, rollout: [] }]);
    const relative = ({ directory, store }: Config) =>
      store.bundles.kind === 'directory' && path.relative(directory, store.bundles.directory);
    expect(relative(short)).toBe(relative(long));
    expect(short.store.bundles.publicUrl).toBe(long.store.bundles.publicUrl);
    expect(short.store.keep).toBe(long.store.keep);
  });

  it('places an S3 store in its bucket, with a folder of this machine for what is on the way', () => {
    const s3 = '{ bucket: docs, prefix: a/b/, endpoint: "https://s3.example/", region: eu-central-1 }';
    const config = load(`${minimal}store: { bundles: { s3: ${s3}, publicUrl: "https://bundles.example/" } }\n`);
    expect(config.store.bundles).toMatchObject({
      kind: 's3',
      bucket: 'docs',
      prefix: 'a/b',
      endpoint: 'https://s3.example',
      region: 'eu-central-1',
      workFolder: path.join(config.directory, 'data/bundles-work'),
      publicUrl: 'https://bundles.example',
    });
    const short = load(`${minimal}store: { bundles: { s3: { bucket: docs } } }\n`).store.bundles;
    expect(short).toMatchObject({ kind: 's3', prefix: '' });
    expect(short).not.toHaveProperty('endpoint');
  });

  it('reads where versions are signed and what the bundle server asks for, without the values of secrets', () => {
    const signing = `signing: { keyFile: keys/docs.key, password: "\${DOCS_PASSWORD}" }`;
    const server = `server: { token: "\${DOCS_TOKEN}", readers: 8, readersPerAddress: 2, idle: 5s }`;
    const yaml = `${minimal}store: { bundles: { ${signing}, ${server} } }\n`;
    const config = load(yaml, { env: { ACME_API_KEY: key, DOCS_PASSWORD: 'hunter2', DOCS_TOKEN: 'swordfish' } });
    const { bundles } = config.store;
    expect(bundles.signing?.keyFile).toBe(path.join(config.directory, 'keys/docs.key'));
    expect([bundles.signing?.password?.read(), bundles.server.token?.read()]).toEqual(['hunter2', 'swordfish']);
    expect(bundles.server).toMatchObject({ readers: 8, readersPerAddress: 2, idleMs: 5_000 });
    expect(JSON.stringify(config)).not.toMatch(/hunter2|swordfish/);
    expect(problemsOf(yaml, { env: { ACME_API_KEY: key } })).toEqual([
      'store.bundles.signing.password: the environment variable DOCS_PASSWORD is not set',
    ]);
  });

  it('needs the headers of a check, as the worker sends them', () => {
    const check = `check: { url: "https://docs.acme.example/", headers: { authorization: "\${READER_TOKEN}" } }`;
    const yaml = minimal.replace(
      'apiKey:',
      `sites: [{ domain: docs.acme.example, rollout: [{ ${check} }] }]\n    apiKey:`,
    );
    expect(problemsOf(yaml)).toEqual([
      'organizations[0].sites[0].rollout[0].check.headers.authorization: the environment variable READER_TOKEN is not set',
    ]);
    const config = load(yaml, { env: { ACME_API_KEY: key, READER_TOKEN: 'Bearer swordfish' } });
    expect(JSON.stringify(config)).not.toContain('swordfish');
  });

  it('accepts the example file once its variable is set', () => {
    expect(load(exampleYaml).organizations[0]?.sites[0]?.domain).toBe('docs.acme.example');
    expect(problemsOf(exampleYaml, { env: {} })).toEqual([
      'organizations[0].apiKey: the environment variable ACME_API_KEY is not set',
    ]);
  });

  it('takes --config before DOCFERRY_CONFIG before ./docferry.yaml', () => {
    const named = (namespace: string) => `${minimal}temporal: { namespace: ${namespace} }\n`;
    const cwd = folderWith({
      'docferry.yaml': named('default-file'),
      'a.yaml': named('option'),
      'b.yaml': named('variable'),
    });
    const namespaceOf = (options: { file?: string; env: Record<string, string> }) =>
      loadConfig({ cwd, secrets: 'deferred', ...options }).temporal.namespace;
    expect(namespaceOf({ file: 'a.yaml', env: { DOCFERRY_CONFIG: 'b.yaml' } })).toBe('option');
    expect(namespaceOf({ env: { DOCFERRY_CONFIG: path.join(cwd, 'b.yaml') } })).toBe('variable');
    expect(namespaceOf({ env: {} })).toBe('default-file');
  });

  it("resolves paths against the file's folder, not the current one", () => {
    const folder = folderWith({ 'other.yaml': minimal });
    const config = loadConfig({ file: path.join(folder, 'other.yaml'), env: {}, cwd: '/', secrets: 'deferred' });
    expect(config.store.feedback.place).toBe(path.join(folder, 'data/feedback.db'));
  });

  it('names the file it looked for, and the next step, when there is none', () => {
    const cwd = folderWith({});
    const error = failureOf(() => loadConfig({ env: {}, cwd, secrets: 'required' }));
    expect(error.message).toContain(path.join(cwd, 'docferry.yaml'));
    expect(error.message).toContain('DOCFERRY_CONFIG');
    expect(error.hint).toContain('docferry config init');
  });

  it.each(['', '# nothing\n', '---\n'])('says that the file is empty: %j', (yaml) => {
    expect(problemsOf(yaml)).toEqual([': the file is empty']);
  });

  it('says that a folder is no file', () => {
    const cwd = folderWith({});
    expect(failureOf(() => loadConfig({ file: '.', env: {}, cwd, secrets: 'required' })).message).toMatch(
      /is a folder \(EISDIR\)/,
    );
  });

  it('names line and column of a YAML error without quoting the line', () => {
    const error = failureOf(() => load(`a: 1\nb: [1, 2\nc: ${key}: x\n`));
    expect(error.message).toMatch(/line \d+, column \d+: YAML: /);
    expect(error.message).not.toContain(key);
  });

  it(`says how to write \${NAME} inside braces`, () => {
    const error = failureOf(() => load(`service: { baseUrl: \${URL} }\n`));
    expect(error.hint).toContain('with quotes');
  });

  it('refuses keys listed twice, unknown tags and second documents', () => {
    expect(problemsOf(`${minimal}service: { baseUrl: https://b.example }\n`)[0]).toMatch(/unique/);
    expect(problemsOf(`${minimal}store: !custom {}\n`)[0]).toMatch(/tag/);
    expect(problemsOf(`${minimal}---\na: 1\n`)[0]).toMatch(/documents/);
  });

  it('does not unfold bombs and does not read huge or endless files', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i += 1)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(problemsOf(`${lines.join('\n')}\n`)).toEqual([': YAML: too many or unknown aliases']);
    expect(failureOf(() => load('['.repeat(200_000))).message).toMatch(/YAML/);
    expect(failureOf(() => load(`# ${'x'.repeat(1024 * 1024)}\n${minimal}`)).message).toMatch(/larger than 1 MiB/);
    expect(failureOf(() => load('', { file: '/dev/zero' })).message).toMatch(/larger than 1 MiB/);
  });

  it.each(['rollout: &r [*r]', 'rollout: [{ run: &r [*r] }]', 'bundle: &b { rules: *b }'])(
    'refuses an alias within what it refers to: %s',
    (field) => {
      const yaml = organizationWith(`sites: [{ domain: docs.acme.example, ${field} }]`);
      expect(problemsOf(yaml)).toEqual([': YAML: an alias stands within what it refers to']);
    },
  );

  it('has a schema that can be written as JSON Schema', () => {
    const schema = z.toJSONSchema(configSchema, { io: 'input' });
    expect(schema).toMatchObject({ required: ['service', 'organizations'], additionalProperties: false });
  });
});
