import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Bundles the built workflows into `dist/workflow-bundle.js`, which workers load; silent unless it fails. */
const workflowsPath = fileURLToPath(new URL('../src/workflows/index.js', import.meta.url));
const failureConverterPath = fileURLToPath(new URL('../src/temporal/failure-converter.js', import.meta.url));
const { code } = await bundleWorkflowCode({
  workflowsPath,
  failureConverterPath,
  workflowInterceptorModules: [fileURLToPath(new URL('../src/workflows/traces.js', import.meta.url))],
  // Loaded once a worker instead of once a run (decisions/0014): no module may keep anything of a run.
  preloadModules: [workflowsPath],
  logger: new DefaultLogger('ERROR'),
});
await writeFile(new URL('../workflow-bundle.js', import.meta.url), code);
