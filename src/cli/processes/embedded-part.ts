import { dirname, join } from 'node:path';
import { devServerTool, resolveBinary } from '../../embedded/binaries.ts';
import { type DevServer, startDevServer } from '../../embedded/dev-server.ts';
import { searchAttributes } from '../../model/workflow-ids.ts';
import type { CommandContext } from '../context.ts';
import { failureOf } from '../failures/cli-failure.ts';
import { untilAborted } from '../terminal/signals.ts';
import type { Part } from './running-parts.ts';

export interface EmbeddedSettings {
  port: number;
  uiPort: number;
  /** Absolute. */
  dbFile: string;
  namespace: string;
}

/** Finds, downloads or builds the Temporal program, and starts or adopts its server. Throws `EmbeddedError`. */
export async function startEmbedded(
  { output, env }: CommandContext,
  settings: EmbeddedSettings,
  interrupted: AbortSignal,
): Promise<{ server: DevServer; part: Part }> {
  // Building the program takes minutes, for which a Ctrl-C does not wait.
  const resolving = resolveBinary(devServerTool, { env, onProgress: (line) => output.note(line) });
  const binary = await Promise.race([resolving, untilAborted(interrupted)]);
  interrupted.throwIfAborted();
  if (!binary) throw new Error('the Temporal program was not found');
  const logFile = join(dirname(settings.dbFile), 'temporal.log');
  const server = await startDevServer({
    binary: binary.path,
    ...settings,
    searchAttributes: Object.fromEntries(Object.values(searchAttributes).map((name) => [name, 'Keyword'])),

    logFile,
  });
  if (server.adopted) output.note('took over the Temporal server that an earlier docferry left running');
  return { server, part: partOf(server, logFile) };
}

function partOf(server: DevServer, logFile: string): Part {
  const ended = async () => {
    const { code, signal } = await server.exited;
    const how = signal ?? (code === null ? 'for an unknown reason' : `with exit code ${code}`);
    const hint = `see ${logFile}, then start it again: nothing is lost`;
    return failureOf('TemporalEnded', `the Temporal server ended (${how})`, hint);
  };
  return { name: 'the Temporal server', ended: ended(), stop: () => server.stop() };
}
