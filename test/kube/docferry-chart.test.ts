import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { usableValues } from '../deploy/docferry-chart.ts';
import { helm } from '../deploy/helm.ts';

const chart = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
const namespace = 'docferry';
const everything = {
  ...usableValues,
  workers: { secrets: ['keys'] },
  bundles: { secrets: ['token'] },
  gateway: { replicas: 2, secrets: ['keys', 'tokens'] },
  secretFiles: { existingSecret: 'files', mountPath: '/run/secrets/docferry' },
  networkPolicy: { from: { metrics: [{ namespaceSelector: { matchLabels: { team: 'sre' } } }], bundles: [] } },
};

const run = promisify(execFile);
let folder: string;

async function kubectl(...args: string[]): Promise<string> {
  return (await run('kubectl', ['--namespace', namespace, ...args])).stdout;
}

/** Installs or upgrades, and waits until every Deployment has its pods; gives what helm and the API server said. */
async function apply(values: object): Promise<string> {
  const file = join(folder, 'values.yaml');
  await writeFile(file, stringify(values));
  const where = ['--namespace', namespace, '--values', file];
  return helm('upgrade', '--install', 'docferry', chart, ...where, '--wait', '--timeout', '60s');
}

const names = async (kind: string, ...args: string[]) =>
  (await kubectl('get', kind, '--selector', 'app.kubernetes.io/name=docferry', '--output', 'name', ...args))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(line.indexOf('/') + 1));

/** What the API server answers to the eviction of a pod: null when it agrees. */
async function evict(pod: string): Promise<string | null> {
  const file = join(folder, `${pod}.json`);
  await writeFile(
    file,
    JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } }),
  );
  return kubectl('create', '--raw', `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, '--filename', file).then(
    () => null,
    (error: Error) => error.message,
  );
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-kube-'));
  await run('kubectl', ['create', 'namespace', namespace]);
  // The strictest of Kubernetes's standards: the API server refuses pods that fall short of it.
  const strict = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
  await run('kubectl', ['label', 'namespace', namespace, ...strict]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the chart of docferry on a Kubernetes control plane', () => {
  it('is accepted with all its parts, under the strictest pod security standard', async () => {
    await apply(everything);
    expect(await names('deployments')).toEqual(['docferry-bundles', 'docferry-gateway', 'docferry-worker']);
    expect(await names('pods', '--field-selector', 'status.phase=Running')).toHaveLength(5);
    expect(await names('services')).toEqual(['docferry-bundles', 'docferry-gateway']);
    expect(await names('networkpolicies')).toHaveLength(3);
    expect(await kubectl('get', 'endpointslices', '--output', 'jsonpath={.items[*].ports[*].port}')).toBe('8090 8789');
  });

  it('lets a drain take one worker at a time', async () => {
    const select = [
      '--selector',
      'app.kubernetes.io/component=worker',
      '--output',
      'jsonpath={.items[*].metadata.name}',
    ];
    const allowed = () => kubectl('get', 'pdb', 'docferry-worker', '--output', 'jsonpath={.status.disruptionsAllowed}');
    await expect.poll(allowed).toBe('1');
    const [first = '', second = ''] = (await kubectl('get', 'pods', ...select)).split(' ');
    // So that the successor of the first does not run before the second is asked for.
    await kubectl('cordon', 'node-1');
    expect(await evict(first)).toBeNull();
    expect(await evict(second)).toContain('disruption budget');
    await kubectl('uncordon', 'node-1');
    await expect.poll(allowed).toBe('1');
  });

  it('replaces the pods when the configuration changes, and not otherwise', async () => {
    const generations = () => kubectl('get', 'deployments', '--output', 'jsonpath={.items[*].metadata.generation}');
    await apply(everything);
    expect(await generations()).toBe('1 1 1');
    await apply({ ...everything, config: { ...everything.config, service: { baseUrl: 'https://other.example' } } });
    expect(await generations()).toBe('2 2 2');
    expect(await kubectl('get', 'configmap', 'docferry', '--output', 'yaml')).toContain('https://other.example');
  });

  it('moves from workers for everything to one Deployment of each kind, and back to nothing', async () => {
    const workers = { all: { replicas: 0 }, short: { replicas: 1 }, bulk: { replicas: 2 } };
    await apply({ ...everything, workers, gateway: { replicas: 0 } });
    expect(await names('deployments')).toEqual(['docferry-bundles', 'docferry-worker-bulk', 'docferry-worker-short']);
    expect(await names('pdb')).toEqual(['docferry-worker-bulk']);
    await helm('uninstall', 'docferry', '--namespace', namespace, '--wait');
    await expect.poll(() => names('all,configmaps,networkpolicies,pdb,serviceaccounts')).toEqual([]);
  });
});
