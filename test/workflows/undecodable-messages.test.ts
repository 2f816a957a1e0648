import type { temporal } from '@temporalio/proto';
import { describe, expect, it } from 'vitest';
import { BudgetClient, budgetView } from '../../src/budget/client.ts';
import type { WindowSettings } from '../../src/budget/rules/permits.ts';
import * as definitions from '../../src/contract.ts';
import { exportState, startExport } from '../../src/operations/exports.ts';
import { startSync, syncState } from '../../src/operations/syncs.ts';
import { budgetWorkflowId, exportWorkflowId } from '../../src/rules/workflow-ids.ts';
import * as workflows from '../../src/workflows/index.ts';
import { endOf } from '../tools/temporal/end-of.ts';
import { sitePlan } from '../tools/temporal/export-activities.ts';
import { devServerEnvironment, forThisFile } from '../tools/temporal/temporal.ts';
import { replayChains, withWorker } from '../tools/temporal/workflow-run.ts';

/*
 * Payloads that no reader understands, as other programs, other SDKs or a wrong codec send them: the SDK's client makes
 * none, so they go to the server directly.
 */

type Payload = temporal.api.common.v1.IPayload;

const env = await forThisFile(devServerEnvironment());

const bytes = (text: string) => new TextEncoder().encode(text);
const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});
const sound = payload('json/plain', '{}');
const undecodable: Payload[] = [
  payload('json/plain', '{"leaseId": "q'),
  payload('json/plain', ''),
  payload('binary/encrypted', 'x'),
  payload('json/protobuf', '{}'),
  payload('binary/null', 'not null'),
  { metadata: {}, data: bytes('{}') },
  { data: bytes('{}') },
];

async function signal(workflowId: string, signalName: string, payloads: Payload[]): Promise<void> {
  const { namespace = 'default' } = env;
  const execution = { workflowId };
  await env.client.workflowService.signalWorkflowExecution({
    namespace,
    workflowExecution: execution,
    signalName,
    input: { payloads },
  });
}

/** What the workflow, or the server, says of a query with this input. */
async function query(workflowId: string, payloads: Payload[], queryType = 'state'): Promise<unknown> {
  const { namespace = 'default' } = env;
  const asked = { queryType, queryArgs: { payloads } };
  return env.client.workflowService.queryWorkflow({ namespace, execution: { workflowId }, query: asked });
}

/** Why the update was refused, or null. */
async function update(workflowId: string, name: string, payloads: Payload[]): Promise<string | null> {
  const { namespace = 'default' } = env;
  const { outcome } = await env.client.workflowService.updateWorkflowExecution({
    namespace,
    workflowExecution: { workflowId },
    waitPolicy: { lifecycleStage: 3 },
    request: { meta: { updateId: crypto.randomUUID() }, input: { name, args: { payloads } } },
  });
  return outcome?.failure?.message ?? null;
}

async function failedTasks(workflowId: string): Promise<number> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes).length;
}

const settings: WindowSettings = { requests: 20, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
const org = `odd-${process.pid}`;

describe('messages that cannot be decoded (X5)', () => {
  it('harm no budget: signals are ignored and counted, updates refused, queries answered', async () => {
    await withWorker(env, {}, async ({ taskQueue }) => {
      const client = new BudgetClient(env.client, taskQueue, new Map([[org, settings]]));
      const workflowId = budgetWorkflowId(org);
      await client.configure(org);
      for (const odd of undecodable) {
        await signal(workflowId, 'reportLease', [odd]);
        await signal(workflowId, 'reportLease', [sound, odd]);
        await signal(workflowId, 'retryKey', [odd]);
        await signal(workflowId, 'noSuchSignal', [odd]);
        expect(await update(workflowId, 'configureBudget', [odd])).toMatch(/^(the input|requests): expected /);
        await expect(query(workflowId, [odd])).resolves.toBeTruthy();
      }
      // `binary/null` is understood as no input, which a signal without input has.
      const ignoredSignals = 3 * undecodable.length - 1;
      expect(await budgetView(env.client, org)).toMatchObject({ limit: 20, used: 0, ignored: ignoredSignals });
      expect(await failedTasks(workflowId)).toBe(0);
      await env.client.workflow.getHandle(workflowId).terminate();
    });
  });

  it('harm no export and no pass', async () => {
    // Without the other activities they stay where they begin.
    await withWorker(env, { planExport: async () => sitePlan }, async ({ taskQueue }) => {
      const domain = 'docs.acme.example';
      await startExport(env.client, taskQueue, { org, domain, parameters: {} }, 'refuse');
      const pass = { org, project: 'prj_1', pass: 'sweep', class: 'sweep' } as const;
      const sync = await startSync(env.client, taskQueue, pass);
      const workflowId = exportWorkflowId(org, domain);
      for (const odd of undecodable) {
        for (const name of ['phase', 'retryKey']) await signal(workflowId, name, [odd]);
        expect(await update(workflowId, 'approve', [odd])).toBeTruthy();
        expect(await update(workflowId, 'pollNow', [odd])).toBeTruthy();
        await expect(query(workflowId, [odd])).resolves.toBeTruthy();
        await signal(sync.workflowId, 'permitsFreed', [odd]);
        await expect(query(sync.workflowId, [odd])).resolves.toBeTruthy();
      }
      expect(await exportState(env.client, org, domain)).toMatchObject({
        phase: 'starting',
        ignored: 2 * undecodable.length - 1,
      });
      expect(await syncState(env.client, pass)).toMatchObject({ phase: 'starting', ignored: undecodable.length - 1 });
      for (const id of [workflowId, sync.workflowId]) {
        const { details } = await endOf(env.client.workflow.getHandle(id));
        expect(details).toMatch(/\| ignored \| \d+ signals that made no sense \|/);
      }
      expect(await failedTasks(workflowId)).toBe(0);
      expect(await failedTasks(sync.workflowId)).toBe(0);
      await env.client.workflow.getHandle(workflowId).terminate();
      await sync.terminate();
    });
  });
});

/** What a person may type into the Temporal UI: nothing that any workflow takes. */
const senseless = ['7', '"x"', 'null', 'true', '[]', '[{}]', '{}', '{"org": 5, "kind": 5, "entryId": 5}'];

/** The messages that each workflow takes, by name. */
const taken = {
  rateBudget: [
    definitions.askPermitsUpdate,
    definitions.reportLeaseSignal,
    definitions.configureBudgetUpdate,
    definitions.overrideBudgetUpdate,
    definitions.pauseBudgetUpdate,
    definitions.retryKeySignal,
    definitions.budgetStateQuery,
    definitions.budgetLedgerQuery,
  ],
  exportSite: [
    definitions.exportStateQuery,
    definitions.pollNowUpdate,
    definitions.approveUpdate,
    definitions.rejectUpdate,
    definitions.phaseSignal,
    definitions.retryKeySignal,
  ],
  rollBack: [definitions.exportStateQuery],
  syncFeedback: [definitions.syncStateQuery, definitions.permitsFreedSignal],
};

const inputs: Record<keyof typeof taken, object> = {
  rateBudget: { org, settings },
  exportSite: { org, domain: 'd.example', parameters: {} },
  rollBack: { org, domain: 'd.example', version: 'v1', reason: null },
  syncFeedback: { org, project: 'prj_2', pass: 'sweep', class: 'sweep' },
};

describe('every message of every workflow (X5)', () => {
  it('has a place in this table', () => {
    const all = Object.values(definitions).flatMap((value) => ('type' in value ? [`${value.type} ${value.name}`] : []));
    const here = Object.values(taken).flatMap((each) => each.map(({ type, name }) => `${type} ${name}`));
    expect(new Set(here)).toEqual(new Set(all));
  });

  it.each(Object.keys(taken) as (keyof typeof taken)[])('of any shape leaves %s running', async (workflow) => {
    // Without the other activities each stays where it begins.
    await withWorker(env, { planExport: async () => sitePlan }, async ({ taskQueue }) => {
      const workflowId = crypto.randomUUID();
      const handle = await env.client.workflow.start(workflow, { workflowId, taskQueue, args: [inputs[workflow]] });
      for (const { type, name } of taken[workflow]) {
        for (const text of senseless) {
          const odd = payload('json/plain', text);
          if (type === 'signal') await signal(workflowId, name, [odd]);
          else if (type === 'query') await expect(query(workflowId, [odd], name)).resolves.toBeTruthy();
          // Null ends an override or a pause.
          else if (text !== 'null' || name.startsWith('ask')) {
            expect([name, text, await update(workflowId, name, [odd])]).toEqual([name, text, expect.any(String)]);
          }
        }
      }
      expect(await failedTasks(workflowId)).toBe(0);
      expect((await handle.describe()).status.name).toBe('RUNNING');
      await handle.terminate();
    });
  });
});

describe('an input that cannot be decoded, or makes no sense (X5)', () => {
  it.each(Object.keys(workflows))('ends %s with a failure that says so', async (name) => {
    await withWorker(env, {}, async ({ taskQueue }) => {
      const { namespace = 'default' } = env;
      const started: { workflowId: string; runId: string }[] = [];
      for (const input of [...undecodable, ...senseless.map((text) => payload('json/plain', text)), null]) {
        const workflowId = crypto.randomUUID();
        const { runId } = await env.client.workflowService.startWorkflowExecution({
          namespace,
          workflowId,
          workflowType: { name },
          taskQueue: { name: taskQueue },
          requestId: workflowId,
          input: { payloads: input === null ? [] : [input] },
        });
        const handle = env.client.workflow.getHandle(workflowId);
        await expect(handle.result()).rejects.toMatchObject({
          cause: {
            type: 'InvalidInput',
            message: expect.stringMatching(/^(the input|org|kind|entryId|workflowId): expected /),
          },
        });
        started.push({ workflowId, runId });
      }
      await replayChains(env, started);
    });
  });
});
