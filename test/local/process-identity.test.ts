import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { assertPortFree, findFreePort } from '../../src/local/ports.ts';
import { describeFromPs, describeProcess } from '../../src/local/server-record.ts';
import { startEnding } from '../tools/ending-process.ts';

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

it.runIf(process.platform === 'linux')('takes a process for live while one of its threads has its ports', async () => {
  const port = await findFreePort();
  const child = await startEnding(port);
  expect(await describeProcess(child.pid)).toBeDefined();
  await expect(assertPortFree(port, '--port')).rejects.toThrow('in use');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await describeProcess(child.pid)).toBeUndefined();
  await assertPortFree(port, '--port');
});

it('distinguishes this process from its parent', async () => {
  const own = await describeProcess(process.pid);
  const parent = await describeProcess(process.ppid);
  expect(own?.startedAt).not.toBe(parent?.startedAt);
});

it('finds free ports outside the ephemeral range', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, findFreePort));
  // Ephemeral ports begin at 32768 on Linux, at 49152 elsewhere.
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(Math.min(...ports)).toBeGreaterThan(1_024);
  await Promise.all(ports.map((port) => assertPortFree(port, '--port')));
});

it.runIf(process.platform === 'linux')(
  'keeps a port from all others who look for one, before anything listens',
  async () => {
    const port = await findFreePort();
    const claim = `require('net').createServer().on('error', (error) => console.log(error.code))
    .listen('\\0docferry-port-${port}', function () { console.log('claimed'); this.close(); })`;
    const inAnotherProcess = () => execFileSync(process.execPath, ['-e', claim], { encoding: 'utf8' }).trim();
    expect(inAnotherProcess()).toBe('EADDRINUSE');
    await assertPortFree(port, '--port');
  },
);
