import { readFile } from 'node:fs/promises';
import { startSandbox } from '../../sandbox/index.ts';

/*
 * The sandbox as a process of its own, with options that flags cannot say: node fleet-sandbox.js OPTIONS.json
 * Prints a line `sandbox: URL` when it is ready.
 */

const [file = ''] = process.argv.slice(2);
const sandbox = await startSandbox(JSON.parse(await readFile(file, 'utf8')));
process.stdout.write(`sandbox: ${sandbox.url}\n`);
const stop = () => void sandbox.stop().then(() => process.exit(0));
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
