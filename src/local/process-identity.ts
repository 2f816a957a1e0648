import { readFile } from 'node:fs/promises';
import { runCommand, timeLimit } from './run-command.ts';

/** What distinguishes a process from a later one with the same id. */
export interface RunningProcess {
  /** When it started, in the system's own terms; equal only for the same process of the same boot. */
  startedAt: string;
  /** Its command line. */
  command: string;
}

/** The live process with this id; undefined when there is none or it is a zombie. */
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
    // proc(5): the name in parentheses may contain anything; the state is the first field after it, the start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return { startedAt: `${boot.trim()}/${fields[19]}`, command: commandLine.split('\0').join(' ').trim() };
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
