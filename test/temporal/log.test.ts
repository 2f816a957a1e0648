import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLog, logDestination, temporalLogger } from '../../src/temporal/log.ts';

/** What a line of Temporal's becomes in the log. */
function logged(meta?: Record<string, unknown>): Record<string, unknown> {
  const lines: string[] = [];
  temporalLogger(createLog({ write: (line) => lines.push(line) })).log('WARN', 'something happened', meta);
  const [line = '{}'] = lines;
  const { level, time, msg, ...fields } = JSON.parse(line);
  expect({ level, msg, time }).toMatchObject({ level: 40, msg: 'something happened', time: expect.any(String) });
  return fields;
}

describe('temporalLogger', () => {
  const run = { workflowId: 'export:acme:docs.acme.example', runId: 'r-1' };
  const site = { ...run, org: 'acme', domain: 'docs.acme.example' };

  it('names run and site alike, whether a workflow, an activity or the core wrote the line', () => {
    const { workflowId, runId } = run;
    expect(logged(run)).toEqual(site);
    expect(logged({ workflowId, workflowRunId: runId })).toEqual(site);
    expect(logged({ workflow_id: workflowId, run_id: runId })).toEqual(site);
  });

  it('names the project of a sync', () => {
    const fields = logged({ workflowId: 'sync:acme:prj_1:sweep', workflowRunId: 'r-2', activityType: 'fetchPages' });
    expect(fields).toMatchObject({ org: 'acme', project: 'prj_1', runId: 'r-2', activityType: 'fetchPages' });
  });

  it('leaves other lines as they are, and task tokens out', () => {
    expect(logged({ sdkComponent: 'core', taskToken: 'secret' })).toEqual({ sdkComponent: 'core' });
    expect(logged()).toEqual({});
  });

  it('cuts errors down to name and message', () => {
    const error = Object.assign(new Error('no answer'), { request: { headers: 'Bearer key' } });
    expect(logged({ error })).toEqual({ error: { name: 'Error', message: 'no answer' } });
  });
});

describe.skipIf(!existsSync('/dev/full'))('a log on a full disk', () => {
  it('ends no worker, however much there is to say', () => {
    const log = createLog(logDestination({ file: '/dev/full' }));
    for (let line = 0; line < 2_000; line += 1) log.info({ text: 'x'.repeat(1_000) }, 'something happened');
    expect(log.level).toBe('info');
  });
});
