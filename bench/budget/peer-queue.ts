import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { peerSettings } from './peer-environment.ts';
import { createPageReader } from './peer-page.ts';
import type { PeerActivities, readAllPages } from './peer-queue-workflow.ts';

const queue = 'peer';
const pagesQueue = 'peer-pages';
const settings = peerSettings(process.env);

function createActivities(readPage: ReturnType<typeof createPageReader>): PeerActivities {
  return {
    async readPage({ cursor }) {
      const page = await readPage(cursor);
      if (!('waitMs' in page)) return page;
      throw ApplicationFailure.create({ message: 'not now', nextRetryDelay: page.waitMs });
    },
  };
}

Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: settings.temporal });
const workflows = await Worker.create({
  connection,
  taskQueue: queue,
  workflowsPath: fileURLToPath(new URL('./peer-queue-workflow.js', import.meta.url)),
});
const pages = await Worker.create({
  connection,
  taskQueue: pagesQueue,
  activities: createActivities(createPageReader(settings)),
  maxTaskQueueActivitiesPerSecond: (settings.requests * 1_000) / settings.windowMs,
});
const client = new Client({ connection: await Connection.connect({ address: settings.temporal }) });
const entries = await pages.runUntil(
  workflows.runUntil(() =>
    client.workflow.execute<typeof readAllPages>('readAllPages', {
      workflowId: 'peer',
      taskQueue: queue,
      args: [{ pagesQueue }],
    }),
  ),
);
process.stdout.write(`${entries} entries\n`);
process.exit(0);
