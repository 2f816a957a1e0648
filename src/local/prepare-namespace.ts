import type { Connection } from '@temporalio/client';
import { msToTs, requiredTsToMs } from '@temporalio/common/lib/time.js';

const indexedValueTypes = { Text: 1, Keyword: 2, Int: 3, Double: 4, Bool: 5, Datetime: 6, KeywordList: 7 } as const;

/** Search attributes by name, with their types as Temporal's own command line spells them. */
export type SearchAttributes = Readonly<Record<string, keyof typeof indexedValueTypes>>;

/** Registers the search attributes that the namespace does not have yet. */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
  wanted: SearchAttributes,
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(wanted).filter(([name]) => customAttributes[name] === undefined);
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, indexedValueTypes[type]]));
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
