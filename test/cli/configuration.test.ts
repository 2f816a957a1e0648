import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { configText, docferry, docferryJson, emptyFolder, folderWithConfig } from '../tools/cli/run-docferry.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('config check', () => {
  it('shows what the configuration means', async () => {
    const cwd = await folderWithConfig();
    const { exitCode, document, stderr } = await docferryJson(['config', 'check'], { cwd });
    expect(exitCode).toBe(0);
    const inFile = `acme: the configuration file contains the key itself; \${ACME_API_KEY} or apiKeyFile keeps it out`;
    expect(stderr).toBe(`warning: ${inFile}\n`);
    expect(document).toMatchObject({
      ok: true,
      file: join(cwd, 'docferry.yaml'),
      organizations: [{ id: 'acme', projects: ['prj_1'], sites: [{ domain: 'docs.acme.example', rollouts: [] }] }],
    });
    const { stdout } = await docferry(['config', 'check'], { cwd });
    expect(stdout).toContain('budget 40 requests in 30 min, 4 left to others');
  });

  it("names the Temporal that commands use, which Temporal's own variables may name", async () => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'prod.example:7233');
    vi.stubEnv('TEMPORAL_NAMESPACE', 'prod');
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'docferry.yaml'), configText({}).replace(/^temporal: .*\n/, ''));
    const { document } = await docferryJson(['config', 'check'], { cwd });
    expect(document.temporal).toEqual({ address: 'prod.example:7233', namespace: 'prod', taskQueue: 'docferry' });
    const { stdout } = await docferry(['config', 'check'], { cwd });
    expect(stdout).toContain('prod.example:7233, namespace prod, task queue docferry');
  });

  it('never prints an API key', async () => {
    const cwd = await folderWithConfig();
    for (const args of [
      ['config', 'check'],
      ['config', 'check', '--json'],
      ['config', 'check', '--expand'],
      ['config', 'check', '--expand', '--json'],
    ]) {
      const { stdout, stderr } = await docferry(args, { cwd });
      expect(stdout + stderr).not.toContain('dk_admin_secret_of_acme');
    }
  });

  it('prints the file written out with --expand: an entry for each site, with everything it gets from defaults', async () => {
    const cwd = await folderWithConfig({
      organizations: `  - id: acme
    apiKey: \${ACME_API_KEY}
    refresh: { every: 90s, share: 12.5% }
    webhooks:
      - { url: "https://hooks.acme.example/x", format: slack, events: [feedback.entries], entries: { helpful: false }, digest: Mon 9:00 }
    projects: [{ id: prj_1, name: Handbook, atMost: 90m }]
    sites: [{ domains: [docs1.acme.example, docs2.acme.example], rollout: [{ directory: { path: "{domain}" } }] }]
defaults: { organizations: { budget: { window: 30m } }, sites: { approval: manual } }
`,
    });
    const options = { cwd, env: { ACME_API_KEY: 'dk_admin_secret_of_acme' } };
    const { document } = await docferryJson(['config', 'check', '--expand'], options);
    const site = (domain: string) => ({
      domain,
      approval: 'manual',
      approvalTimeout: '7d',
      bundle: { maxBytes: 5 * 1024 ** 3, rules: { 'no-page': 'refuse', 'no-404-page': 'off' } },
      rollout: [{ directory: { path: join(cwd, domain) } }],
    });
    expect(document).toMatchObject({
      organizations: [
        {
          apiKey: 'the environment variable ACME_API_KEY',
          budget: { requests: 100, window: '30m' },
          refresh: { every: '90s', share: '12.5%' },
          webhooks: [{ name: 'default', secret: null, entries: { helpful: false }, digest: 'Mon 09:00' }],
          projects: [{ id: 'prj_1', name: 'Handbook', atMost: '90m', weight: 1, freshness: '1d' }],
          sites: [site('docs1.acme.example'), site('docs2.acme.example')],
        },
      ],
      worker: { downloads: 200, verifications: null, browsers: null },
      console: { write: false, idle: '8h', operators: { groups: [], logins: [] } },
      gateway: { clients: [] },
    });
    const { stdout } = await docferry(['config', 'check', '--expand'], options);
    expect(parse(stdout)).toEqual(document);
    expect((await docferry(['config', 'check'], options)).stdout).toContain('projects prj_1 “Handbook”');
  });

  it('reads the file that --config or DOCFERRY_CONFIG names', async () => {
    const folder = await folderWithConfig();
    const file = join(folder, 'docferry.yaml');
    const runs = [
      docferry(['config', 'check', '--config', file]),
      docferry(['config', 'check'], { env: { DOCFERRY_CONFIG: file } }),
    ];
    for (const { exitCode } of await Promise.all(runs)) expect(exitCode).toBe(0);
  });

  it('names the field that is wrong', async () => {
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'docferry.yaml'), configText({}).replace('requests: 40', 'requests: many'));
    const { exitCode, document } = await docferryJson(['config', 'check'], { cwd });
    expect(exitCode).toBe(2);
    expect(document).toHaveProperty('error.code', 'InvalidConfiguration');
    expect(document).toHaveProperty('error.message', expect.stringContaining('organizations[0].budget.requests'));
  });

  it('requires the API keys, which commands that need none do not', async () => {
    const cwd = await emptyFolder();
    const text = configText({}).replace('dk_admin_secret_of_acme', `\${ACME_API_KEY}`);
    await writeFile(join(cwd, 'docferry.yaml'), text);
    const check = await docferryJson(['config', 'check'], { cwd });
    expect(check.exitCode).toBe(2);
    expect(check.document).toHaveProperty('error.message', expect.stringContaining('ACME_API_KEY'));
    expect((await docferry(['export', 'versions', 'docs.acme.example'], { cwd })).exitCode).toBe(0);
  });
});

describe('a missing configuration', () => {
  it('is exit code 2 with the next step, for every command that needs one', async () => {
    const needing = [
      ['config', 'check'],
      ['up'],
      ['worker'],
      ['serve'],
      ['export', 'start', 'docs.acme.example'],
      ['feedback', 'status'],
      ['budget', 'show'],
    ];
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const taken = ['up', '--bundle-port', String((other.address() as AddressInfo).port)];
    const runs = await Promise.all([...needing, taken].map((args) => docferryJson(args)));
    other.close();
    for (const { exitCode, document } of runs) {
      expect(exitCode).toBe(2);
      expect(document).toHaveProperty('error.message', expect.stringContaining('docferry.yaml'));
      expect(document).toHaveProperty('error.hint', expect.stringContaining('--config'));
    }
  });
});
