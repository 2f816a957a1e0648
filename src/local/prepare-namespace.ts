import type { Connection } from '@temporalio/client';
import { msToTs, requiredTsToMs } from '@temporalio/common/lib/time.js';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's interface. */
const keyword = 2;

/** Registers the search attributes of type Keyword that the namespace does not have yet. */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
  wanted: readonly string[],
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = wanted.filter((name) => customAttributes[name] === undefined);
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, keyword]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
}

/** Sets how many days the namespace keeps closed workflows, unless it does already. */
export async function setRetention(connection: Connection, namespace: string, days: number): Promise<void> {
  const { config } = await connection.workflowService.describeNamespace({ namespace });
  const retention = msToTs(`${days} days`);
  const current = config?.workflowExecutionRetentionTtl;
  if (current && requiredTsToMs(current, 'retention') === requiredTsToMs(retention, 'retention')) return;
  await connection.workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: retention },
  });
}
