import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { attributesOf } from '../../src/contract.ts';
import { feedbackPrivacy } from '../../src/feedback/privacy/privacy.ts';
import { openFeedbackStore } from '../../src/feedback/store/open-feedback-store.ts';
import { startExport } from '../../src/operations/exports.ts';
import { exportWorkflowId, refreshWorkflowId, syncWorkflowId, workflowTypes } from '../../src/rules/workflow-ids.ts';
import { docferry, docferryJson } from '../tools/cli/run-docferry.ts';
import { setScene } from '../tools/scene.ts';
import { startReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';
import { resetRun } from '../tools/temporal/reset-run.ts';

type Kind = 'export' | 'rollback' | 'pass' | 'refresh';

const stuckSite = 'stuck.example';
/** Of a rollout: it does not end while there is a file `hang`. */
const program = '#!/bin/sh\nwhile [ -e hang ]; do sleep 0.2; done\n';
const asking = { interval: 200 };

/** A run of each kind that gets no further, and what docferry says of it. */
async function stuckRuns() {
  const ops = await startReceiver();
  onTestFinished(() => ops.stop());
  const scene = await setScene({
    sandbox: {
      organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', stuckSite] }],
      jobSeconds: 0.2,
      pages: 3,
      entries: 3_000,
      requests: 10_000,
    },
    budget: '{ requests: 10000, window: 1h }',
    sites: [stuckSite],
    refresh: '{ every: 1h }',
    rollout: '[{ directory: { path: ./site }, run: [./hang.sh] }]',
    webhooks: `[{ url: "${ops.url}", secret: ${webhookSecret} }]`,
    watch: { every: '1s' },
  });
  onTestFinished(() => scene.end());
  const { client, taskQueue, org, domain, project, configFile, folder, config } = scene;
  await writeFile(join(folder, 'hang.sh'), program);
  await chmod(join(folder, 'hang.sh'), 0o755);
  await scene.startWorker();
  const publish = async () =>
    (await (await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join')).handle.result()).version;
  const version = await publish();
  scene.sandbox.publishRevision(domain);
  await publish();
  await writeFile(join(folder, 'hang'), '');
  scene.sandbox.setFaults({ slowMs: 25_000, exportErrors: 1e6 });
  const feedback = await openFeedbackStore(config.store.feedback, feedbackPrivacy(config.privacy));
  onTestFinished(() => feedback.close());

  /** With the step that takes long, or fails and is tried again. */
  const kinds = {
    export: {
      type: workflowTypes.exportSite,
      id: () => exportWorkflowId(org, stuckSite),
      input: { org, domain: stuckSite, parameters: {} },
      attributes: { org, domain: stuckSite },
      step: 'readJob',
    },
    rollback: {
      type: workflowTypes.rollBack,
      id: () => exportWorkflowId(org, domain),
      input: { org, domain, version, reason: null },
      attributes: { org, domain },
      step: 'rollOut',
    },
    pass: {
      type: workflowTypes.syncFeedback,
      id: () => syncWorkflowId(org, project, 'sweep'),
      input: { org, project, pass: 'sweep' },
      attributes: { org, project },
      step: 'fetchPages',
    },
    refresh: {
      type: workflowTypes.refreshFeedback,
      id: () => `${refreshWorkflowId(org)}-${new Date().toISOString()}`,
      input: { org },
      attributes: { org },
      step: 'refreshPages',
    },
  };
  const names = Object.keys(kinds) as Kind[];
  const run = (...args: string[]) => docferryJson([...args, '--config', configFile]);
  const json = async (...args: string[]) => (await run(...args)).document;
  const text = async (...args: string[]) => {
    const { stdout, stderr } = await docferry([...args, '--config', configFile]);
    return `${stdout}${stderr}`;
  };

  return {
    ...scene,
    json,
    text,
    run,
    names,
    /** Starts one of each kind, as their schedules, commands and the console do. */
    async start(options: object = {}): Promise<Record<Kind, string>> {
      const started = names.map(async (kind) => {
        const { type, id, input, attributes } = kinds[kind];
        const handle = await client.workflow.start(type, {
          workflowId: id(),
          taskQueue,
          args: [input],
          typedSearchAttributes: attributesOf(attributes),
          ...options,
        });
        return [kind, handle.workflowId];
      });
      return Object.fromEntries(await Promise.all(started));
    },
    /** The step at which a run of a kind is. */
    async stepOf(workflowId: string): Promise<string | undefined> {
      const { raw } = await client.workflow.getHandle(workflowId).describe();
      return raw.pendingActivities?.[0]?.activityType?.name ?? undefined;
    },
    stepName: (kind: Kind) => kinds[kind].step,
    /** How the runs of each kind ended, by what every kind of list says, the oldest first. */
    async rows(): Promise<Record<Kind, string[]>> {
      const runs = async (site: string) => {
        const { runs: found } = (await json('export', 'history', site)) as {
          runs: { outcome: string; reason: string | null }[];
        };
        return found.map(({ outcome, reason }) => `${outcome}: ${reason}`).reverse();
      };
      const passes = async (name: string) =>
        (await feedback.listPasses({ org, project: name }))
          .filter(({ workflowId }) => workflowId.startsWith(name === '' ? 'refresh:' : 'sync:'))
          .map(({ outcome, error }) => `${outcome}: ${error}`)
          .reverse();
      const [exports, rollbacks] = [await runs(stuckSite), (await runs(domain)).slice(2)];
      return {
        export: exports,
        rollback: rollbacks,
        pass: await passes(project),
        refresh: await passes(''),
      };
    },
    /** What was told of failures, as `export.failed stuck.example begun`. */
    told(): string[] {
      const events = ops.received.map(
        ({ body }) => JSON.parse(body) as { type: string; data: { subject?: string; state?: string } },
      );
      return events
        .filter(({ type }) => type.endsWith('.failed'))
        .map(({ type, data }) => `${type} ${data.subject} ${data.state}`)
        .sort();
    },
  };
}

it('a run of any kind that an operator pauses, terminates or resets, or that times out, says so wherever people look (X4)', async () => {
  const stuck = await stuckRuns();
  const { client, domain, project, folder, names, rows, told } = stuck;
  const { namespace } = client.options;
  const atStep = async (ids: Record<Kind, string>) => {
    for (const kind of names)
      await expect.poll(() => stuck.stepOf(ids[kind]), { ...asking, message: kind }).toBe(stuck.stepName(kind));
  };
  const matching = (pattern: RegExp) => expect.stringMatching(pattern);

  // Paused: every run goes on, and leaves no row.
  const first = await stuck.start();
  await atStep(first);
  for (const kind of names) {
    await client.workflowService.pauseActivity({
      namespace,
      execution: { workflowId: first[kind] },
      type: stuck.stepName(kind),
      identity: 'op@host',
      reason: 'we look into it',
    });
  }
  await expect
    .poll(() => stuck.text('export', 'status', stuckSite), asking)
    .toMatch(/readJob +is paused by an operator/);
  await expect.poll(() => stuck.text('export', 'status', domain), asking).toMatch(/rollOut +is paused by an operator/);
  const ofProject = () => stuck.text('feedback', 'status', project);
  await expect.poll(ofProject, asking).toMatch(/fetchPages is paused by an operator/);
  await expect.poll(ofProject, asking).toMatch(/refreshPages is paused by an operator/);
  expect(await rows()).toEqual({ export: [], rollback: [], pass: ['running: null'], refresh: [] });
  expect(told()).toEqual([]);

  // Terminated.
  for (const kind of names) await client.workflow.getHandle(first[kind]).terminate('it was stuck');
  const terminated = matching(/^failed: terminated by \S+@\S+: it was stuck$/);
  await expect
    .poll(rows, asking)
    .toEqual({ export: [terminated], rollback: [terminated], pass: [terminated], refresh: [terminated] });
  const failures = [`export.failed ${stuckSite} begun`, `pass.failed ${project}/sweep begun`];
  await expect.poll(told, asking).toEqual(failures);
  const reason = matching(/^terminated by /);
  expect(await stuck.json('status')).toMatchObject({
    sites: [
      { domain, state: expect.any(String), lastOutcome: 'failed', lastReason: reason },
      { domain: stuckSite, state: 'idle', lastOutcome: 'failed', lastReason: reason },
    ],
    projects: [{ project, state: 'idle', lastPass: 'sweep', lastOutcome: 'failed', lastReason: reason }],
  });
  expect(await stuck.json('history')).toMatchObject({
    ended: expect.arrayContaining([
      expect.objectContaining({ domain, outcome: 'failed', reason }),
      expect.objectContaining({ domain: stuckSite, outcome: 'failed', reason }),
      expect.objectContaining({ project, pass: 'sweep', outcome: 'failed', reason }),
    ]),
  });

  // Out of time.
  await stuck.start({ workflowRunTimeout: '5s' });
  const timedOut = 'failed: timed out, by the limit it was started with';
  const both = [terminated, timedOut];
  await expect.poll(rows, asking).toEqual({ export: both, rollback: both, pass: both, refresh: both });
  // They fail still: nobody is told twice.
  expect(told()).toEqual(failures);

  // Reset: another run goes on from the same point. A pass has one row for both.
  const third = await stuck.start();
  await atStep(third);
  for (const kind of names) await resetRun(client, third[kind], 'latest');
  const reset = matching(/^cancelled: reset by an operator; another run goes on/);
  const three = [...both, reset];
  await expect
    .poll(rows, asking)
    .toEqual({ export: three, rollback: three, pass: [...both, 'running: null'], refresh: three });
  expect(told()).toEqual(failures);
  await rm(join(folder, 'hang'));
  stuck.sandbox.setFaults({ slowMs: 0, exportErrors: 0 });
  for (const kind of names) await client.workflow.getHandle(third[kind]).result();
  const good = matching(/^(published|rolled-back|completed): null$/);
  await expect.poll(rows, asking).toMatchObject({
    export: [...three, good],
    rollback: [...three, good],
    pass: [...both, good],
  });
  await expect
    .poll(told, asking)
    .toEqual([...failures, `export.failed ${stuckSite} ended`, `pass.failed ${project}/sweep ended`].sort());
});
