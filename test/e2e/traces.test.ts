import { afterEach, expect, it, vi } from 'vitest';
import { plantedMarkers } from '../../sandbox/index.ts';
import { attributesOf, type Workflows } from '../../src/contract.ts';
import { refreshWorkflowId, workflowTypes } from '../../src/rules/workflow-ids.ts';
import { endTraces, startTraces } from '../../src/temporal/traces.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { type CollectedSpan, type Collector, startCollector } from '../tools/servers/collector.ts';

let scene: Scene | null = null;
let collector: Collector;
afterEach(async () => {
  await scene?.end();
  await endTraces();
  await collector.stop();
  vi.unstubAllEnvs();
});

/** The names from the first span of the trace down to this one; `missing` stands for a run that has not ended. */
function pathOf(span: CollectedSpan, spans: readonly CollectedSpan[]): string[] {
  if (span.parentId === '') return [span.name];
  const parent = spans.find(({ id, traceId }) => id === span.parentId && traceId === span.traceId);
  return [...(parent ? pathOf(parent, spans) : ['missing']), span.name];
}

it('a collector sees an export and a refresh from the command to each request, without a secret or a text', async () => {
  collector = await startCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
  vi.stubEnv('OTEL_SERVICE_NAME', 'docferry-under-test');
  await startTraces();
  scene = await setScene({
    sandbox: { jobSeconds: 1, entries: 300, pages: 3, rejects: 0.02 },
    refresh: '{ every: 1m, share: 50% }',
  });
  const { client, taskQueue, org, domain, folder, configFile, sandbox } = scene;
  await scene.startWorker();
  // Once it fails on the way: types of errors are in spans too.
  sandbox.setFaults({ errors: 1, startErrors: 1 });
  const command = new DocferryProcess(['export', 'start', domain, '--wait', '--config', configFile], { cwd: folder });
  expect(await command.ended(), command.output).toBe(0);
  const refresh = await client.workflow.start<Workflows['refreshFeedback']>(workflowTypes.refreshFeedback, {
    taskQueue,
    workflowId: refreshWorkflowId(org),
    args: [{ org, failover: 'fast' }],
    typedSearchAttributes: attributesOf({ org, phase: 'starting' }),
  });
  await refresh.result();
  const links = sandbox.linkSecrets();
  await scene.end();
  scene = null;
  await endTraces();
  await expect.poll(() => collector.spans().some(({ name }) => name === 'RunWorkflow:refreshFeedback')).toBe(true);

  const spans = collector.spans();
  const paths = spans.map((span) => pathOf(span, spans));
  const begun = ['docferry export start', 'StartWorkflow:exportSite', 'RunWorkflow:exportSite'];
  expect(paths).toEqual(
    expect.arrayContaining([
      [...begun, 'RunActivity:startJob', 'service:start-job'],
      [...begun, 'RunActivity:readJob', 'service:job'],
      [...begun, 'RunActivity:fetchBundle', 'service:bundle-link'],
      ['StartWorkflow:refreshFeedback', 'RunWorkflow:refreshFeedback', 'RunActivity:refreshPages', 'service:feedback'],
    ]),
  );
  // Only the watch goes on while the worker stops.
  expect(paths.filter(([first, step]) => first === 'missing' && step !== 'RunActivity:lookAround')).toEqual([]);
  const outcomes = spans
    .filter(({ name }) => name.startsWith('service:'))
    .map((span) => span.attributes['docferry.outcome']);
  expect(new Set(outcomes)).toEqual(new Set(['ok', 'server-error']));
  const failures = spans
    .filter(({ status }) => status === 'STATUS_CODE_ERROR')
    .map((span) => span.attributes['error.type']);
  expect(failures.length).toBeGreaterThan(0);
  expect(failures).not.toContain(undefined);
  expect(collector.text()).toContain('docferry-under-test');
  expect(links.length).toBeGreaterThan(0);
  for (const secret of [sandbox.apiKey, ...links, ...Object.values(plantedMarkers).flat()]) {
    expect(collector.text().includes(secret), `${secret.slice(0, 12)}… stands in a span`).toBe(false);
  }
});
