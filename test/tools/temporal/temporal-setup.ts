import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import type { TestProject } from 'vitest/node';
import { devServerTool, resolveBinary } from '../../../src/local/binaries.ts';
import { startDevServer } from '../../../src/local/dev-server.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { searchAttributes } from '../../../src/rules/workflow-ids.ts';
import { testServerTool } from './test-server-tool.ts';

/** What the set-up hands to every test file of the project `temporal`. */
export interface TemporalTestContext {
  devServer: { address: string; namespace: string };
  devServerBinary: string;
  testServerBinary: string;
  /** The bundle of `src/workflows/index.ts` as it is now, or why it could not be bundled. */
  bundle: { codePath: string } | { error: string };
}

declare module 'vitest' {
  export interface ProvidedContext {
    temporal: TemporalTestContext;
  }
}

/** Runs once before the first test file that needs Temporal: one real server, one workflow bundle. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  const devServerBinary = (await resolveBinary(devServerTool, { onProgress })).path;
  const testServerBinary = (await resolveBinary(testServerTool, { onProgress })).path;
  const folder = await mkdtemp(join(tmpdir(), 'docferry-test-'));
  const bundling = bundleWorkflows(folder);
  const server = await startDevServer({
    binary: devServerBinary,
    port: await findFreePort(),
    searchAttributes: Object.values(searchAttributes),
    logFile: join(folder, 'server.log'),
  });
  // Should the run be cut short, the server must not stay; it holds nothing that could be lost.
  const killAtExit = () => process.kill(server.pid, 'SIGKILL');
  process.once('exit', killAtExit);
  const { address, namespace } = server;
  const bundle = await bundling;
  project.provide('temporal', {
    devServer: { address, namespace },
    devServerBinary,
    testServerBinary,
    bundle,
  });
  return async () => {
    await server.stop();
    process.off('exit', killAtExit);
    await rm(folder, { recursive: true });
  };
}

/** A broken workflow must fail the tests that use it, not those beside them. */
async function bundleWorkflows(folder: string): Promise<TemporalTestContext['bundle']> {
  const workflowsPath = fileURLToPath(new URL('../../../src/workflows/index.ts', import.meta.url));
  if (!existsSync(workflowsPath)) return { error: `${workflowsPath} does not exist` };
  try {
    const logger = new DefaultLogger('ERROR');
    // As the build does.
    const failureConverterPath = fileURLToPath(new URL('../../../src/temporal/failure-converter.ts', import.meta.url));
    const workflowInterceptorModules = ['../../../src/workflows/traces.ts', './continued-runs.ts'].map((module) =>
      fileURLToPath(new URL(module, import.meta.url)),
    );
    const preloadModules = [workflowsPath];
    const options = { workflowsPath, failureConverterPath, workflowInterceptorModules, preloadModules, logger };
    const { code } = await bundleWorkflowCode(options);
    const codePath = join(folder, 'workflow-bundle.js');
    await writeFile(codePath, code);
    return { codePath };
  } catch (error) {
    return { error: String(error) };
  }
}
