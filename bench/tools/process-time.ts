import { readFile } from 'node:fs/promises';

/** Ticks of Linux's accounting a second, on all platforms that Node supports. */
const ticksPerSecond = 100;

/** Processor time a process has used so far, its threads included, in seconds. Throws an Error where there is no /proc. */
export async function processorSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in brackets, may hold blanks: fields are counted behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  if (!Number.isFinite(user + system)) throw new Error(`no times in the status of process ${pid}`);
  return (user + system) / ticksPerSecond;
}
