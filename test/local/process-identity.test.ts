import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { describeFromPs, describeProcess } from '../../src/local/server-record.ts';

const started: ChildProcess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
});

async function startSleeper(seconds: string): Promise<ChildProcess & { pid: number }> {
  const child = spawn('sleep', [seconds]);
  started.push(child);
  await once(child, 'spawn');
  return Object.assign(child, { pid: child.pid ?? 0 });
}

describe.each([
  ['on this system', describeProcess],
  ['through ps', describeFromPs],
])('a process, described %s', (_, describeIt) => {
  it('keeps its start time and shows its command line', async () => {
    const { pid } = await startSleeper('61');
    const first = await describeIt(pid);
    expect(first?.command).toMatch(/sleep 61$/);
    expect(first?.startedAt).not.toBe('');
    expect(await describeIt(pid)).toEqual(first);
  });

  it('is undefined once the process has ended', async () => {
    const child = await startSleeper('62');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await describeIt(child.pid)).toBeUndefined();
  });
});

it('distinguishes this process from its parent', async () => {
  const own = await describeProcess(process.pid);
  const parent = await describeProcess(process.ppid);
  expect(own?.startedAt).not.toBe(parent?.startedAt);
});
