import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { complaintAbout } from '../docs/check-command.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { type Container, type PodSpec, type Resource, usableValues } from './docferry-chart.ts';
import { helm, helmPath, renderChart } from './helm.ts';

const chart = fileURLToPath(new URL('../../deploy/helm', import.meta.url));

async function render(changes: object = {}): Promise<Resource[]> {
  const file = join(await tempFolder(), 'changes.yaml');
  await writeFile(file, stringify({ ...usableValues, ...changes }));
  return renderChart<Resource>('docferry', chart, '--values', file);
}

const ofKind = (resources: readonly Resource[], kind: string) => resources.filter((one) => one.kind === kind);
const namesOf = (resources: readonly Resource[], kind: string) =>
  ofKind(resources, kind).map(({ metadata }) => metadata.name);
const podsOf = (resources: readonly Resource[]): [string, PodSpec][] =>
  ofKind(resources, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.template.spec]);
const containersOf = ({ initContainers = [], containers }: PodSpec): Container[] => [...initContainers, ...containers];
const secretsOf = (pod: PodSpec) =>
  containersOf(pod).flatMap(({ envFrom = [] }) => envFrom.map(({ secretRef }) => secretRef.name));

const gateway = { gateway: { replicas: 2, secrets: ['keys', 'tokens'] } };
const oidc = { issuer: 'https://login.acme.example', clientId: 'docferry', clientSecret: `\${OIDC_SECRET}` };
const withConsole = {
  config: { ...usableValues.config, console: { url: 'https://docferry.acme.example', oidc } },
  console: { replicas: 1, secrets: ['postgres', 'oidc'] },
};
const split = { workers: { all: { replicas: 0 }, short: { replicas: 2 }, bulk: { replicas: 3 } } };

describe.skipIf(helmPath === null)('the chart of docferry', () => {
  it('is of this version, and helm finds nothing wrong with it', async () => {
    const file = join(await tempFolder(), 'values.yaml');
    await writeFile(file, stringify(usableValues));
    expect(await helm('lint', '--strict', '--kube-version', '1.33.0', chart, '--values', file)).toContain(
      '0 chart(s) failed',
    );
    const { appVersion }: { appVersion: string } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
    expect(appVersion).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
  });

  it('runs workers for all work and a bundle server, unless told otherwise', async () => {
    expect(namesOf(await render(), 'Deployment')).toEqual(['docferry-worker', 'docferry-bundles']);
    const without = await render({ bundles: { replicas: 0 }, ...gateway });
    expect(namesOf(without, 'Deployment')).toEqual(['docferry-worker', 'docferry-gateway']);
    expect(namesOf(without, 'Service')).toEqual(['docferry-gateway']);
  });

  it('gives docferry command lines that it understands, and ports that they open', async () => {
    const deployment = { name: 'docferry', build: '1.5.0' };
    const given = [
      ...podsOf(await render(gateway)),
      ...podsOf(await render({ workers: { ...split.workers, deployment } })),
      ...podsOf(await render({ ...withConsole, bundles: { replicas: 0 } })),
    ];
    const commands = given.flatMap(([, pod]) => containersOf(pod).map(({ args }) => args));
    expect(commands.map((args) => args.slice(0, 1).join())).toEqual([
      'setup',
      'worker',
      'serve',
      'gateway',
      'setup',
      'worker',
      'setup',
      'worker',
      'serve',
      'setup',
      'worker',
      'console',
    ]);
    for (const args of commands) expect(await complaintAbout(args), args.join(' ')).toBeNull();
    for (const container of given.flatMap(([, pod]) => pod.containers)) {
      const opened = container.args.flatMap((arg) => /^(?:0\.0\.0\.0:)?(\d{4,5})$/.exec(arg)?.[1] ?? []).map(Number);
      expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(opened);
    }
  });

  it('runs one console for people who sign in by a proxy or provider, without API keys', async () => {
    const resources = await render({ ...withConsole, workers: { secrets: ['keys'] } });
    expect(namesOf(resources, 'Service')).toContain('docferry-console');
    expect(namesOf(resources, 'NetworkPolicy')).toContain('docferry-console');
    const pod = new Map(podsOf(resources)).get('docferry-console');
    expect(pod?.containers[0]?.args).toEqual(['console', '--host', '0.0.0.0', '--port', '8088', '--no-link']);
    expect(pod && secretsOf(pod)).toEqual(['postgres', 'oidc']);
    await expect(render({ console: { replicas: 1 } })).rejects.toThrow('nobody could sign in to the console');
    await expect(render({ ...withConsole, console: { replicas: 2 } })).rejects.toThrow('replicas');
  });

  it('splits the work over two Deployments, as builds of a Worker Deployment if wanted', async () => {
    const workersOf = async (deployment: object) => {
      const pods = podsOf(await render({ workers: { ...split.workers, deployment } }));
      const argsOf = (name: string) => pods.find(([one]) => one === name)?.[1].containers[0]?.args.join(' ');
      return ['docferry-worker', 'docferry-worker-short', 'docferry-worker-bulk'].map(argsOf);
    };
    expect(await workersOf({ name: 'd', build: 'b1' })).toEqual([
      undefined,
      expect.stringContaining('--only short --deployment d --build b1'),
      expect.stringContaining('--only bulk --deployment d --build b1'),
    ]);
    // The worker names its build.
    for (const args of (await workersOf({ name: 'd' })).slice(1)) expect(args).toMatch(/ --deployment d (?!--build)/);
  });

  it('keeps root, the service account, the root file system and capabilities from every container', async () => {
    for (const [name, pod] of podsOf(await render(gateway))) {
      expect(pod, name).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const { securityContext } of containersOf(pod)) {
        expect(securityContext, name).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  it('probes each process on a port that it has, and gives it the time that a worker needs to end', async () => {
    for (const [name, pod] of podsOf(await render({ ...gateway, ...withConsole }))) {
      expect(pod.terminationGracePeriodSeconds, name).toBeGreaterThan(20);
      // A worker may wait for the deletion of words for two minutes before it takes work.
      for (const { startupProbe } of pod.containers) {
        expect(startupProbe.periodSeconds * startupProbe.failureThreshold, name).toBeGreaterThan(180);
      }
      for (const { ports, startupProbe, livenessProbe, readinessProbe } of pod.containers) {
        for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
          const { port, path } = probe.httpGet ?? { ...probe.tcpSocket, path: null };
          expect(
            ports.map((one) => one.name),
            name,
          ).toContain(port);
          expect(path, name).toBe(/gateway|console/.test(name) ? null : '/healthz');
        }
      }
    }
  });

  it('writes a docferry.yaml that docferry can use, and replaces the pods when it changes', async () => {
    const resources = await render();
    const file = join(await tempFolder(), 'docferry.yaml');
    await writeFile(file, ofKind(resources, 'ConfigMap')[0]?.data?.['docferry.yaml'] ?? '');
    const env = { ACME_API_KEY: 'k', PG_PASSWORD: 'p' };
    const config = loadConfig({ file, env, cwd: process.cwd(), secrets: 'required' });
    expect(config.organizations.map(({ id }) => id)).toEqual(['acme']);
    expect(config.organizations[0]?.sites[0]?.bundle.maxFiles).toBe(200_000);

    const checksums = (from: readonly Resource[]) =>
      ofKind(from, 'Deployment').map(({ spec }) => spec.template.metadata.annotations['checksum/config']);
    const changed = { ...usableValues.config, service: { baseUrl: 'https://other.example' } };
    expect(checksums(await render(gateway)).slice(0, 2)).toEqual(checksums(resources));
    expect(checksums(await render({ config: changed }))).not.toEqual(checksums(resources));
  });

  it('takes the values of the page about production', async () => {
    const page = readFileSync('docs/production.md', 'utf8');
    const values: object = parse(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
    const resources = await render(values);
    const file = join(await tempFolder(), 'docferry.yaml');
    await writeFile(file, ofKind(resources, 'ConfigMap')[0]?.data?.['docferry.yaml'] ?? '');
    const env = { ACME_API_KEY: 'k', PG_PASSWORD: 'p' };
    const { worker } = loadConfig({ file, env, cwd: process.cwd(), secrets: 'required' });
    expect(worker).toMatchObject({ verifications: 1, browsers: 1 });
    expect(JSON.stringify(resources)).toContain('registry.acme.example/docferry:');
  });

  it('names secrets of yours only, and gives the API keys to workers and the gateway alone', async () => {
    const workers = { secrets: ['keys', 'postgres'] };
    const secretFiles = { existingSecret: 'files', mountPath: '/run/secrets/docferry' };
    const resources = await render({ workers, ...gateway, secretFiles, bundles: { secrets: ['token'] } });
    expect(namesOf(resources, 'Secret')).toEqual([]);
    const pods = new Map(podsOf(resources));
    expect([...pods].map(([name, pod]) => [name, [...new Set(secretsOf(pod))]])).toEqual([
      ['docferry-worker', ['keys', 'postgres']],
      ['docferry-bundles', ['token']],
      ['docferry-gateway', ['keys', 'tokens']],
    ]);
    const withFiles = [...pods].filter(([, { volumes }]) =>
      volumes.some(({ secret }) => secret?.secretName === 'files'),
    );
    expect(withFiles.map(([name]) => name)).toEqual(['docferry-worker', 'docferry-gateway']);
  });

  it("gives the keys of encryption and Temporal's certificates to all that connect to Temporal", async () => {
    const temporalFiles = { existingSecret: 'temporal', mountPath: '/run/secrets/temporal' };
    const pods = podsOf(await render({ ...gateway, ...withConsole, temporalFiles }));
    const mounting = pods.map(([name, pod]) => {
      const volume = pod.volumes.find(({ secret }) => secret?.secretName === 'temporal')?.name;
      const mounts = containersOf(pod).map(({ volumeMounts }) => volumeMounts.find((one) => one.name === volume));
      return [name, mounts.map((mount) => mount?.mountPath ?? null)];
    });
    expect(Object.fromEntries(mounting)).toEqual({
      'docferry-worker': ['/run/secrets/temporal', '/run/secrets/temporal'],
      'docferry-bundles': [null],
      'docferry-gateway': ['/run/secrets/temporal'],
      'docferry-console': ['/run/secrets/temporal'],
    });
  });

  it('keeps data in a claim of yours, and else in a folder that ends with the pod', async () => {
    const dataOf = async (changes: object) =>
      podsOf(await render(changes)).map(([, { volumes }]) => volumes.find(({ name }) => name === 'data'));
    expect(await dataOf({})).toContainEqual({ name: 'data', emptyDir: { sizeLimit: '20Gi' } });
    const store = { feedback: 'sqlite:/data/feedback.db', bundles: { directory: '/data/bundles' } };
    const claimed = { data: { existingClaim: 'docferry' }, config: { ...usableValues.config, store } };
    expect(await dataOf(claimed)).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: 'docferry' } });
  });

  it('bounds disruptions where several pods do the same', async () => {
    expect(namesOf(await render(gateway), 'PodDisruptionBudget')).toEqual(['docferry-worker', 'docferry-gateway']);
    const single = { workers: { all: { replicas: 1 } } };
    expect(namesOf(await render(single), 'PodDisruptionBudget')).toEqual([]);
  });

  it('lets only those in that are named, and nothing out but to the named ports', async () => {
    const operators = [{ namespaceSelector: { matchLabels: { team: 'sre' } } }];
    const networkPolicy = { from: { metrics: operators, bundles: [] }, egressPorts: [443] };
    const policies = ofKind(await render({ networkPolicy, ...gateway }), 'NetworkPolicy');
    const summary = policies.map(({ metadata, spec }) => [metadata.name, spec.ingress ?? []]);
    expect(summary).toEqual([
      ['docferry-worker', [{ from: operators, ports: [{ protocol: 'TCP', port: 'metrics' }] }]],
      ['docferry-bundles', []],
      [
        'docferry-gateway',
        [
          { from: operators, ports: [{ protocol: 'TCP', port: 'metrics' }] },
          { from: [{ podSelector: {} }], ports: [{ protocol: 'TCP', port: 'http' }] },
        ],
      ],
    ]);
    for (const { spec } of policies) {
      expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
      expect(spec.egress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53, 443]);
    }
    expect(namesOf(await render({ networkPolicy: { enabled: false } }), 'NetworkPolicy')).toEqual([]);
  });

  it('has no metrics when they are off, and a PodMonitor when it is wanted', async () => {
    const off = await render({ metrics: { enabled: false, podMonitor: true }, ...gateway });
    expect(namesOf(off, 'PodMonitor')).toEqual([]);
    expect(JSON.stringify(podsOf(off))).not.toContain('metrics');
    expect(namesOf(await render({ metrics: { podMonitor: true } }), 'PodMonitor')).toEqual(['docferry']);
  });

  const { config } = usableValues;
  const { bundles } = config.store;
  const claim = { data: { existingClaim: 'docferry' } };
  it.each([
    ['organizations', { config: { service: config.service } }],
    ['apiKey', { config: { ...config, organizations: [{ id: 'acme', apiKey: 'dk_admin_plain' }] } }],
    ['token', { config: { ...config, gateway: { clients: [{ name: 'x', token: 'plain-plain-plain-plain' }] } } }],
    ['feedback', { config: { ...config, store: { ...config.store, feedback: 'postgres://u:plain@db/d' } } }],
    ['ACME_API_KEY', { env: { ACME_API_KEY: 'x' } }],
    ['SQLite', { config: { ...config, store: { bundles: config.store.bundles } } }],
    ['a folder', { config: { ...config, store: { feedback: config.store.feedback } } }],
    ['workFolder', { config: { ...config, store: { ...config.store, bundles: { s3: { bucket: 'acme-docs' } } } } }],
    ['SQLite file', { ...claim, config: { ...config, store: { bundles: { directory: '/data/bundles' } } } }],
    ['SQLite file', { ...claim, config: { ...config, store: { feedback: 'sqlite:/srv/f.db', bundles } } }],
    ['directory', { ...claim, config: { ...config, store: { feedback: 'sqlite:/data/feedback.db' } } }],
    ['8091', { metrics: { port: 8091 } }],
    ['gateway.port', { gateway: { replicas: 1, port: 9464 } }],
    ['need each other', { workers: { all: { replicas: 0 }, short: { replicas: 1 } } }],
    ['deployment', { workers: { deployment: { build: '1.5.0' } } }],
    ['port', { metrics: { port: 80 } }],
    ['replicaCount', { replicaCount: 3 }],
  ])('refuses values that cannot work or would show a secret: %s', async (named, changes) => {
    await expect(render(changes)).rejects.toThrow(named);
  });
});
