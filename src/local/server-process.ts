import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeProcess } from './process-identity.ts';

export interface ProcessExit {
  /** Null when a signal ended it, or when it was not a child of this process, so that its code is unknown. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server's process, started here or adopted. */
export interface ServerProcess {
  pid: number;
  startedAt: string;
  exited: Promise<ProcessExit>;
}

const pollMs = 500;
/** The environment passed to the server: no key or other secret stays readable in a long-lived process. */
const passedVariables = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ'];

/**
 * Starts the program in a separate process group, out of reach of a Ctrl-C in the terminal. It writes directly to the log
 * file, so that it can outlive this process. Rejects when it cannot be started.
 */
export async function launchServer(program: string, args: readonly string[], logFile: string): Promise<ServerProcess> {
  await mkdir(dirname(logFile), { recursive: true });
  const log = await open(logFile, 'a', 0o600);
  try {
    const env = Object.fromEntries(passedVariables.map((name) => [name, process.env[name]]));
    const child = withPrivateFiles(() =>
      spawn(program, args, { detached: true, stdio: ['ignore', log.fd, log.fd], env }),
    );
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    return { pid, startedAt: (await describeProcess(pid))?.startedAt ?? 'ended at once', exited };
  } finally {
    await log.close();
  }
}

/** What the started process creates is for this user alone: its database holds whatever workflows are given. */
function withPrivateFiles<T>(start: () => T): T {
  const before = process.umask(0o077);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** A running process that another process started. */
export function watchServer(pid: number, startedAt: string): ServerProcess {
  const gone = async (): Promise<ProcessExit> => {
    while (await isRunning(pid, startedAt)) await sleep(pollMs);
    return { code: null, signal: null };
  };
  return { pid, startedAt, exited: gone() };
}

/** Asks the process to end, kills it after `graceMs`, and resolves when it is gone. */
export async function endServer({ pid, startedAt, exited }: ServerProcess, graceMs = 30_000): Promise<void> {
  const send = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (await isRunning(pid, startedAt)) process.kill(pid, signal);
  };
  const waiting = new AbortController();
  await send('SIGTERM');
  const inTime = await Promise.race([
    exited.then(() => true),
    sleep(graceMs, false, { signal: waiting.signal }).catch(() => false),
  ]);
  waiting.abort();
  if (!inTime) await send('SIGKILL');
  await exited;
}

async function isRunning(pid: number, startedAt: string): Promise<boolean> {
  return (await describeProcess(pid))?.startedAt === startedAt;
}
