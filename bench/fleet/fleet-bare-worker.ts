import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createBareActivities } from './fleet-bare-activities.ts';

/*
 * The worker of `fleet-bare-workflows.ts`, with the SDK's own settings: node fleet-bare-worker.js TEMPORAL SERVICE
 * Prints `worker: ready`.
 */

const [address = '', serviceUrl = ''] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('./fleet-bare-workflows.js', import.meta.url)),
  activities: createBareActivities(serviceUrl),
});
process.stdout.write('worker: ready\n');
await worker.run();
