import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sandbox } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import { findFreePort } from '../../embedded/ports.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { startBundlePart } from '../processes/bundle-server-part.ts';
import { startEmbedded } from '../processes/embedded-part.ts';
import type { RunningParts } from '../processes/running-parts.ts';
import { sandboxConfigText } from '../processes/sandbox-config.ts';
import { startSandboxPart } from '../processes/sandbox-part.ts';
import { withEmbedded } from '../processes/up-config.ts';
import { startWorkerPart } from '../processes/worker-part.ts';
import type { DemoFolder } from './demo-folder.ts';

/** About 12 pages at 5 requests in 5 s: takes a minute at most, and shows the budget at work. */
const budget = { requests: 5, windowMs: 5_000, window: '5s' };
const entries = 1_150;
const jobSeconds = 8;

/** Everything that runs during the demo. */
export interface Stage extends DemoFolder {
  config: Config;
  sandbox: Sandbox;
  uiUrl: string;
  bundlesUrl: string;
  workerLog: string;
}

/** Starts server, sandbox, bundle server and worker on free ports. */
export async function setStage(
  context: CommandContext,
  parts: RunningParts,
  place: DemoFolder,
  interrupted: AbortSignal,
): Promise<Stage> {
  const { output, env } = context;
  const [port, uiPort, bundlePort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const { sandbox, part } = await startSandboxPart(
    { requests: budget.requests, windowMs: budget.windowMs, entries, jobSeconds },
    { port: '--port', storagePort: '--storage-port' },
  );
  parts.add(part);
  const sandboxPort = Number(new URL(sandbox.url).port);
  await writeFile(place.configFile, sandboxConfigText({ temporalPort: port, sandboxPort, bundlePort, budget }));
  const written = await loadContextConfig({ ...context, env, configFile: place.configFile }, 'required');
  output.note('starting Temporal …');
  const { dbFile } = place;
  const embedded = await startEmbedded(context, { port, uiPort, dbFile, namespace: 'default' }, interrupted);
  parts.add(embedded.part);
  const config = withEmbedded(written, embedded.server.address);
  const bundles = await startBundlePart(output, config.store.bundles, bundlePort, '--bundle-port');
  parts.add(bundles.part);
  const workerLog = join(place.folder, 'worker.log');
  parts.add(await startWorkerPart(config, { file: workerLog }));
  return { ...place, config, sandbox, uiUrl: embedded.uiUrl ?? '', bundlesUrl: bundles.url, workerLog };
}
