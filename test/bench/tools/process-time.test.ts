import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { processorSecondsOf } from '../../../bench/tools/process-time.ts';

describe.runIf(process.platform === 'linux')('processor time of a process', () => {
  it('is what Node says of itself, within the resolution of the accounting', async () => {
    const { user, system } = process.cpuUsage();
    expect(await processorSecondsOf(process.pid)).toBeCloseTo((user + system) / 1_000_000, 0);
  });

  it('is not known of a process that has ended', async () => {
    await expect(processorSecondsOf(spawnSync('true').pid)).rejects.toThrow('ENOENT');
  });
});
