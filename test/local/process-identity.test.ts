import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { assertPortFree, findFreePort } from '../../src/local/ports.ts';
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

/** Its first thread ends, as after a kill, while another still has the port. */
const endingSlowly = `
import ctypes, socket, threading, time
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
threading.Thread(target=lambda: time.sleep(60)).start()
ctypes.CDLL(None).pthread_exit(None)`;

it.runIf(process.platform === 'linux')('takes a process for live while one of its threads has its ports', async () => {
  const child = spawn('python3', ['-c', endingSlowly], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const [port] = await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  const stateOf = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
  await vi.waitFor(() => expect(stateOf()).toBe('Z'), { timeout: 10_000 });
  expect(await describeProcess(pid)).toBeDefined();
  await expect(assertPortFree(Number(port), '--port')).rejects.toThrow('in use');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await describeProcess(pid)).toBeUndefined();
  await assertPortFree(Number(port), '--port');
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
