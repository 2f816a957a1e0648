import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { memoryIn, memoryOf, resetPeak } from '../../../bench/tools/process-memory.ts';

const takesAndGivesBack =
  "Buffer.alloc(2e8, 1); setImmediate(() => { gc(); console.log('freed'); }); setInterval(() => {}, 1e3);";

describe('the memory of a process', () => {
  it('is what /proc tells, in bytes', () => {
    expect(memoryIn('Name:\tnode\nVmHWM:\t  143812 kB\nVmRSS:\t   90000 kB\n')).toEqual({
      now: 90_000 * 1024,
      peak: 143_812 * 1024,
    });
    expect(() => memoryIn('Name:\tnode\nVmRSS:\t   90000 kB\n')).toThrow('no VmHWM');
  });

  it.skipIf(!existsSync('/proc/self/clear_refs'))('counts its peak anew after a reset', async () => {
    const child = spawn(process.execPath, ['--expose-gc', '-e', takesAndGivesBack], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
      const pid = child.pid ?? 0;
      expect((await memoryOf(pid)).peak).toBeGreaterThan(200_000_000);
      await resetPeak(pid);
      const { now, peak } = await memoryOf(pid);
      expect(peak).toBeLessThan(200_000_000);
      expect(peak).toBeGreaterThanOrEqual(now);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
