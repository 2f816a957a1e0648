import { join } from 'node:path';
import { devServerTool, resolveBinary } from '../../../src/local/binaries.ts';
import { endServer, launchServer, serverArguments, waitUntilReady } from '../../../src/local/dev-server.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { searchAttributes } from '../../../src/rules/workflow-ids.ts';

interface RecordingServer {
  address: string;
  stop(): Promise<void>;
}

const namespace = 'default';
const readyLimitMs = 60_000;

/**
 * A Temporal server in memory. It suggests to continue as new after `longHistory` events, so that short runs do what
 * otherwise only long ones do.
 */
export async function startRecordingServer(folder: string, longHistory?: number): Promise<RecordingServer> {
  const { path } = await resolveBinary(devServerTool, { onProgress: (line) => process.stderr.write(`${line}\n`) });
  const port = await findFreePort();
  const ui = null;
  const own = serverArguments({ port, ui, namespace, dbFile: undefined });
  const suggested =
    longHistory === undefined
      ? []
      : ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${longHistory}`];
  const server = await launchServer(path, [...own, ...suggested], join(folder, 'server.log'));
  const killAtExit = () => process.kill(server.pid, 'SIGKILL');
  process.once('exit', killAtExit);
  await waitUntilReady({ port, ui, namespace, searchAttributes: Object.values(searchAttributes) }, readyLimitMs);
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      await endServer(server);
      process.off('exit', killAtExit);
    },
  };
}
