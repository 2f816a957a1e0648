import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Bundles the built workflows into `dist/workflow-bundle.js`, which workers load; silent unless it fails. */
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../src/workflows/index.js', import.meta.url)),
  logger: new DefaultLogger('ERROR'),
});
await writeFile(new URL('../workflow-bundle.js', import.meta.url), code);
