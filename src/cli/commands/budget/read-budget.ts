import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../../budget/budget.ts';
import type { OrganizationConfig } from '../../../config/config.ts';
import type { WindowView } from '../../../budget/rules/permits.ts';
import { untouchedView } from '../../../budget/rules/untouched-view.ts';
import { askWorker } from '../../ask-worker.ts';
import type { Session } from '../../session.ts';

/** An organization's window now; as configured and all free if it never asked for a permit. */
export async function readBudget({ client, config }: Session, { id, budget }: OrganizationConfig): Promise<WindowView> {
  try {
    return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, id));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return untouchedView(budget);
    throw error;
  }
}
