import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../budget/client.ts';
import type { WindowSettings, WindowView } from '../../budget/rules/permits.ts';
import { untouchedView } from '../../budget/rules/window-view.ts';
import type { Installation } from '../../operations/installation.ts';
import type { Trouble } from '../../operations/status.ts';
import type { ConsoleSetting } from '../console-setting.ts';

/** The window of an organization; null with the trouble when its budget does not answer. */
export interface OrganizationBudget {
  org: string;
  view: WindowView | null;
  trouble: Trouble | null;
}

export async function readBudget(
  { askWorker, explain }: ConsoleSetting,
  installation: Installation,
  { org, budget }: { org: string; budget: WindowSettings },
): Promise<OrganizationBudget> {
  try {
    const client = await installation.temporal();
    const view = await askWorker(client, () => budgetView(client, org));
    return { org, view, trouble: null };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { org, view: untouchedView(budget), trouble: null };
    return { org, view: null, trouble: explain(error) };
  }
}
