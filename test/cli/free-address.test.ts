import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freeAddress } from '../../src/cli/parts.ts';
import { findFreePort } from '../../src/local/ports.ts';

describe('freeAddress', () => {
  it('gives the address of a name, and leaves the port free', async () => {
    const port = await findFreePort();
    expect(await freeAddress('--metrics', { host: 'localhost', port })).toBe(`127.0.0.1:${port}`);
    const server = createServer().listen(port, '127.0.0.1');
    onTestFinished(() => {
      server.close();
    });
    await once(server, 'listening');
    const taken = freeAddress('--metrics', { host: '127.0.0.1', port });
    await expect(taken).rejects.toMatchObject({
      code: 'PortTaken',
      message: `127.0.0.1:${port} is in use`,
      hint: 'stop that program, or choose another port with --metrics',
      exitCode: 2,
    });
  });

  it('names the flag of an address that is not of this machine', async () => {
    await expect(freeAddress('--health', { host: '192.0.2.1', port: 8091 })).rejects.toMatchObject({
      code: 'Usage',
      message: '--health: cannot listen on 192.0.2.1:8091 (EADDRNOTAVAIL)',
      exitCode: 2,
    });
  });
});
