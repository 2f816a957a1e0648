import type { Failure } from './cli-failure.ts';
import { exitCodes } from './exit-codes.ts';

/** Errors of the operating system that a person can mend: what, and what to do. */
const known: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  EACCES: ['cannot be read or written', 'make it accessible for the user that runs docferry'],
  EPERM: ['cannot be read or written', 'make it accessible for the user that runs docferry'],
  EROFS: ['is on a read-only file system', 'name a writable place in the configuration'],
  ENOSPC: ['cannot be written: the disk is full', 'free some space and try again: nothing half-written was kept'],
  EDQUOT: ['cannot be written: the quota is used up', 'free some space and try again: nothing half-written was kept'],
  ENOENT: ['does not exist', 'check the path'],
  ENOTDIR: ['cannot be made: a part of the path is a file', 'check the path'],
};

/** An error of the operating system in words for a person; null when it is another error. */
export function systemFailure(error: unknown): Failure | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code, message } = error;
  if (code === 'EADDRINUSE') return portTaken(error);
  const entry = known[code];
  if (entry === undefined) return null;
  const [what, hint] = entry;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : null;
  return {
    code: 'FileSystem',
    message: path === null ? message : `${path} ${what} (${code})`,
    hint,
    exitCode: exitCodes.failed,
  };
}

function portTaken(error: Error): Failure {
  const port = 'port' in error ? `port ${String(error.port)}` : 'the port';
  return {
    code: 'PortTaken',
    message: `${port} is in use by another program`,
    hint: 'stop that program, or choose another port',
    exitCode: exitCodes.failed,
  };
}
