import { type Client, isGrpcServiceError } from '@temporalio/client';
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../rules/workflow-ids.ts';

const answerWithinMs = 10_000;
/** `INDEXED_VALUE_TYPE_KEYWORD` and the status "not found" of Temporal's interface. */
const keyword = 2;
const notFound = 5;
const dayMs = 86_400_000;

/** Docferry's search attributes (architecture.md) in a namespace. */
export interface SearchAttributeState {
  present: string[];
  missing: string[];
  /** Registered with another type than Keyword. */
  mistyped: string[];
}

/** Version of the server, e.g. `1.29.1`; empty when it does not say. */
export async function serverVersion(client: Client): Promise<string> {
  const { serverVersion: version } = await answering(client, () => client.workflowService.getSystemInfo({}));
  return version ?? '';
}

/** The client's namespace; null when the server does not know it. */
export async function describeNamespace(client: Client): Promise<{ retentionDays: number | null } | null> {
  try {
    const { namespace } = client.options;
    const { config } = await answering(client, () => client.workflowService.describeNamespace({ namespace }));
    const ms = optionalTsToMs(config?.workflowExecutionRetentionTtl);
    return { retentionDays: ms === undefined ? null : Math.round(ms / dayMs) };
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === notFound) return null;
    throw error;
  }
}

/** Creates the client's namespace, in which closed workflows stay for `retentionDays`. */
export async function createNamespace(client: Client, retentionDays: number): Promise<void> {
  const { namespace } = client.options;
  const workflowExecutionRetentionPeriod = msToTs(retentionDays * dayMs);
  await answering(client, () =>
    client.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod }),
  );
}

export async function searchAttributeState(client: Client): Promise<SearchAttributeState> {
  const { namespace } = client.options;
  const { customAttributes } = await answering(client, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  );
  const names = Object.values(searchAttributes);
  return {
    present: names.filter((name) => customAttributes[name] === keyword),
    missing: names.filter((name) => customAttributes[name] === undefined),
    mistyped: names.filter((name) => ![undefined, keyword].includes(customAttributes[name])),
  };
}

function answering<Answer>(client: Client, ask: () => Promise<Answer>): Promise<Answer> {
  return client.withDeadline(Date.now() + answerWithinMs, ask);
}
