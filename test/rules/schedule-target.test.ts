import { describe, expect, it } from 'vitest';
import {
  type ScheduleTarget,
  scheduleId,
  targetOfScheduleId,
  targetOfWorkflowId,
} from '../../src/rules/workflow-ids.ts';

const site: ScheduleTarget = { kind: 'export', org: 'acme', domain: 'docs.acme.example' };
const pass: ScheduleTarget = { kind: 'sync', org: 'acme', project: 'prj_1', pass: 'sweep' };

describe('ids of schedules', () => {
  it('name the task queue and the target, and can be read back', () => {
    expect(scheduleId('docferry', site)).toBe('docferry:docferry:export:acme:docs.acme.example');
    expect(scheduleId('docferry', pass)).toBe('docferry:docferry:sync:acme:prj_1:sweep');
    const refresh: ScheduleTarget = { kind: 'refresh', org: 'acme-2026' };
    for (const target of [site, pass, refresh])
      expect(targetOfScheduleId('q', scheduleId('q', target))).toEqual(target);
  });

  it("lead to a refresh from the id of its run, which has the schedule's time", () => {
    expect(targetOfWorkflowId('refresh:acme-2026-2026-11-23T06:05:00Z')).toEqual({ kind: 'refresh', org: 'acme-2026' });
  });

  it('are told from those of other task queues, even of one whose name continues ours', () => {
    expect(targetOfScheduleId('q', scheduleId('q2', site))).toBeNull();
    expect(targetOfScheduleId('q', scheduleId('q:sync', site))).toBeNull();
    expect(targetOfScheduleId('q:sync', scheduleId('q:sync', site))).toEqual(site);
  });

  it.each(['nightly', 'docferry:q:export:acme', 'docferry:q:sync:acme:prj_1:yearly', 'docferry:q:budget:acme:x'])(
    '%j is not ours',
    (id) => {
      expect(targetOfScheduleId('q', id)).toBeNull();
    },
  );
});
