import { execFile } from 'node:child_process';
import { appendFile, cp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../src/exports/rules/site-export.ts';
import { startExport } from '../../src/operations/exports.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../tools/scene.ts';

/** The recipe of deployments.md as it stands, but for its patience with pods. */
const page = await readFile(new URL('../../docs/deployments.md', import.meta.url), 'utf8');
const [, recipe = ''] = /^```sh\n(#!\/bin\/sh\n# run: \[\.\/helm-upgrade\.sh,.*?)^```$/ms.exec(page) ?? [];
const patience = '--timeout 10m';

const run = promisify(execFile);
const programs = { 'helm 3': process.env.HELM_PATH, 'helm 4': process.env.HELM4_PATH };

describe.each(Object.entries(programs))(
  'run: [./helm-upgrade.sh, "{version}", "{url}"] with %s (E9)',
  (name, program) => {
    const namespace = name.replace(' ', '-');
    const before = { ...process.env };
    let scene: Scene;
    let chart: string;

    beforeEach(async () => {
      const tools = await tempFolder();
      await symlink(program ?? '', join(tools, 'helm'));
      await cp(before.KUBECONFIG ?? '', join(tools, 'kubeconfig'));
      process.env.PATH = `${tools}${delimiter}${before.PATH}`;
      process.env.KUBECONFIG = join(tools, 'kubeconfig');
      await run('kubectl', ['config', 'set-context', '--current', '--namespace', namespace]);
      await run('kubectl', ['create', 'namespace', namespace]);
      scene = await setScene({
        sandbox: { jobSeconds: 0.2, pages: 5 },
        rollout: '[{ run: [./helm-upgrade.sh, "{version}", "{url}"] }]',
      });
      chart = join(scene.folder, 'chart');
      await cp(fileURLToPath(new URL('../../deploy/chart', import.meta.url)), chart, { recursive: true });
      const template = join(chart, 'templates', 'deployment.yaml');
      const lines = (await readFile(template, 'utf8')).split('\n');
      const at = lines.indexOf('      automountServiceAccountToken: false');
      expect(at).toBeGreaterThan(0);
      // While there is a file `good`, no node takes the pods of the versions that it does not name.
      const isBad = 'and (.Files.Get "good") (not (has .Values.staticExport.version (.Files.Lines "good")))';
      const host = `{{ ternary "nowhere" "node-1" (${isBad} | not | not) }}`;
      lines.splice(at, 0, `      nodeSelector: { kubernetes.io/hostname: ${host} }`);
      await writeFile(template, lines.join('\n'));
      expect(recipe).toContain(patience);
      const script = recipe.replace(patience, '--timeout 20s');
      await writeFile(join(scene.folder, 'helm-upgrade.sh'), script, { mode: 0o755 });
      await scene.startWorker();
    });
    afterEach(async () => {
      await scene?.end();
      Object.assign(process.env, { PATH: before.PATH, KUBECONFIG: before.KUBECONFIG });
    });

    async function exportStarted() {
      const { client, taskQueue, org, domain } = scene;
      return (await startExport(client, taskQueue, { org, domain, parameters: {} }, 'refuse')).handle;
    }
    const exportSite = async (): Promise<ExportResult> => (await exportStarted()).result();
    const nextContent = () => scene.sandbox.publishRevision(scene.domain);
    const good = (version: string | null) => writeFile(join(chart, 'good'), `${version}\n`);

    const statusOf = async () => {
      const { stdout } = await run('helm', ['status', 'docs', '--output', 'json']).catch(() => ({ stdout: '{}' }));
      return JSON.parse(stdout).info?.status;
    };

    /** Versions of the pods that are ready. */
    async function runs(): Promise<string[]> {
      const { stdout } = await run('kubectl', ['get', 'pods', '--output', 'json']);
      const pods: {
        metadata: { annotations: Record<string, string>; deletionTimestamp?: string };
        status: { conditions?: { type: string; status: string }[] };
      }[] = JSON.parse(stdout).items;
      return pods
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .filter(({ status }) => status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'))
        .map(({ metadata }) => metadata.annotations['static-export/version'] ?? '');
    }

    /** Kills the helm that waits for pods with -9, once the release is pending. */
    async function killHelm(pending: string): Promise<void> {
      await expect.poll(statusOf).toBe(pending);
      const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
      const ours: number[] = [];
      for (const pid of pids) {
        const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => null);
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        if (cwd === scene.folder && command.startsWith('helm\0upgrade')) ours.push(Number(pid));
      }
      expect(ours).toHaveLength(1);
      for (const pid of ours) process.kill(pid, 'SIGKILL');
      // Nobody else would end it.
      expect(await statusOf()).toBe(pending);
    }

    it('an upgrade comes through, also after a helm that was killed; failing pods are returned and held', async () => {
      // The first helm is killed while it installs, the third while it upgrades.
      const published = { outcome: 'published', held: null, rollouts: [{ outcome: 'rolled-out' }] };
      let last: string | null = null;
      for (const pending of ['pending-install', null, 'pending-upgrade']) {
        if (last !== null) nextContent();
        await good('none');
        if (pending === null) await rm(join(chart, 'good'));
        const handle = await exportStarted();
        if (pending !== null) {
          await killHelm(pending);
          await rm(join(chart, 'good'));
        }
        const result = await handle.result();
        expect(result, `${pending}`).toMatchObject(published);
        expect(result.version).not.toBe(last);
        last = result.version;
        expect(await statusOf()).toBe('deployed');
        await expect.poll(runs).toEqual([last, last]);
      }

      nextContent();
      await good(last);
      const refused = await exportSite();
      expect(refused).toMatchObject({
        outcome: 'rollout-failed',
        held: last,
        rollouts: [{ outcome: 'failed', detail: expect.stringContaining(`runs ${last} again`) }],
        reasons: [{ rule: 'check-failed', detail: expect.stringContaining(`the site is back at ${last}`) }],
      });
      process.stderr.write(`  ${name}: ${refused.reasons[0]?.detail}\n`);
      expect(await statusOf()).toBe('deployed');
      await expect.poll(runs).toEqual([last, last]);
      const { document } = await docferryJson(['export', 'versions', scene.domain, '--config', scene.configFile]);
      expect(document).toMatchObject({ current: last, hold: { version: last, refused: { version: refused.version } } });
      expect(await exportSite()).toMatchObject({ outcome: 'unchanged', held: last, version: refused.version });

      // Other content goes out.
      nextContent();
      await rm(join(chart, 'good'));
      const next = await exportSite();
      expect(next).toMatchObject(published);
      await expect.poll(runs).toEqual([next.version, next.version]);

      // A cluster that cannot be reached says nothing of the version.
      nextContent();
      await appendFile(join(scene.folder, 'nowhere'), 'apiVersion: v1\nkind: Config\n');
      process.env.KUBECONFIG = join(scene.folder, 'nowhere');
      const unreached = await exportSite();
      expect(unreached).toMatchObject({ outcome: 'rollout-failed', held: null, reasons: [] });
      process.stderr.write(`  ${name}: ${unreached.rollouts[0]?.detail}\n`);
    });
  },
);
