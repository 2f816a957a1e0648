import { createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../../src/local/ports.ts';
import { docferry, type Finished } from '../../tools/cli/run-docferry.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

interface Ready extends Finished {
  addresses: { console: string | null; bundles: string };
  /** Of the console, while everything ran. */
  visited: number | null;
}

/** Runs `docferry up` beside the Temporal of the scene until it is ready, and opens the console that it names. */
async function up(scene: Scene, ...flags: string[]): Promise<Ready> {
  const visits: Promise<number>[] = [];
  const bundlePort = `${await findFreePort()}`;
  const args = ['up', '--json', '--no-server', '--bundle-port', bundlePort, '--config', scene.configFile, ...flags];
  const finished = await docferry(args, {
    cwd: scene.folder,
    onOutput: (child, said) => {
      if (visits.length > 0 || !/"ready": ?true/.test(said)) return;
      const [link] = /http:[^"\s]+\/sign-in\?token=[\w-]{43}/.exec(said) ?? [];
      visits.push(link === undefined ? Promise.resolve(0) : fetch(link).then(({ status }) => status));
      void Promise.allSettled(visits).then(() => child.kill('SIGTERM'));
    },
  });
  expect([finished.exitCode, finished.stderr]).toEqual([0, expect.any(String)]);
  return { ...finished, addresses: JSON.parse(finished.stdout).addresses, visited: (await visits[0]) || null };
}

/** Holds a port; another program may hold it already, which is as good. */
async function holding(port: number): Promise<void> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve());
    server.listen(port, '127.0.0.1', () => resolve());
  });
  onTestFinished(() => {
    server.close();
  });
}

describe('the console of `docferry up`', () => {
  it('takes a free port when the usual one is taken, and prints the address', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    await holding(8088);
    const { addresses, visited, stderr } = await up(scene);
    expect(addresses.console).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sign-in\?token=/);
    expect(addresses.console).not.toContain(':8088/');
    expect(visited).toBe(200);
    expect(stderr).not.toContain('does not run');
  });

  it('does not run on another port than a person asked for, which stops nothing else', {
    timeout: 120_000,
  }, async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const port = await findFreePort();
    await holding(port);
    const { addresses, stderr } = await up(scene, '--console-port', `${port}`);
    expect(addresses).toMatchObject({ console: null, bundles: expect.stringContaining('http://') });
    expect(stderr).toContain(`the console does not run: port ${port} on 127.0.0.1 is in use`);
    expect(stderr).toContain('--console-port');
  });

  it('takes the port that a person asks for, or none', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const port = await findFreePort();
    const there = await up(scene, '--console-port', `${port}`);
    expect([there.addresses.console, there.visited]).toEqual([expect.stringContaining(`:${port}/sign-in`), 200]);
    const off = await up(scene, '--console-port', 'off');
    expect([off.addresses.console, off.stderr.includes('sign-in')]).toEqual([null, false]);
  });
});
