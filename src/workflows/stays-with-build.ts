import type { WorkflowDefinitionOptions } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';

/**
 * Options of a workflow that stays with the build that began it; the others move on (decisions/0110). Said only where a
 * build of a Worker Deployment began it: from other workers the server refuses to hear of it, and stops the workflow.
 */
export function staysWithBuild(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' } : {};
}
