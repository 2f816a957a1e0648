import { readFile, writeFile } from 'node:fs/promises';

/*
 * Memory of a process as Linux accounts for it. `getrusage` of a child would not do: its peak begins with that of the
 * process that started it.
 */

interface ProcessMemory {
  /** Bytes in memory now, and at most so far. */
  now: number;
  peak: number;
}

/** Of a process by its id, or of this one. Throws an Error where there is no /proc. */
export async function memoryOf(pid: number | 'self'): Promise<ProcessMemory> {
  return memoryIn(await readFile(`/proc/${pid}/status`, 'utf8'));
}

/** What a /proc/…/status says. */
export function memoryIn(status: string): ProcessMemory {
  const bytes = (name: string): number => {
    const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
    if (kilobytes === undefined) throw new Error(`no ${name} in the status of a process`);
    return Number(kilobytes) * 1024;
  };
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** From now on the peak is that of what follows. */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}
