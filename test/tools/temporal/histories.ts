import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Scene } from '../scene.ts';

/** Every history of the scene's organization as text: payloads decoded, failures and attributes included. */
export async function histories({ client, org }: Pick<Scene, 'client' | 'org'>): Promise<string> {
  const texts: string[] = [];
  const query = `DocferryOrg = "${org}"`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const json = historyToJSON(await handle.fetchHistory());
    const description = await handle.describe();
    texts.push(json, JSON.stringify(description.memo ?? {}), JSON.stringify(description.typedSearchAttributes));
    // Payloads stand in the JSON as base64.
    texts.push(
      ...[...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) => Buffer.from(`${data}`, 'base64').toString()),
    );
  }
  return texts.join('\n');
}
