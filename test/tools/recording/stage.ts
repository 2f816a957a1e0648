import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/index.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { connectClient } from '../../../src/temporal/connection.ts';
import { createLog } from '../../../src/temporal/log.ts';
import { type RunningWorker, startWorker } from '../../../src/worker.ts';
import { startReceiver, webhookSecret } from '../servers/webhook-receiver.ts';
import type { KeptRun } from './saved-history.ts';

/** What a scene needs besides its steps. */
export interface SceneSettings {
  sandbox?: SandboxOptions;
  /** YAML of the organization's budget. */
  budget?: string;
  /** YAML of how its feedback is kept fresh. */
  refresh?: string;
  /** Two webhooks: `ops` accepts at the second attempt, `gone` answers 410. */
  withWebhooks?: true;
  /** More YAML of the site. */
  site?: string;
}

/** Where a scene plays: a server, a sandbox and a worker with an organization of its own. */
export interface Stage {
  folder: string;
  config: Config;
  client: Client;
  sandbox: Sandbox;
  taskQueue: string;
  org: string;
  project: string;
  domain: string;
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  /** Has the run saved when the scene ends: the latest one of the workflow, with those it continues as. */
  keep(label: string, workflowId: string, runId?: string): Promise<void>;
  /** As `keep`, for each run of a workflow type so far, the first one first. */
  keepAll(type: string, labels: readonly string[]): Promise<void>;
  readonly kept: readonly KeptRun[];
  end(): Promise<void>;
}

/** Lines go nowhere: what matters is in the histories. */
const log = createLog({ write: () => true }, 'error');
const maxWaitMs = 90_000;

/** Waits until `read` gives what is awaited; what it throws counts as "not yet". */
export async function until(what: string, read: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + maxWaitMs;
  for (;;) {
    if (await read().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(200);
  }
}

async function startReceivers() {
  const [ops, gone] = [await startReceiver(), await startReceiver()];
  ops.answers.push({ status: 503 });
  gone.answers.push(...Array.from({ length: 20 }, () => ({ status: 410 })));
  return [
    { name: 'ops', ...ops },
    { name: 'gone', ...gone },
  ];
}

/** Sets the stage of a scene; `end` strikes it. */
export async function setStage(name: string, scratch: string, address: string, settings: SceneSettings) {
  const folder = join(scratch, name);
  await mkdir(folder, { recursive: true });
  const [org, project, domain, taskQueue] = [`acme-${name}`, 'prj_1', 'docs.acme.example', `docferry-${name}`];
  const sandbox = await startSandbox(settings.sandbox ?? {});
  const receivers = settings.withWebhooks ? await startReceivers() : [];
  const webhooks = receivers.map(({ name, url }) => `{ name: ${name}, url: "${url}", secret: ${webhookSecret} }`);
  const file = join(folder, 'docferry.yaml');
  await writeFile(
    file,
    `temporal: { address: "${address}", namespace: default, taskQueue: ${taskQueue} }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
  - id: ${org}
    apiKey: "${sandbox.apiKey}"
    budget: ${settings.budget ?? '{ requests: 100, window: 1h }'}
    webhooks: [${webhooks.join(', ')}]
${settings.refresh === undefined ? '' : `    refresh: ${settings.refresh}`}
    projects: [{ id: ${project} }]
    sites:
      - domain: ${domain}
        rollout: [{ directory: { path: ./site } }]
${settings.site ?? ''}
store:
  feedback: "sqlite:./data/feedback.db"
  bundles: { directory: ./data/bundles, publicUrl: "http://localhost:8090" }
`,
  );
  const config = await loadConfig({ file, env: {}, cwd: folder, secrets: 'required' });
  const client = await connectClient(config.temporal);
  const kept: KeptRun[] = [];
  let worker: RunningWorker | null = null;
  const stage: Stage = {
    ...{ folder, config, client, sandbox, taskQueue, org, project, domain, kept },
    async startWorker() {
      worker = await startWorker(config, { log });
    },
    async stopWorker() {
      await worker?.stop();
      worker = null;
    },
    async keep(label, workflowId, runId) {
      const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
      const first = runId ?? raw.workflowExecutionInfo?.firstRunId ?? raw.workflowExecutionInfo?.execution?.runId;
      kept.push({ label, workflowId, runId: first ?? '' });
    },
    async keepAll(type, labels) {
      const query = `WorkflowType = "${type}" AND DocferryOrg = "${org}"`;
      const found: { workflowId: string; runId: string; startTime: Date }[] = [];
      await until(`${labels.length} runs of ${type} are listed`, async () => {
        found.length = 0;
        for await (const run of client.workflow.list({ query })) found.push(run);
        return found.length >= labels.length;
      });
      found.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
      for (const [index, label] of labels.entries()) {
        const { workflowId = '', runId = '' } = found[index] ?? {};
        kept.push({ label, workflowId, runId });
      }
    },
    async end() {
      await this.stopWorker();
      await client.connection.close();
      await sandbox.stop();
      await Promise.all(receivers.map((receiver) => receiver.stop()));
    },
  };
  return stage;
}
