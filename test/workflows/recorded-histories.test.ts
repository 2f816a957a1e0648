import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkerOptions } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import * as definitions from '../../src/contract.ts';
import { workflowTypes } from '../../src/rules/workflow-ids.ts';
import { workflowTraces } from '../../src/temporal/traces.ts';
import { type Build, builds, carry } from '../tools/temporal/patched-workflow.ts';
import { devServerEnvironment, workflowBundle } from '../tools/temporal/temporal.ts';

const folder = 'test/histories';
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));

type WorkflowBundle = NonNullable<WorkerOptions['workflowBundle']>;

interface HistoryJson {
  events: {
    eventType: string;
    activityTaskScheduledEventAttributes?: { activityType: { name: string } };
    workflowExecutionSignaledEventAttributes?: { signalName: string };
    workflowExecutionUpdateAcceptedEventAttributes?: { acceptedRequest: { input: { name: string } } };
  }[];
}

const typeOf = (file: string) => basename(file).replace(/-.*$/, '');

const read = (file: string): HistoryJson => JSON.parse(readFileSync(join(folder, file), 'utf8'));

/** What stopped the replay of each of these histories, in their order; undefined where nothing did. */
async function replay(
  histories: readonly HistoryJson[],
  bundle: WorkflowBundle = workflowBundle(),
): Promise<(Error | undefined)[]> {
  const errors: (Error | undefined)[] = [];
  const recorded = histories.map((history) => ({ workflowId: 'recorded', history: historyFromJSON(history) }));
  const replayed = Worker.runReplayHistories({ workflowBundle: bundle, sinks: workflowTraces }, recorded);
  for await (const { error } of replayed) errors.push(error);
  return errors;
}

describe('recorded histories of released workflows (X2)', () => {
  it('are there for every workflow', () => {
    const types = new Set(files.map(typeOf));
    expect([...types].sort()).toEqual(Object.values(workflowTypes).sort());
  });

  it('hold every message', () => {
    const events = files.flatMap((file) => read(file).events);
    const signals = events.map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
    const updates = events.map(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest.input.name,
    );
    const seen = new Set([...signals, ...updates]);
    const sent = Object.values(definitions).filter((value) => 'type' in value && value.type !== 'query');
    expect(sent.length).toBeGreaterThan(5);
    expect(sent.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
  });

  it.each([
    ['TIMER_FIRED', ['exportSite', 'rateBudget', 'syncFeedback']],
    ['WORKFLOW_EXECUTION_CANCEL_REQUESTED', ['exportSite', 'rateBudget', 'rollBack', 'runScheduled', 'syncFeedback']],
    ['WORKFLOW_EXECUTION_CONTINUED_AS_NEW', ['exportSite', 'rateBudget', 'syncFeedback']],
    ['SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED', ['rateBudget']],
  ])('hold what long runs meet: %s', (event, types) => {
    const having = files.filter((file) =>
      read(file).events.some(({ eventType }) => eventType === `EVENT_TYPE_${event}`),
    );
    expect([...new Set(having.map(typeOf))].sort()).toEqual(expect.arrayContaining(types));
  });

  describe('replay with the current code', () => {
    let errors: (Error | undefined)[] = [];
    beforeAll(async () => {
      errors = await replay(files.map(read));
    });

    it('all of them', () => expect(errors).toHaveLength(files.length));

    it.each(files)('%s', (file) => {
      const error = errors[files.indexOf(file)];
      if (error) throw error;
    });
  });

  it('replay where the worker writes traces too', async () => {
    const code = `globalThis.docferryTraces = true;${readFileSync(workflowBundle().codePath, 'utf8')}`;
    expect((await replay(files.map(read), { code })).filter((error) => error !== undefined)).toEqual([]);
  });

  it('would not replay if a workflow took another step: the guard works', async () => {
    const file = files.find((name) => basename(name).startsWith('exportSite')) ?? '';
    const history = read(file);
    const step = history.events.find((event) => event.activityTaskScheduledEventAttributes);
    if (step?.activityTaskScheduledEventAttributes) {
      step.activityTaskScheduledEventAttributes.activityType.name = 'anotherActivity';
    }
    expect(await replay([history, read(file)])).toEqual([expect.any(DeterminismViolationError), undefined]);
  });
});

describe('a step that a build adds (docs/upgrading.md)', () => {
  const made = new Map<Build, { history: HistoryJson; bundle: WorkflowBundle }>();
  beforeAll(async () => {
    const workflowsPath = fileURLToPath(new URL('../tools/temporal/patched-workflow.ts', import.meta.url));
    const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
    const env = await devServerEnvironment();
    const { client, nativeConnection: connection } = env;
    const step = async () => {};
    const activities = { fetchIt: step, checkIt: step, publishIt: step };
    for (const build of builds) {
      const workflowId = `carry-${build}-${process.pid}`;
      const bundle = { code: `globalThis.build = '${build}';${code}` };
      const worker = await Worker.create({ connection, taskQueue: workflowId, workflowBundle: bundle, activities });
      const run = { taskQueue: workflowId, workflowId };
      await worker.runUntil(() => client.workflow.execute(carry, run));
      const history = historyToJSON(await client.workflow.getHandle(workflowId).fetchHistory());
      made.set(build, { history: JSON.parse(history), bundle });
    }
    await env.teardown();
  });

  it.each([
    ['before', ['before']],
    ['patched', ['before', 'patched', 'deprecated']],
    ['deprecated', ['patched', 'deprecated', 'after']],
    ['after', ['deprecated', 'after']],
  ] as const)('the build %s goes on with the histories of %j, and no others', async (build, expected) => {
    const { bundle } = made.get(build) ?? {};
    const errors = await replay(
      [...made.values()].map(({ history }) => history),
      bundle,
    );
    expect(builds.filter((_, nth) => errors[nth] === undefined)).toEqual(expected);
    for (const error of errors) if (error) expect(error).toBeInstanceOf(DeterminismViolationError);
  });
});
