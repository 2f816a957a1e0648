import { type Failure, failureOf } from './cli-failure.ts';

/** Errors of the operating system that an operator can fix: what is wrong, and what to do. */
const known: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  EACCES: ['cannot be read or written', 'give the user that runs docferry access to it'],
  EPERM: ['cannot be read or written', 'give the user that runs docferry access to it'],
  EROFS: ['is on a read-only file system', 'name a writable place in the configuration'],
  ENOSPC: ['cannot be written: the disk is full', 'free some space and try again: nothing half-written was kept'],
  EDQUOT: ['cannot be written: the quota is used up', 'free some space and try again: nothing half-written was kept'],
  ENOENT: ['does not exist', 'check the path'],
  ENOTDIR: ['cannot be created: part of the path is a file', 'check the path'],
};

/** An error of the operating system in words for an operator; null when it is another error. */
export function systemFailure(error: unknown): Failure | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code, message } = error;
  if (code === 'EADDRINUSE') {
    const port = 'port' in error ? `port ${String(error.port)}` : 'the port';
    return failureOf('PortTaken', `${port} is in use by another program`, 'stop that program, or choose another port');
  }
  const entry = known[code];
  if (entry === undefined) return null;
  const [what, hint] = entry;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : null;
  return failureOf('FileSystem', path === null ? message : `${path} ${what} (${code})`, hint);
}
