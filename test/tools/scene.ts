import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/index.ts';
import { queuesWithoutWorker } from '../../src/cli/waiting.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { type RunningWorker, startWorker } from '../../src/worker.ts';
import { useDevServer, workflowBundle } from './temporal/temporal.ts';
import { logged, testLog } from './temporal/test-log.ts';

/** Everything docferry needs, on the real Temporal server: sandbox, configuration, folder, client. */
export interface Scene {
  folder: string;
  configFile: string;
  config: Config;
  sandbox: Sandbox;
  client: Client;
  taskQueue: string;
  org: string;
  project: string;
  domain: string;
  /** What the workers of all scenes of this process have logged so far. */
  logged(): string;
  /** With another feedback store than the configured one, if an address is given. */
  startWorker(feedback?: string): Promise<RunningWorker>;
  /** With another budget, and other fields of `temporal`, in its configuration. */
  startWorkerWith(budget: string, temporal?: string): Promise<RunningWorker>;
  end(): Promise<void>;
}

export interface SceneOptions {
  sandbox?: SandboxOptions;
  /** YAML of the organization's budget, e.g. `{ requests: 10, window: 10s }`. */
  budget?: string;
  /** Sites besides `docs.acme.example`, with the usual settings; the sandbox needs them too. */
  sites?: string[];
  /** YAML of `worker`, e.g. `{ downloads: 2 }`. */
  worker?: string;
  /** YAML of the site's job, e.g. `{ timeout: 30s, attempts: 2 }`. */
  job?: string;
  /** YAML of the site's schedule, e.g. `{ every: 20s }`; applied only when a test does so. */
  schedule?: string;
  /** Whether a person approves what goes into service; then this is how long is waited for them, e.g. `1h`. */
  approvalTimeout?: string;
  /** YAML of the organization's `refresh`. */
  refresh?: string;
  /** Projects besides `prj_1`; the sandbox needs them too. */
  projects?: string[];
  /** Files beside the configuration, e.g. of keys, by name. */
  files?: Record<string, string>;
  /** YAML of the organization's webhooks, e.g. `[{ url: …, secret: … }]`. */
  webhooks?: string;
  /** What the watch looks at, and how often, e.g. `{ every: '1s', lateAfter: '3s' }`. */
  watch?: { every: string; lateAfter?: string; freshness?: string };
  /** YAML of more organizations, two spaces deep, from the id of the scene's own. */
  organizations?: (org: string) => string;
  /** YAML of the site's rollout targets; by default one folder. */
  rollout?: string;
  /** YAML of the bundle store; a folder by default. */
  bundles?: string;
  /** Address of the feedback store; by default a SQLite file. */
  feedback?: string;
  /** YAML of more fields of `temporal`, e.g. `encryption: { keys: [{ id: k1, keyFile: ./k1 }] }`. */
  temporal?: string;
  /** YAML of `privacy`; by default everything is kept. */
  privacy?: string;
  /** Temporal; by default the server of this test run. */
  server?: { address: string; namespace: string };
}

let scenes = 0;

/** Sets a scene of its own for a test; `end` removes it. Organizations differ, since budgets live on the server. */
export async function setScene(options: SceneOptions = {}): Promise<Scene> {
  scenes += 1;
  const unique = `${process.pid}-${scenes}`;
  const org = `org-${unique}`;
  const [project, domain, taskQueue] = ['prj_1', 'docs.acme.example', `scene-${unique}`];
  const folder = await mkdtemp(join(tmpdir(), 'docferry-scene-'));
  const sandbox = await startSandbox(options.sandbox ?? {});
  const configFile = join(folder, 'docferry.yaml');
  for (const [name, text] of Object.entries(options.files ?? {})) await writeFile(join(folder, name), text);
  const { address, namespace } = options.server ?? useDevServer();
  const text = (
    feedback: string,
    budget = options.budget ?? '{ requests: 100, window: 1h }',
    temporal = options.temporal,
  ) => `temporal: { address: "${address}", namespace: ${namespace}, taskQueue: ${taskQueue}${temporal ? `, ${temporal}` : ''} }
${options.worker ? `worker: ${options.worker}\n` : ''}service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
  - id: ${org}
    apiKey: "${sandbox.apiKey}"
    budget: ${budget}${options.refresh ? `\n    refresh: ${options.refresh}` : ''}
    webhooks: ${options.webhooks ?? '[]'}${options.watch ? `\n    watchEvery: ${options.watch.every}` : ''}
    projects: [{ id: ${project}${options.watch?.freshness ? `, freshness: ${options.watch.freshness}` : ''} }${(options.projects ?? []).map((id) => `, { id: ${id} }`).join('')}]
    sites:
      - domain: ${domain}
        job: ${options.job ?? '{ timeout: 5m, attempts: 3 }'}${options.approvalTimeout ? `\n        approval: manual\n        approvalTimeout: ${options.approvalTimeout}` : ''}${options.schedule ? `\n        schedule: ${options.schedule}` : ''}${options.watch?.lateAfter ? `\n        lateAfter: ${options.watch.lateAfter}` : ''}
        rollout: ${options.rollout ?? '[{ directory: { path: ./site } }]'}${(options.sites ?? []).map((site) => `\n      - domain: ${site}`).join('')}
${options.organizations?.(org) ?? ''}
store:
  feedback: "${feedback}"
  bundles: ${options.bundles ?? '{ directory: ./data/bundles, publicUrl: "http://localhost:8090" }'}
${options.privacy ? `privacy: ${options.privacy}\n` : ''}`;
  const feedback = options.feedback ?? 'sqlite:./data/feedback.db';
  await writeFile(configFile, text(feedback));
  const load = (file: string) => loadConfig({ file, env: {}, cwd: folder, secrets: 'required' });
  const config = load(configFile);
  const client = await connectClient(config.temporal);
  const workers: RunningWorker[] = [];
  const otherFile = join(folder, 'other.yaml');
  const start = async (settings: Config) => {
    const worker = await startWorker(settings, { log: testLog, workflowBundle: workflowBundle() });
    workers.push(worker);
    // Commands may take a worker that Temporal does not list yet for none.
    while ((await queuesWithoutWorker(client, taskQueue))?.length !== 0) await sleep(20);
    return worker;
  };
  return {
    folder,
    configFile,
    config,
    sandbox,
    client,
    taskQueue,
    org,
    project,
    domain,
    logged,
    async startWorker(other) {
      if (other === undefined) return start(config);
      await writeFile(otherFile, text(other));
      return start(load(otherFile));
    },
    async startWorkerWith(budget, temporal) {
      await writeFile(otherFile, text(feedback, budget, temporal));
      return start(load(otherFile));
    },
    async end() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await client.connection.close();
      await sandbox.stop();
      await rm(folder, { recursive: true });
    },
  };
}
