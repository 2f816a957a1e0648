import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../../src/local/ports.ts';
import { publishSite, smallSiteVersion } from '../../tools/bundle/published-version.ts';
import { docferry } from '../../tools/cli/run-docferry.ts';
import { ask } from '../../tools/console/running-console.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

/** A console as a process, with its own folder for temporary files. */
async function startedConsole({ folder }: Scene, temporary: string) {
  const port = await findFreePort();
  let child: ChildProcess | undefined;
  let link = '';
  const finished = docferry(['console', '--port', `${port}`], {
    cwd: folder,
    env: { TMPDIR: temporary },
    onOutput: (process, said) => {
      child = process;
      if (said.includes('console: ready')) link = /http:\S+\/sign-in\?token=[\w-]{43}/.exec(said)?.[0] ?? '';
    },
  });
  await expect.poll(() => link).not.toBe('');
  return {
    port,
    link,
    async end(signal: NodeJS.Signals) {
      child?.kill(signal);
      await finished;
    },
  };
}

/** The first page of a preview, which the console unpacks for it. */
async function preview(console: { port: number; link: string }, { org, domain }: Scene): Promise<string> {
  const { pathname, search } = new URL(console.link);
  const signedIn = await ask(console, pathname + search);
  const cookie = String(signedIn.headers['set-cookie']?.[0]).split(';')[0] ?? '';
  const { text } = await ask(console, `/sites/${org}/${domain}/preview/${smallSiteVersion}`, { headers: { cookie } });
  const host = /src="http:\/\/([^"/]+)\//.exec(text)?.[1] ?? '';
  return (await ask(console, '/', { headers: { host } })).text;
}

describe('docferry console', () => {
  it('prints a link that signs in once, and the next one when it was used, also with --quiet', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const link = /http:\S+\/sign-in\?token=[\w-]{43}/g;
    const visits: Promise<number>[] = [];
    const finished = await docferry(['console', '--quiet', '--port', `${await findFreePort()}`], {
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

  it('names the flag and who listens when its port is taken', async () => {
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
    if (process.platform === 'linux') expect(stderr).toContain(`(process ${process.pid})`);
  });

  it('removes the previews of a killed console at its start, and not those of one that lives', async () => {
    const scene = await setScene();
    onTestFinished(() => scene.end());
    const { folder, domain } = scene;
    await publishSite({ root: join(folder, 'data/bundles'), domain, version: smallSiteVersion });
    const temporary = join(folder, 'temporary');
    await mkdir(temporary);
    const previews = async () => (await readdir(temporary)).filter((name) => name.startsWith('docferry-preview-'));
    const living = await startedConsole(scene, temporary);
    expect(await preview(living, scene)).toContain('<');
    const own = await previews();
    const killed = await startedConsole(scene, temporary);
    expect(await preview(killed, scene)).toContain('<');
    expect(await previews()).toHaveLength(2 * own.length);
    await killed.end('SIGKILL');
    const next = await startedConsole(scene, temporary);
    expect(await previews()).toEqual(own);
    expect(await preview(living, scene)).toContain('<');
    await next.end('SIGTERM');
    await living.end('SIGTERM');
    expect(await previews()).toEqual([]);
  });
});
