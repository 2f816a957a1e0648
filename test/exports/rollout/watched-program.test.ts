import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ProgramStep, runProgram } from '../../../src/exports/rollout/program-step.ts';
import type { RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { publishSite, smallSiteVersion } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { compileSources } from '../../tools/compiled-sources.ts';

afterEach(() => vi.unstubAllEnvs());

const minute = 60_000;

/** Runs a shell script as the operator's program. */
async function script(text: string) {
  const folder = await tempFolder();
  const file = join(folder, 'program.sh');
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return { folder, file, read: (name: string) => readFile(join(folder, name), 'utf8') };
}

const run = (command: string[], cwd: string, more: Partial<Parameters<typeof runProgram>[1]> = {}) =>
  runProgram(command, {
    cwd,
    env: process.env,
    silentMs: minute,
    alive: async () => {},
    signal: AbortSignal.timeout(minute),
    ...more,
  });

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Waits until the process of this id has ended. */
async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: minute, interval: 20 });
}

async function pidIn(folder: string, name: string): Promise<number> {
  return vi.waitFor(
    async () =>
      Number(/^(\d+)\n$/.exec(await readFile(join(folder, name), 'utf8'))?.[1] ?? Number.NaN) || expect.fail(),
    {
      timeout: minute,
      interval: 20,
    },
  );
}

describe('runProgram', () => {
  it('says how a program ended, and what it wrote last', async () => {
    const { folder, file } = await script('echo "$@"; echo to stderr >&2; exit 3');
    expect(await run([file, 'a b', '$HOME'], folder)).toEqual({
      code: 3,
      signal: null,
      missing: null,
      output: expect.stringContaining('a b $HOME\n'),
    });
    expect(await run([join(folder, 'nowhere')], folder)).toMatchObject({ missing: 'ENOENT' });
  });

  it('keeps little of a gigabyte of output', async () => {
    const { folder, file } = await script('head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo the end');
    const before = process.memoryUsage().rss;
    const { code, output } = await run([file], folder);
    expect([code, output.endsWith('the end\n'), output.length]).toEqual([0, true, 4_096]);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 ** 2);
  });

  it('leaves none of its children behind when it ends', async () => {
    const { folder, file } = await script('sleep 600 & echo $! > child; exit 0');
    expect(await run([file], folder)).toMatchObject({ code: 0 });
    await untilGone(await pidIn(folder, 'child'));
  });

  it('ends the whole group of a program that ignores SIGTERM', async () => {
    const { folder, file } = await script(
      'trap "" TERM; sleep 600 & echo $! > child; echo $$ > own; while :; do sleep 1; done',
    );
    const controller = new AbortController();
    const running = run([file], folder, { signal: controller.signal });
    const pids = [await pidIn(folder, 'child'), await pidIn(folder, 'own')];
    const reason = new Error('cancelled');
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    for (const pid of pids) await untilGone(pid);
  });

  it('ends it when no sign of life was accepted for too long, and when the attempt is over', async () => {
    const { folder, file } = await script('echo $$ > own; sleep 600');
    // Times that a machine may stand still for less.
    const alive = async () => {
      if (existsSync(join(folder, 'own'))) await new Promise<void>(() => {});
    };
    expect(await run([file], folder, { silentMs: 4_000, alive })).toMatchObject({ code: null });
    await untilGone(await pidIn(folder, 'own'));
    const over = new Error('another attempt has begun');
    let isOver = false;
    const second = run([file], folder, {
      silentMs: 8_000,
      alive: async () => (isOver ? Promise.reject(over) : undefined),
    });
    isOver = true;
    await expect(second).rejects.toBe(over);
    await untilGone(await pidIn(folder, 'own'));
  });

  it('ends with its worker, also under kill -9', async () => {
    const { folder, file } = await script('trap "" TERM; sleep 600 & echo $! > child; echo $$ > own; wait; sleep 600');
    // As a worker has it: the module in a process of its own.
    const compiled = await compileSources('src/exports/rollout/program-step.ts');
    const url = pathToFileURL(join(compiled, 'src/exports/rollout/program-step.js'));
    const options = `{ cwd: ${JSON.stringify(folder)}, env: process.env, silentMs: 60000, alive: async () => {}, signal: new AbortController().signal }`;
    const worker = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { runProgram } from ${JSON.stringify(url.href)}; await runProgram([${JSON.stringify(file)}], ${options});`,
      ],
      { stdio: 'inherit' },
    );
    const pids = [await pidIn(folder, 'child'), await pidIn(folder, 'own')];
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    for (const pid of pids) await untilGone(pid);
  });
});

describe('ProgramStep', () => {
  async function stepOf(text: string, args: string[] = []) {
    const { folder, file, read } = await script(text);
    const { store, manifest } = await publishSite({
      root: join(folder, 'b'),
      domain: 'docs.acme.example',
      version: smallSiteVersion,
    });
    const request: RolloutRequest = {
      domain: 'docs.acme.example',
      manifest,
      withArchive: (use) => store.withArchive('docs.acme.example', smallSiteVersion, use),
      url: 'http://bundles.example/x',
      ...unguarded,
    };
    const of = (timeoutMs = minute, program = './program.sh') =>
      new ProgramStep({ command: [program, ...args], timeoutMs }, { directory: folder, variables: ['ACME_API_KEY'] });
    return { folder, file, read, request, of, take: () => of().take(request) };
  }

  it('gives the version in arguments and variables, and no secret of docferry.yaml', async () => {
    vi.stubEnv('ACME_API_KEY', 'planted-key');
    vi.stubEnv('CLUSTER', 'prod');
    const { take, read } = await stepOf('echo "$@" > args; env > env; cat "$2/index.html" > page', [
      '{version}={url}',
      '{site}',
    ]);
    expect(await take()).toBe('./program.sh ended well');
    expect(await read('args')).toMatch(new RegExp(`^${smallSiteVersion}=http://bundles.example/x /`));
    const env = await read('env');
    expect(env).toContain(`DOCFERRY_VERSION=${smallSiteVersion}\n`);
    expect(env).toContain('DOCFERRY_DOMAIN=docs.acme.example\n');
    expect(env).toContain('CLUSTER=prod\n');
    expect(env).not.toContain('planted-key');
    expect(await read('page')).toContain('<');
  });

  it.each([
    ['exit 65', 'VersionRefused', /exit code 65/],
    ['echo "the cluster is gone" >&2; exit 1', 'TargetRefused', /exit code 1: the cluster is gone/],
    ['kill -9 $$', 'TargetRefused', /was ended by SIGKILL/],
  ])('tells what speaks against the version from what speaks of the target: %s', async (text, name, message) => {
    const { take } = await stepOf(text);
    await expect(take()).rejects.toMatchObject({ name, message: expect.stringMatching(message) });
  });

  it('shows no secret that a program writes', async () => {
    vi.stubEnv('ACME_API_KEY', 'planted-key');
    vi.stubEnv('DEPLOY_TOKEN', 'planted-token');
    const { take } = await stepOf(
      'echo "planted-key $DEPLOY_TOKEN https://u:planted-pass@h/x?sig=planted-sig"; exit 1',
    );
    await expect(take()).rejects.toMatchObject({ message: expect.not.stringContaining('planted') });
  });

  it('names a program that is missing or takes too long', async () => {
    const { of, request } = await stepOf('sleep 600');
    await expect(of(minute, 'docferry-no-such-program').take(request)).rejects.toMatchObject({
      name: 'TargetRefused',
      mayPass: false,
      message: expect.stringContaining('docferry-no-such-program cannot be started (ENOENT): install it'),
    });
    await expect(of(300).take(request)).rejects.toMatchObject({
      name: 'TargetRefused',
      message: expect.stringContaining('took longer'),
    });
  });
});
