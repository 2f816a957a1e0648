import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectClient } from '../../../src/temporal/connection.ts';
import { createNamespace, ordersByPriority, searchAttributeState } from '../../../src/temporal/namespace.ts';
import {
  type ConfigText,
  configText,
  docferry,
  docferryJson,
  emptyFolder,
  folderWithConfig,
  type RunOptions,
} from '../../tools/cli/run-docferry.ts';
import { type Scene, type SceneOptions, setScene } from '../../tools/scene.ts';
import { useDevServer } from '../../tools/temporal/temporal.ts';

interface Check {
  name: string;
  ok: boolean;
  level: string;
  detail: string;
  fix: string | null;
}

/** Its worker stands by: a doctor who finds no Temporal or no worker looks for seconds. */
let staffed: Scene;
beforeAll(async () => {
  staffed = await setScene();
  await staffed.startWorker();
});
afterAll(() => staffed.end());

const withTemporal = (): ConfigText => ({ address: useDevServer().address, taskQueue: staffed.taskQueue });
const textWithTemporal = (parts: ConfigText = {}) => configText({ ...withTemporal(), ...parts });
const folderWithTemporal = () => folderWithConfig(withTemporal());

interface Diagnosis {
  exitCode: number | null;
  ok: unknown;
  checks: Check[];
  /** The check of that name; throws when there is none. */
  check(name: string): Check;
}

async function doctor(options: RunOptions, flags: readonly string[] = []): Promise<Diagnosis> {
  const { exitCode, document, stdout, stderr } = await docferryJson(['doctor', ...flags], options);
  expect(stdout + stderr).not.toContain('dk_admin_');
  const checks = document.checks as Check[];
  const check = (name: string) => {
    const found = checks.find((candidate) => candidate.name === name);
    if (!found) throw new Error(`there is no check ${name} among ${checks.map((other) => other.name).join(', ')}`);
    return found;
  };
  return { exitCode, ok: document.ok, checks, check };
}

let scene: Scene | undefined;
afterEach(async () => {
  await scene?.end();
  scene = undefined;
});

/** A scene whose configuration is the folder's `docferry.yaml`. */
async function place(options: SceneOptions = {}): Promise<Scene & RunOptions> {
  scene = await setScene(options);
  return { ...scene, cwd: scene.folder };
}

const general = ['installation', 'configuration', 'certificate-authorities', 'proxy'];
const ofTemporal = ['temporal', 'namespace', 'search-attributes', 'priorities', 'worker', 'encryption'];

describe('docferry doctor', () => {
  it('finds nothing to fix in a working installation', async () => {
    const here = await place();
    await here.startWorker();
    const { exitCode, ok, checks } = await doctor(here);
    expect(checks.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
    expect(checks.map(({ name }) => name)).toEqual([
      ...general,
      ...ofTemporal,
      `api-key:${here.org}`,
      'bundle-links',
      'feedback-store',
      'bundle-store',
      'rollout:docs.acme.example:directory:./site',
    ]);
    expect(here.sandbox.log()).toEqual([]);
  });

  it('says each problem in one line, with its fix, and folds the rest into a count', async () => {
    const cwd = await folderWithConfig();
    const { stdout, exitCode } = await docferry(['doctor'], { cwd });
    expect(exitCode).toBe(1);
    expect(stdout).not.toContain('installation');
    expect(stdout.split('\n')[0]).toMatch(/^error /);
    expect(stdout).toMatch(/\d+ problems?, .*\d+ skipped, \d+ ok \(`docferry doctor --all` shows them\)\n$/);
    const all = await docferry(['doctor', '--all'], { cwd });
    expect(all.stdout.split('\n').length).toBeGreaterThan(10);
    expect(all.stdout).toMatch(/^ok {5} +installation +docferry \S+ on Node \S+$/m);
    expect(stdout).toMatch(/^error +temporal +no Temporal server answers at 127\.0\.0\.1:1: .* Fix: .*`docferry up`/m);
  });
});

describe('ordersByPriority', () => {
  it('has a verdict though the answer to its clean-up was lost, and Temporal refuses the repeated call', async () => {
    const { client, taskQueue } = staffed;
    const { workflowService } = client;
    const remove = workflowService.deleteWorkflowExecution.bind(workflowService);
    // Temporal deletes after its answer, and accepts the call until then.
    const removeUntilRefused = async (request: Parameters<typeof remove>[0]) => {
      for (;;) {
        await remove(request);
        await sleep(50);
      }
    };
    const asked = vi
      .spyOn(workflowService, 'deleteWorkflowExecution')
      .mockImplementation((request) => client.withDeadline(Date.now() + 60_000, () => removeUntilRefused(request)));
    await ordersByPriority(client, taskQueue);
    await expect(asked.mock.results[0]?.value).rejects.toThrow(/NOT_FOUND/);
  });
});

describe('docferry doctor --key', () => {
  it('asks for one entry with the key of a worker, and the budget counts the request', async () => {
    const here = await place({ sandbox: { clockSkewMs: 300_000 } });
    await here.startWorker();
    const { exitCode, checks, check } = await doctor(here, ['--key']);
    expect(check(`key-accepted:${here.org}`)).toMatchObject({ level: 'ok', detail: expect.stringContaining('prj_1') });
    expect(check(`clock:${here.org}`)).toMatchObject({
      level: 'warning',
      detail: expect.stringMatching(/^the worker's clock is (5 min|4 min 5\d s) behind/),
      fix: expect.stringContaining('NTP'),
    });
    expect(checks.filter(({ level }) => level === 'error')).toEqual([]);
    expect(exitCode).toBe(0);
    expect(here.sandbox.log().filter(({ kind }) => kind === 'analytics')).toHaveLength(1);
    const budget = await docferryJson(['budget', 'show'], here);
    expect(budget.document).toMatchObject({ used: 1 });
  });

  it('names a key that the service refuses', async () => {
    const here = await place({ sandbox: { faults: { unauthorized: true } } });
    await here.startWorker();
    const { exitCode, check } = await doctor(here, ['--key']);
    expect(check(`key-accepted:${here.org}`)).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('401'),
      fix: 'set a working key and restart the workers',
    });
    expect(exitCode).toBe(1);
    expect(here.sandbox.log()).toHaveLength(1);

    // The run that finds the key to work does not call it refused.
    const known = await doctor(here);
    expect(known.check(`api-key:${here.org}`)).toMatchObject({ level: 'error' });
    here.sandbox.setFaults({ unauthorized: false });
    let mended = known;
    await expect
      .poll(async () => {
        mended = await doctor(here, ['--key']);
        return mended.check(`key-accepted:${here.org}`).level;
      })
      .toBe('ok');
    expect(mended.check(`api-key:${here.org}`)).toMatchObject({ level: 'ok' });
  });

  it('asks nothing without a worker', async () => {
    const here = await place();
    const { check } = await doctor(here, ['--key']);
    expect(check(`key-accepted:${here.org}`)).toMatchObject({ level: 'skipped' });
    expect(here.sandbox.log()).toEqual([]);
  });
});

describe('docferry doctor on a broken installation names what is wrong, with the fix, and checks the rest', () => {
  it('1: no configuration', async () => {
    const { exitCode, checks, check } = await doctor({});
    expect(check('configuration')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('docferry.yaml'),
      fix: expect.stringContaining('docferry config init'),
    });
    expect(exitCode).toBe(1);
    expect(check('installation').level).toBe('ok');
    expect(checks.filter(({ level }) => level === 'skipped').map(({ name }) => name)).toContain('feedback-store');
  });

  it('2: a field that is wrong', async () => {
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'docferry.yaml'), configText({}).replace('requests: 40', 'requests: many'));
    const { check } = await doctor({ cwd });
    expect(check('configuration')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('organizations[0].budget.requests (line 6'),
      fix: expect.stringContaining('docs/configuration.md'),
    });
  });

  it('3: an API key that is not set', async () => {
    const cwd = await emptyFolder();
    const text = textWithTemporal().replace('dk_admin_secret_of_acme', `\${ACME_API_KEY}`);
    await writeFile(join(cwd, 'docferry.yaml'), text);
    expect((await doctor({ cwd })).check('api-key:acme')).toMatchObject({
      level: 'error',
      detail: 'the environment variable ACME_API_KEY is not set',
      fix: expect.stringContaining('dashboard'),
    });
    const set = await doctor({ cwd, env: { ACME_API_KEY: 'k' } });
    expect(set.check('api-key:acme').level).toBe('ok');
    const literal = await doctor({ cwd: await folderWithConfig() });
    expect(literal.check('api-key:acme')).toMatchObject({
      level: 'warning',
      detail: 'the configuration file contains the key itself',
      fix: `\${ACME_API_KEY} or apiKeyFile keeps it out`,
    });
  });

  it('4: a Temporal that cannot be reached', async () => {
    const cwd = await folderWithConfig();
    const { check } = await doctor({ cwd });
    expect(check('temporal')).toMatchObject({
      level: 'error',
      detail: 'no Temporal server answers at 127.0.0.1:1: nothing listens there',
      fix: expect.stringContaining('docferry up'),
    });
    expect(check('worker')).toMatchObject({ level: 'skipped', detail: expect.stringContaining('Temporal') });
    expect(check('feedback-store').level).toBe('ok');
  });

  it('5: stores and targets that cannot be written', async () => {
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'file'), '');
    await mkdir(join(cwd, 'site', 'current'), { recursive: true });
    const organizations = `  - id: acme
    apiKey: k
    sites:
      - domain: docs.acme.example
        rollout: [{ directory: { path: ./site } }, { helmValues: { file: values.yaml } }]
store: { feedback: "sqlite:file/feedback.db", bundles: { directory: file/bundles } }
`;
    await writeFile(join(cwd, 'docferry.yaml'), textWithTemporal({ organizations }));
    const { check } = await doctor({ cwd });
    for (const name of ['feedback-store', 'bundle-store']) {
      expect(check(name)).toMatchObject({
        level: 'error',
        detail: expect.stringContaining(`${join(cwd, 'file')} is not a folder`),
        fix: expect.stringContaining('write access'),
      });
    }
    expect(check('rollout:docs.acme.example:directory:./site')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('not a symbolic link'),
      fix: expect.stringContaining('move it away'),
    });
    expect(check('rollout:docs.acme.example:helmValues:values.yaml')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('ENOENT'),
      fix: expect.stringContaining('create it'),
    });
  });

  it('6: certificate authorities that Node silently ignores', async () => {
    const cwd = await folderWithTemporal();
    const file = join(cwd, 'none.pem');
    const { check } = await doctor({ cwd, env: { NODE_EXTRA_CA_CERTS: file }, ownProcess: true });
    expect(check('certificate-authorities')).toMatchObject({
      level: 'error',
      detail: `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (ENOENT)`,
      fix: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  it('7: a namespace that does not exist, and one without search attributes', async () => {
    const here = await place();
    const named = async (namespace: string) => {
      const text = configText({ address: useDevServer().address }).replace(' }', `, namespace: ${namespace} }`);
      const cwd = await emptyFolder();
      await writeFile(join(cwd, 'docferry.yaml'), text);
      return doctor({ cwd });
    };
    const namespace = `bare-${here.org}`;
    const missing = await named(namespace);
    expect(missing.check('namespace')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining(namespace),
      fix: expect.stringContaining('docferry setup --create-namespace'),
    });
    const given = { address: true, namespace: true };
    const client = await connectClient({ ...here.config.temporal, namespace, given });
    onTestFinished(() => client.connection.close());
    await createNamespace(client, 1);
    await expect.poll(() => searchAttributeState(client).catch(() => null)).not.toBeNull();
    const bare = await named(namespace);
    expect(bare.check('namespace')).toMatchObject({ level: 'ok', detail: expect.stringContaining('1 day') });
    expect(bare.check('search-attributes')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('DocferryOrg, DocferryDomain, DocferryProject, DocferryPhase, DocferryOutcome'),
      fix: expect.stringContaining('docferry setup'),
    });
  });

  it('5: a bucket that does not answer', async () => {
    const cwd = await emptyFolder();
    const bundles = '{ s3: { bucket: docs, endpoint: "http://127.0.0.1:9" } }';
    const organizations = `  - { id: acme, apiKey: k }\nstore: { bundles: ${bundles} }\n`;
    await writeFile(join(cwd, 'docferry.yaml'), textWithTemporal({ organizations }));
    const env = { AWS_ACCESS_KEY_ID: 'AKIAPLANTED', AWS_SECRET_ACCESS_KEY: 'planted' };
    const { check } = await doctor({ cwd, env, ownProcess: true });
    expect(check('bundle-store')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('the object store of s3://docs at http://127.0.0.1:9 cannot be reached'),
      fix: expect.stringContaining('store.bundles.s3.endpoint'),
    });
  });

  it('8: a service whose bundles would be refused', async () => {
    const cwd = await folderWithTemporal();
    const { check } = await doctor({ cwd });
    expect(check('bundle-links')).toMatchObject({
      ok: true,
      level: 'warning',
      fix: expect.stringContaining('service.allowInsecure: true and service.linkHosts: [127.0.0.1:9]'),
    });
  });

  it('9: no worker', async () => {
    const here = await place();
    const { exitCode, check } = await doctor(here);
    expect(check('worker')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining(here.taskQueue),
      fix: expect.stringContaining('docferry worker'),
    });
    expect(exitCode).toBe(1);
  });

  it('10: a proxy variable that is not an address', async () => {
    const cwd = await emptyFolder();
    await writeFile(
      join(cwd, 'docferry.yaml'),
      textWithTemporal().replace('http://127.0.0.1:9', 'https://docs.example'),
    );
    const { check } = await doctor({ cwd, env: { HTTPS_PROXY: 'socks5://user:pass@proxy' }, ownProcess: true });
    expect(check('proxy')).toMatchObject({
      level: 'error',
      detail: 'HTTPS_PROXY is not an http:// or https:// address',
      fix: expect.stringContaining('HTTPS_PROXY'),
    });
  });

  it("11: Temporal's own settings naming a missing file", async () => {
    const cwd = await folderWithConfig();
    const { check } = await doctor({ cwd, env: { TEMPORAL_PROFILE: 'nowhere' }, ownProcess: true });
    expect(check('temporal')).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('there is no profile nowhere'),
      fix: expect.stringContaining('TEMPORAL_PROFILE'),
    });
  });
});
