import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { errorCode } from '../files.ts';
import { PortTaken } from '../http-server.ts';
import { ownerOf } from '../local/ports.ts';
import {
  CliFailure,
  type Ending,
  type ExitCode,
  exitCodes,
  type Failure,
  failureOf,
  type Output,
  usageFailure,
} from './context.ts';
import type { HostAndPort } from './flags.ts';
import { onInterrupt, untilAborted } from './terminal/prompts.ts';

/** A server or worker that runs beside others. */
export interface Part {
  name: string;
  /** Resolves or rejects when it ends without being stopped; never settles for parts that cannot. */
  ended: Promise<Failure | null>;
  stop(): Promise<void>;
}

/** What a command has started; stopped in reverse order. */
export class RunningParts {
  readonly #parts: Part[] = [];

  add(part: Part): void {
    this.#parts.push(part);
    // Until a command waits for it, a rejection would count as unhandled.
    part.ended.catch(() => {});
  }

  /** Resolves when the signal is aborted; throws when a part ends before that. */
  async untilAborted(signal: AbortSignal): Promise<void> {
    await this.during(untilAborted(signal));
  }

  /** The work's result; throws when a part ends before it is done. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    const deaths = this.#parts.map(async ({ name, ended }) => {
      const failure = await ended;
      throw new CliFailure(failure ?? failureOf('Ended', `${name} ended unexpectedly`, 'start it again'));
    });
    return Promise.race([work, ...deaths]);
  }

  /** Stops all parts, the last started first, even when one fails to stop. */
  async stop(onFailure: (name: string, error: unknown) => void): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) {
      await part.stop().catch((error: unknown) => onFailure(part.name, error));
    }
  }
}

/** For parts that cannot end unless stopped. */
export const never: Promise<null> = new Promise(() => {});

/** Runs a command that starts parts, and always stops them at the end. A Ctrl-C is a clean end. */
export async function withParts(
  output: Output,
  work: (parts: RunningParts, interrupted: AbortSignal) => Ending,
): Promise<ExitCode> {
  const interrupt = onInterrupt();
  const parts = new RunningParts();
  try {
    return (await work(parts, interrupt.signal)) ?? exitCodes.done;
  } catch (error) {
    if (interrupt.signal.aborted && error === interrupt.signal.reason) return exitCodes.done;
    throw error instanceof PortTaken ? new PortTaken(error.place, await ownerOf(error.place.port)) : error;
  } finally {
    await parts.stop((name, error) => {
      output.warn(`${name} did not stop cleanly: ${error instanceof Error ? error.message : String(error)}`);
    });
    interrupt.dispose();
  }
}

/**
 * Finds out whether this process could listen there. Throws a failure with exit code 2 that names the flag.
 *
 * @returns `ip:port`
 */
export async function freeAddress(flag: string, { host, port }: HostAndPort): Promise<string> {
  try {
    const { address, family } = await lookup(host);
    const server = createServer();
    server.listen(port, address);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  } catch (error) {
    throw cannotListen(flag, `${host}:${port}`, errorCode(error));
  }
}

function cannotListen(flag: string, address: string, code: string | undefined): CliFailure {
  if (code === 'EADDRINUSE') {
    const hint = `stop that program, or choose another port with ${flag}`;
    return new CliFailure({ code: 'PortTaken', message: `${address} is in use`, hint, exitCode: exitCodes.usage });
  }
  const hint = 'use an address of this machine, such as 127.0.0.1, and a port from 1024 on';
  return usageFailure(`${flag}: cannot listen on ${address} (${code ?? 'unknown'})`, hint);
}

/** The old generation is collected when it has grown by this much since the last collection. */
const growthPercent = 25;

/**
 * Keeps the heap near its live size, once everything is loaded: V8 would let garbage of a long pass grow to hundreds of
 * megabytes before the first collection.
 */
export function keepHeapLean(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
