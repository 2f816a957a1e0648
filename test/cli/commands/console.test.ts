import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../../src/local/ports.ts';
import { docferry } from '../../tools/cli/run-docferry.ts';
import { setScene } from '../../tools/scene.ts';

describe('docferry console', () => {
  it('prints a link that signs in once, and the next one when it was used', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const link = /http:\S+\/sign-in\?token=[\w-]{43}/g;
    const visits: Promise<number>[] = [];
    const finished = await docferry(['console', '--port', `${await findFreePort()}`], {
      cwd: scene.folder,
      onOutput: (child, said) => {
        const links = said.match(link) ?? [];
        if (said.includes('console: ready') && visits.length === 0) {
          const [first = ''] = links;
          visits.push(fetch(first).then(({ status }) => status));
        }
        if (links.length === 2 && !child.killed) child.kill('SIGTERM');
      },
    });
    expect(finished.exitCode).toBe(0);
    expect(finished.stdout).toContain('read-only');
    expect(await Promise.all(visits)).toEqual([200]);
    expect(new Set(`${finished.stdout}${finished.stderr}`.match(link)).size).toBe(2);
  });

  it('prints no link with --no-link, and says that nobody can sign in', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const { exitCode, stdout, stderr } = await docferry(
      ['console', '--no-link', '--json', '--port', `${await findFreePort()}`],
      {
        cwd: scene.folder,
        onOutput: (child, said) => void (!child.killed && /"ready": ?true/.test(said) && child.kill('SIGTERM')),
      },
    );
    expect([exitCode, JSON.parse(stdout).signInUrl]).toEqual([0, null]);
    expect(stderr).toContain('nobody can sign in');
    expect(`${stdout}${stderr}`).not.toContain('sign-in?');
  });

  it('names the flag when its port is taken', async () => {
    const scene = await setScene();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    onTestFinished(async () => {
      holder.close();
      await scene.end();
    });
    const { exitCode, stderr } = await docferry(['console', '--port', `${port}`], { cwd: scene.folder });
    expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining('--port')]);
  });
});
