import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

/**
 * Saves the histories of all docferry workflows of a server for the replay test: `npm run build`, then
 * `node dist/test/tools/temporal/record-histories.js 127.0.0.1:7233 FOLDER`. Record against the sandbox only; keep a few
 * varied ones in test/histories, without paths of the machine. A budget's history may be cut before a workflow task.
 */
async function record(address: string, folder: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection });
    await mkdir(folder, { recursive: true });
    let number = 0;
    for await (const { workflowId, runId, type } of workflow.list({ query: 'DocferryOrg IS NOT NULL' })) {
      number += 1;
      const history = await workflow.getHandle(workflowId, runId).fetchHistory();
      await writeFile(join(folder, `${type}-${number}.json`), `${historyToJSON(history)}\n`);
    }
    process.stdout.write(`${number} histories saved in ${folder}\n`);
  } finally {
    await connection.close();
  }
}

const [address, folder] = process.argv.slice(2);
if (!address || !folder) throw new Error('usage: record-histories <address> <folder>');
await record(address, folder);
