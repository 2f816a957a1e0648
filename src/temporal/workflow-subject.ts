/** Whose work a workflow does. */
export interface WorkflowSubject {
  org?: string;
  domain?: string;
  project?: string;
}

/** Which part of an id comes after the organization. */
const partAfterOrg: Readonly<Record<string, 'domain' | 'project' | null>> = {
  export: 'domain',
  record: 'domain',
  sync: 'project',
  budget: null,
  check: null,
  webhook: null,
  watch: null,
  audit: null,
};

/** Read from the workflow's id (`workflow-ids.ts`); empty for an id of other programs. */
export function subjectOfWorkflow(workflowId: string): WorkflowSubject {
  const [kind = '', org, what] = withoutSchedule(workflowId).split(':');
  const part = Object.hasOwn(partAfterOrg, kind) ? partAfterOrg[kind] : undefined;
  if (part === undefined || !org) return {};
  return part === null || !what ? { org } : { org, [part]: what };
}

/** A scheduled run is named like what it starts, with the time appended by Temporal. */
function withoutSchedule(workflowId: string): string {
  const [, target = workflowId] = /^scheduled:(.+?)(?:-\d{4}-\d\d-\d\dT[\d:.]+Z)?$/.exec(workflowId) ?? [];
  return target;
}
