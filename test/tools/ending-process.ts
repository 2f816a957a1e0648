import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { onTestFinished, vi } from 'vitest';

/** Its first thread has ended, as after a kill, while another still has the port. */
const program = (port: number): string => `
import ctypes, socket, threading, time
server = socket.create_server(('127.0.0.1', ${port}))
print('listens', flush=True)
threading.Thread(target=lambda: time.sleep(600)).start()
ctypes.CDLL(None).pthread_exit(None)`;

/** A process that ends, but still listens on the port, until it is killed. Linux only. */
export async function startEnding(port: number): Promise<ChildProcess & { pid: number }> {
  const child = spawn('python3', ['-c', program(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  const state = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
  await vi.waitFor(() => {
    if (state() !== 'Z') throw new Error('its first thread runs');
  });
  return Object.assign(child, { pid });
}
