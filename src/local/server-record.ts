import { access, constants, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { errorCode, type FileLock, replaceFile, tryLock } from '../files.ts';
import { DatabaseInUse, DataFolderNotWritable, runCommand, timeLimit } from './run-command.ts';

const schema = z.object({
  /** The server's process and when it was started (`RunningProcess.startedAt`). */
  pid: z.int().positive(),
  startedAt: z.string(),
  port: z.int(),
  /** `host:port` of the UI; null for none. */
  ui: z.string().nullable(),
  dbFile: z.string(),
  /** Digest of the program and its arguments; a server with another fingerprint is replaced, not adopted. */
  fingerprint: z.string(),
  /** The docferry process that last started or adopted the server. */
  owner: z.int().positive(),
});

/** What `<dbFile>.server.json` records about a running server, for the docferry that starts after a kill -9. */
export type ServerRecord = z.infer<typeof schema>;

const recordFile = (dbFile: string) => `${dbFile}.server.json`;

/** The record of a database's server; undefined when there is none or it cannot be parsed. */
async function readRecord(dbFile: string): Promise<ServerRecord | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(recordFile(dbFile), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Writes the record whole or not at all, for this user alone. */
export async function writeRecord(record: ServerRecord): Promise<void> {
  await replaceFile(recordFile(record.dbFile), `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
}

export async function removeRecord(dbFile: string): Promise<void> {
  await rm(recordFile(dbFile), { force: true });
}

/** What distinguishes a process from a later one with the same id. */
interface RunningProcess {
  /** When it started, in the system's own terms; equal only for the same process of the same boot. */
  startedAt: string;
  command: string;
}

/** The live process with this id; undefined when there is none or when it ended entirely and is only not reaped yet. */
export async function describeProcess(pid: number): Promise<RunningProcess | undefined> {
  return process.platform === 'linux' ? describeFromProc(pid) : describeFromPs(pid);
}

async function describeFromProc(pid: number): Promise<RunningProcess | undefined> {
  try {
    const [stat, commandLine, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // proc(5): the name in parentheses may contain anything; after it come the state first, the threads 18th, the start 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, threads, start] = [fields[0], fields[17], fields[19]];
    // After a kill, a zombie whose other threads have not ended yet still has its ports and files.
    if (state === 'X' || (state === 'Z' && Number(threads) <= 1)) return undefined;
    return { startedAt: `${boot.trim()}/${start}`, command: commandLine.split('\0').join(' ').trim() };
  } catch {
    return undefined;
  }
}

/** The same from `ps`, for systems without `/proc`. */
export async function describeFromPs(pid: number): Promise<RunningProcess | undefined> {
  const args = ['-ww', '-o', 'stat=', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)];
  try {
    const [line = ''] = await runCommand('ps', args, {
      env: { ...process.env, LC_ALL: 'C' },
      signal: timeLimit(5_000),
    });
    // The state, the start in five words, the command.
    const [state = '', ...words] = line.trim().split(/\s+/);
    if (state.startsWith('Z') || words.length < 6) return undefined;
    return { startedAt: words.slice(0, 5).join(' '), command: words.slice(5).join(' ') };
  } catch {
    return undefined;
  }
}

/** Locks a database against every other docferry, making its folder. Throws `DatabaseInUse`, `DataFolderNotWritable`. */
export async function lockDatabase(dbFile: string): Promise<FileLock> {
  let lock: FileLock | undefined;
  try {
    await mkdir(dirname(dbFile), { recursive: true });
    lock = tryLock(`${dbFile}.lock`);
  } catch (error) {
    throw new DataFolderNotWritable(dirname(dbFile), error);
  }
  if (!lock) throw new DatabaseInUse(dbFile, (await readRecord(dbFile))?.owner);
  try {
    await access(dbFile, constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') {
      lock.release();
      throw new DataFolderNotWritable(dbFile, error);
    }
  }
  return lock;
}

/** Like `lockDatabase`; a server that a killed docferry left counts as one that uses the database. */
export async function lockUnusedDatabase(dbFile: string): Promise<FileLock> {
  const lock = await lockDatabase(dbFile);
  const orphan = await orphanOf(dbFile);
  if (orphan === undefined) return lock;
  lock.release();
  throw new DatabaseInUse(dbFile, orphan.pid);
}

const killedEndsWithinMs = 10_000;

/** The record of a server that still runs on the database; undefined when there is none. Waits for one that was killed. */
export async function orphanOf(dbFile: string): Promise<ServerRecord | undefined> {
  const record = await readRecord(dbFile);
  if (record === undefined) return undefined;
  const giveUpAt = performance.now() + killedEndsWithinMs;
  for (;;) {
    const running = await describeProcess(record.pid);
    // The process id alone proves nothing: another program may have it by now.
    if (running?.startedAt !== record.startedAt) return undefined;
    if (running.command.includes(dbFile)) return record;
    // A killed process has no command line, but its ports until its last thread has ended.
    if (running.command !== '' || performance.now() > giveUpAt) return undefined;
    await sleep(20);
  }
}
