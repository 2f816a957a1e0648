import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { editHelmValues } from '../../src/exports/rollout/edit-values.ts';
import { HelmValuesPlace } from '../../src/exports/rollout/helm-values-place.ts';
import type { RolloutRequest } from '../../src/exports/rollout/rollout-target.ts';
import { startBundleServer } from '../../src/exports/server/bundle-server.ts';
import { unguarded } from '../tools/bundle/place.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { helm, helmPath } from './helm.ts';

const chart = fileURLToPath(new URL('../../deploy/chart', import.meta.url));
const domain = 'docs.acme.example';
const version = smallSiteVersion;

/** A version published in a store, served, and rolled out to a values file. */
async function rolledOut(values: string) {
  const folder = await tempFolder();
  const root = join(folder, 'bundles');
  const server = await startBundleServer({ root, port: 0 });
  onTestFinished(() => server.stop());
  const { store, manifest } = await publishSite({ root, domain, version, publicUrl: server.url });
  const url = store.urlOf(domain, manifest);
  const file = join(folder, 'values.yaml');
  await writeFile(file, values);
  const target = new HelmValuesPlace({ file, publicUrl: server.url });
  const withArchive: RolloutRequest['withArchive'] = (use) => store.withArchive(domain, version, use);
  await target.take({ domain, manifest, withArchive, url, ...unguarded });
  return { folder, file, url };
}

type PodSpec = Resource['spec']['template']['spec'];

const envOf = ({ initContainers: [fetch] }: PodSpec): Record<string, string | undefined> =>
  Object.fromEntries(fetch?.env.map(({ name, value }) => [name, value]) ?? []);

interface Resource {
  kind: string;
  spec: {
    template: {
      metadata: { annotations: Record<string, string> };
      spec: { initContainers: { args: string[]; env: { name: string; value?: string; valueFrom?: object }[] }[] };
    };
  };
}

async function deploymentOf(...args: string[]): Promise<Resource['spec']['template']> {
  const resources = parseAllDocuments(await helm('template', 'docs', ...args)).map((one): Resource => one.toJS());
  expect(resources.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'Service']);
  const deployment = resources.find(({ kind }) => kind === 'Deployment');
  if (!deployment) throw new Error('no Deployment');
  return deployment.spec.template;
}

describe.skipIf(helmPath === null)('the sample chart', () => {
  it('renders the published address of a values file that was rolled out to', async () => {
    const { file, url } = await rolledOut('# production\r\nreplicaCount: 3\r\n');
    const { metadata, spec } = await deploymentOf(chart, '--values', file);
    expect(envOf(spec)).toMatchObject({ BUNDLE_URL: url, BUNDLE_VERSION: version, BUNDLE_TOKEN: '' });
    expect(metadata.annotations).toEqual({ 'static-export/version': version });
  });

  it('renders the published address of its own values', async () => {
    const copy = join(await tempFolder(), 'chart');
    await cp(chart, copy, { recursive: true });
    const { file, url } = await rolledOut(await readFile(join(chart, 'values.yaml'), 'utf8'));
    await cp(file, join(copy, 'values.yaml'));
    const { spec } = await deploymentOf(copy);
    expect(envOf(spec)).toMatchObject({ BUNDLE_URL: url, BUNDLE_VERSION: version, BUNDLE_TOKEN: '' });
    expect(await helm('lint', '--strict', copy)).toContain('0 chart(s) failed');
  });

  it('takes the token of the bundle server from a Secret', async () => {
    const { file } = await rolledOut('');
    const { spec } = await deploymentOf(chart, '--values', file, '--set', 'bundleToken.secretName=bundles');
    expect(spec.initContainers[0]?.env).toContainEqual({
      name: 'BUNDLE_TOKEN',
      valueFrom: { secretKeyRef: { name: 'bundles', key: 'token' } },
    });
  });

  it('hands the keys of its values to the script, none by default', async () => {
    const { file } = await rolledOut('');
    const keys = ['RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3', `RWQ${'A'.repeat(53)}`];
    const given = await deploymentOf(
      chart,
      '--values',
      file,
      '--set',
      `bundleSignature.publicKeys={${keys.join(',')}}`,
    );
    expect(envOf(given.spec).BUNDLE_KEYS).toBe(keys.join(' '));
    expect(envOf((await deploymentOf(chart, '--values', file)).spec).BUNDLE_KEYS).toBe('');
  });

  it('runs its script in the pod as it is in the file', async () => {
    const { file } = await rolledOut('');
    const [fetch] = (await deploymentOf(chart, '--values', file)).spec.initContainers;
    expect(fetch?.args).toEqual([await readFile(join(chart, 'files', 'fetch.sh'), 'utf8')]);
  });

  it('renders nothing while it is switched off', async () => {
    expect((await helm('template', 'docs', chart)).trim()).toBe('');
    expect(await helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  it.each([
    ['version', 'staticExport: { enabled: true, bundleUrl: "http://a.example/b", version: 20261121 }'],
    ['version', 'staticExport: { enabled: true, bundleUrl: "http://a.example/b", version: 1e10 }'],
    ['bundleUrl', 'staticExport: { enabled: true, bundleUrl: "" }'],
    ['enabled', 'staticExport: { enabled: "true", bundleUrl: "http://a.example/b" }'],
    ['staticExport', 'staticExport: { enable: true }'],
    ['publicKeys', 'bundleSignature: { publicKeys: ["docs.pub"] }'],
  ])('refuses a wrong %s: %s', async (field, values) => {
    const file = join(await tempFolder(), 'values.yaml');
    await writeFile(file, values);
    await expect(helm('template', 'docs', chart, '--values', file)).rejects.toThrow(field);
  });
});

describe.skipIf(helmPath === null)('values files as Helm reads them', () => {
  const wanted = { bundleUrl: `https://bundles.example/${domain}/versions/${version}/bundle.tar.gz`, version };

  /** All values as Helm sees them. */
  async function readByHelm(values: string): Promise<Record<string, unknown>> {
    const folder = await tempFolder();
    await mkdir(join(folder, 'templates'));
    await writeFile(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: mirror\nversion: 0.1.0\n');
    await writeFile(join(folder, 'templates', 'all.yaml'), 'all: {{ toJson .Values | quote }}\n');
    await writeFile(join(folder, 'given.yaml'), values);
    const rendered = await helm('template', 'x', folder, '--values', join(folder, 'given.yaml'));
    const [document] = parseAllDocuments(rendered);
    return JSON.parse(String(document?.get('all')));
  }

  it.each([
    ['nothing', '# nothing\n'],
    [
      'a byte order mark and CRLF',
      '\uFEFFa: 1\r\nstaticExport:\r\n  enabled: no # off\r\n  version: 1e10\r\nb: "x"\r\n',
    ],
    [
      'block scalars',
      'note: |+\n  a\n\n\nstaticExport:\n  bundleUrl: >-\n    http://a\n    b\n  extra: |\n    text\nlast: >\n  a\n  b\n',
    ],
    ['flow mappings', 'staticExport: {enabled, "bundleUrl": , x: [1, 2], }\nb: { c: 1 }'],
    ['JSON', '{"a": [1.50, 1e3, "yes"],\r\n "staticExport": null}'],
    [
      'anchors and merges',
      'base: &b { enabled: false, size: 1 }\nstaticExport:\n  <<: *b\n  version: &v old\nlist: [*b]\n',
    ],
    ['values of YAML 1.1', 'a: yes\nb: 0777\nc: 1_000\nd: 12:30:45\ne: ~\nstaticExport:\n  enabled: off\n'],
    ['no line end at the end', 'hosts:\n- a\n- b: 1\n  c: 2'],
    ['tabs and odd spaces', 'a:   1\t# tab\nstaticExport:   # c\n   enabled:    "false"\t#\n   version: \'1\'\n'],
  ])('hold the three fields and nothing else anew: %s', async (_name, values) => {
    const { text } = editHelmValues(values, 'staticExport', wanted);
    const [before, after] = [await readByHelm(values), await readByHelm(text)];
    const own = before.staticExport ?? {};
    expect(after).toEqual({ ...before, staticExport: { ...own, enabled: true, ...wanted } });
  });

  it('change when a line end is added behind a block scalar, which is why that is refused', async () => {
    expect(await readByHelm('a: |\n  text')).toEqual({ a: 'text' });
    expect(await readByHelm('a: |\n  text\n')).toEqual({ a: 'text\n' });
    expect(() => editHelmValues('a: |\n  text', 'staticExport', wanted)).toThrow('line break');
  });
});
