import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { assertPortFree, findFreePort } from '../../src/local/ports.ts';

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
