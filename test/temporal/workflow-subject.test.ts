import { describe, expect, it } from 'vitest';
import {
  budgetWorkflowId,
  exportWorkflowId,
  keyCheckWorkflowId,
  recordWorkflowId,
  refreshWorkflowId,
  scheduledRunId,
  syncWorkflowId,
  watchWorkflowId,
  webhookWorkflowId,
} from '../../src/rules/workflow-ids.ts';
import { subjectOfWorkflow } from '../../src/temporal/log.ts';

describe('subjectOfWorkflow', () => {
  const ofSite = { org: 'acme', domain: 'docs.acme.example' };
  const ofProject = { org: 'acme', project: 'prj-2026-01-01' };

  it.each([
    [exportWorkflowId('acme', 'docs.acme.example'), ofSite],
    [recordWorkflowId('acme', 'docs.acme.example', 'f3b1'), ofSite],
    [syncWorkflowId('acme', 'prj-2026-01-01', 'sweep'), ofProject],
    [budgetWorkflowId('acme'), { org: 'acme' }],
    [keyCheckWorkflowId('acme'), { org: 'acme' }],
    [webhookWorkflowId('acme', 'ops', 'msg_1'), { org: 'acme' }],
  ])('reads %s', (id, subject) => {
    expect(subjectOfWorkflow(id)).toEqual(subject);
  });

  it('reads scheduled runs, to whose ids Temporal appends the time', () => {
    const site = scheduledRunId({ kind: 'export', ...ofSite });
    const project = scheduledRunId({ kind: 'sync', ...ofProject, pass: 'incremental' });
    for (const time of ['', '-2026-11-22T11:30:00Z']) {
      expect(subjectOfWorkflow(site + time)).toEqual(ofSite);
      expect(subjectOfWorkflow(project + time)).toEqual(ofProject);
      expect(subjectOfWorkflow(refreshWorkflowId('acme-2') + time)).toEqual({ org: 'acme-2' });
      expect(subjectOfWorkflow(watchWorkflowId('acme-2') + time)).toEqual({ org: 'acme-2' });
    }
  });

  it.each(['', 'export', 'export:', 'other:acme:docs', 'constructor:acme'])('knows nothing of %j', (id) => {
    expect(subjectOfWorkflow(id)).toEqual({});
  });
});
