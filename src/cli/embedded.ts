import { createServer, request as forward } from 'node:http';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { foreignIn, type KnownHosts, knownHosts } from '../console/security/request-guard.ts';
import { listen, PortTaken, type RunningServer, requestLimits, stopListening } from '../http-server.ts';
import { devServerTool, resolveBinary } from '../local/binaries.ts';
import { type DevServer, startDevServer } from '../local/dev-server.ts';
import { counted } from '../rules/text.ts';
import { searchAttributes } from '../rules/workflow-ids.ts';
import { isEmptyPlan, type SchedulePlan } from '../schedules/rules/desired-schedules.ts';
import { applySchedules } from '../schedules/schedules.ts';
import { failoverFor, isOutage, TemporalUnreachable } from '../temporal/connection.ts';
import { type CommandContext, failureOf, type Output } from './context.ts';
import { never, type Part } from './parts.ts';
import { withTemporal } from './session.ts';
import { untilAborted } from './terminal/prompts.ts';

interface EmbeddedSettings {
  port: number;
  /** Of the guard in front of the UI; null for no UI. */
  uiPort: number | null;
  /** Absolute. */
  dbFile: string;
  namespace: string;
}

/** Gets Temporal's program, starts or adopts its server, guards its UI. Throws `EmbeddedError`, `PortTaken`. */
export async function startEmbedded(
  { output, env }: CommandContext,
  { uiPort, ...settings }: EmbeddedSettings,
  interrupted: AbortSignal,
): Promise<{ server: DevServer; uiUrl: string | null; part: Part }> {
  if (settings.port === uiPort)
    throw new PortTaken({ host: '127.0.0.1', port: uiPort, flag: '--ui-port' }, 'the Temporal server itself');
  // Building the program takes minutes, for which a Ctrl-C does not wait.
  const resolving = resolveBinary(devServerTool, { env, onProgress: (line) => output.note(line) });
  const binary = await Promise.race([resolving, untilAborted(interrupted)]);
  interrupted.throwIfAborted();
  if (!binary) throw new Error('the Temporal program was not found');
  const logFile = join(dirname(settings.dbFile), 'temporal.log');
  const server = await startDevServer({
    binary: binary.path,
    ...settings,
    ui: uiPort !== null,
    searchAttributes: Object.values(searchAttributes),
    logFile,
  });
  if (server.adopted) output.note('took over the Temporal server that an earlier docferry left running');
  try {
    const guard = uiPort === null || server.uiUrl === null ? null : await guardUi(new URL(server.uiUrl), uiPort);
    return { server, uiUrl: guard?.url ?? null, part: partOf(server, guard, logFile) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * Passes requests on to Temporal's UI, which would trust every caller: a page of another site under a name that leads here
 * (rebinding) could read and end workflows. Like the console, it answers to names of this machine, and to its own pages
 * alone when a request does more than read. Throws `PortTaken`.
 */
export async function guardUi(ui: URL, port: number): Promise<RunningServer> {
  let known: KnownHosts | null = null;
  const server = createServer(requestLimits, (request, response) => {
    const { method = '', url: path, headers } = request;
    const asked = { method, header: (name: string) => headers[name]?.toString() };
    const foreign = known === null ? 'name' : foreignIn(asked, known);
    if (foreign !== null) {
      const message =
        foreign === 'name' ? 'use the address that docferry printed' : 'not from a page of the Temporal UI';
      response.writeHead(foreign === 'name' ? 421 : 403, { 'Content-Type': 'text/plain' }).end(`${message}\n`);
      return;
    }
    const passed = forward({ host: ui.hostname, port: ui.port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, response, () => {});
    });
    passed.on('error', () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { 'Content-Type': 'text/plain' }).end('the Temporal UI does not answer\n');
    });
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  });
  const host = '127.0.0.1';
  const { port: actual, url } = await listen(server, { host, port, flag: '--ui-port' });
  known = knownHosts({ host, port: actual, url: null });
  return { url, port: actual, stop: () => stopListening(server, 0) };
}

function partOf(server: DevServer, guard: { stop(): Promise<void> } | null, logFile: string): Part {
  const ended = async () => {
    const { code, signal } = await server.exited;
    const how = signal ?? (code === null ? 'for an unknown reason' : `with exit code ${code}`);
    const hint = `see ${logFile}, then start it again: nothing is lost`;
    return failureOf('TemporalEnded', `the Temporal server ended (${how})`, hint);
  };
  const stop = async () => {
    await guard?.stop();
    await server.stop();
  };
  return { name: 'the Temporal server', ended: ended(), stop };
}

const tryAgainAfterMs = 15_000;

/**
 * Applies the schedules of the configuration, as `up` does before it is ready, and says what that changed. If Temporal
 * does not answer, warns and keeps trying in the background until the part is stopped. Throws `ScheduleRefused`.
 */
export async function applySchedulesAtStart(output: Output, config: Config, afterMs = tryAgainAfterMs): Promise<Part> {
  const stop = new AbortController();
  const ended = (await areApplied(output, config)) ? never : applyLater(output, config, afterMs, stop.signal);
  return { name: 'applying the schedules', ended, stop: async () => stop.abort() };
}

async function applyLater(output: Output, config: Config, afterMs: number, stop: AbortSignal): Promise<null> {
  output.warn(`Temporal did not answer for all schedules; trying again every ${afterMs / 1000} s`);
  do await sleep(afterMs, undefined, { signal: stop }).catch(() => {});
  while (!stop.aborted && !(await areApplied(output, config)));
  if (!stop.aborted) output.note('all schedules are applied now');
  return never;
}

/** The applied changes, in three lines for any number of schedules. */
function schedulesText({ create, update, delete: removed, unchanged }: SchedulePlan): string {
  const now = [...create, ...update.map(({ desired }) => desired), ...unchanged];
  const refreshes = now.filter(({ target }) => target.kind === 'refresh').length;
  const changed = [`${create.length} created`, `${update.length} updated`, `${removed.length} deleted`].join(', ');
  return [
    `schedules: ${changed}; \`docferry schedules list\` shows each`,
    `  exports: ${counted(now.length - refreshes, 'site')}`,
    `  feedback: ${counted(refreshes, 'organization')} kept fresh`,
  ].join('\n');
}

/** False when Temporal did not answer, for some of them or at all. */
async function areApplied(output: Output, config: Config): Promise<boolean> {
  try {
    const done = await withTemporal(config, ({ client }) =>
      applySchedules(client, config.temporal.taskQueue, config.organizations, failoverFor(config.temporal)),
    );
    if (!isEmptyPlan(done)) output.note(schedulesText(done));
    return done.unread.length === 0;
  } catch (error) {
    if (error instanceof TemporalUnreachable || isOutage(error)) return false;
    throw error;
  }
}
