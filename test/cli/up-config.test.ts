import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSandbox } from '../../sandbox/index.ts';
import { prepareDemoFolder } from '../../src/cli/commands/demo.ts';
import { loadUpConfig, sandboxOptionsFor, warnOfSurprises, withEmbedded } from '../../src/cli/commands/up.ts';
import { type CommandContext, Output } from '../../src/cli/context.ts';
import type { Config } from '../../src/config/config.ts';
import { tryLock } from '../../src/files.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { connectOptions } from '../../src/temporal/connection.ts';
import { configText, docferry, emptyFolder } from '../tools/cli/run-docferry.ts';

async function contextIn(cwd: string): Promise<CommandContext & { said: () => string }> {
  let text = '';
  const stream = { write: (more: string) => (text += more) };
  const output = new Output({ json: false, quiet: false, color: false, env: {}, stdout: stream, stderr: stream });
  return { output, configFile: undefined, env: {}, cwd, said: () => text };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

const ports = { port: 7233, bundlePort: 8090, sandboxPort: 8787, storagePort: 8788 };

describe('the configuration of up --sandbox', () => {
  it('is created where there is none, fits the sandbox, and is left alone afterwards', async () => {
    const cwd = await emptyFolder();
    const context = await contextIn(cwd);
    const config = await loadUpConfig(context, { sandbox: true, ...ports });
    expect(context.said()).toContain(`wrote ${join(cwd, 'docferry.yaml')}`);
    const sandbox = await startSandbox({ ...sandboxOptionsFor(config, ports), port: 0, storagePort: 0 });
    await sandbox.stop();
    expect(sandbox.organizations).toMatchObject([
      { id: 'acme', projects: [{ id: 'prj_1' }], sites: [{ domain: 'docs.acme.example' }] },
    ]);
    expect(config.organizations[0]?.apiKey.read()).toBe(sandbox.organizations[0]?.apiKey);

    const file = join(cwd, 'docferry.yaml');
    await writeFile(file, `${await readFile(file, 'utf8')}# mine\n`);
    await loadUpConfig(context, { sandbox: true, ...ports });
    expect(await readFile(file, 'utf8')).toContain('# mine');
  });

  it('names the port that the sandbox is given', async () => {
    const config = await loadUpConfig(await contextIn(await emptyFolder()), {
      ...ports,
      sandbox: true,
      sandboxPort: 9787,
    });
    expect(config.service.baseUrl).toBe('http://127.0.0.1:9787');
    expect(sandboxOptionsFor(config, { sandboxPort: 9787, storagePort: 9788 })).toMatchObject({
      port: 9787,
      storagePort: 9788,
    });
  });

  it('gives the sandbox the configured budget for its limit', async () => {
    const cwd = await emptyFolder();
    const context = await contextIn(cwd);
    await loadUpConfig(context, { sandbox: true, ...ports });
    const file = join(cwd, 'docferry.yaml');
    const text = (await readFile(file, 'utf8')).replace(/budget: .*/, 'budget: { requests: 7, window: 2m }');
    await writeFile(file, text);
    const config = await loadUpConfig(context, { sandbox: true, ...ports });
    expect(sandboxOptionsFor(config, ports)).toMatchObject({ requests: 7, windowMs: 120_000 });
  });

  it.each(['--sandbox-port', '--storage-port', '--bundle-port', '--port', '--ui-port'])(
    'is not written when the port of %s is taken',
    async (flag) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;
      const free = ['--sandbox-port', '--storage-port', '--bundle-port', '--port', '--ui-port'].filter(
        (other) => other !== flag,
      );
      const others = await Promise.all(free.map(async (other) => [other, String(await findFreePort())]));
      const cwd = await emptyFolder();
      const { exitCode, stdout } = await docferry(['up', '--sandbox', flag, String(port), ...others.flat(), '--json'], {
        cwd,
      });
      expect(exitCode).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'PortTaken', hint: expect.stringContaining(flag) },
      });
      expect(await readdir(cwd)).toEqual([]);
    },
  );

  it('is not created for a named file', async () => {
    const context = await contextIn(await emptyFolder());
    const named = { ...context, configFile: 'mine.yaml' };
    await expect(loadUpConfig(named, { sandbox: true, ...ports })).rejects.toThrow('mine.yaml');
  });

  it('is not created without --sandbox', async () => {
    const cwd = await emptyFolder();
    await expect(loadUpConfig(await contextIn(cwd), { sandbox: false, ...ports })).rejects.toThrow('docferry.yaml');
    await expect(stat(join(cwd, 'docferry.yaml'))).rejects.toThrow('ENOENT');
  });
});

describe('up', () => {
  async function configured(
    change: (text: string) => string = (text) => text,
  ): Promise<[CommandContext & { said: () => string }, Config]> {
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'docferry.yaml'), change(configText({})));
    const context = await contextIn(cwd);
    return [context, await loadUpConfig(context, { sandbox: false, ...ports })];
  }

  it('connects to its own server even if the configuration names another Temporal', async () => {
    const [, config] = await configured();
    const { connection } = connectOptions(withEmbedded(config, '127.0.0.1:7300').temporal);
    expect(connection.address).toBe('127.0.0.1:7300');
  });

  it('warns of addresses that do not fit', async () => {
    const [context, config] = await configured((text) => text);
    warnOfSurprises(context.output, config, { temporalPort: 7300, bundlePort: 8091, sandbox: null });
    expect(context.said()).toContain('127.0.0.1:7300, but other commands use 127.0.0.1:1');
    expect(context.said()).toContain('listens on port 8091');
  });

  it("warns when other commands follow Temporal's own variables elsewhere", async () => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'prod.example:7233');
    vi.stubEnv('TEMPORAL_NAMESPACE', 'prod');
    const setting = { temporalPort: 7233, bundlePort: 8090, sandbox: null };
    const [context, config] = await configured((text) => text.replace(/^temporal: .*\n/m, ''));
    warnOfSurprises(context.output, config, setting);
    expect(context.said()).toContain('other commands use prod.example:7233');
    vi.stubEnv('TEMPORAL_ADDRESS', 'localhost:7233');
    warnOfSurprises(context.output, config, setting);
    expect(context.said()).toContain('has the namespace default, but other commands use prod');
    vi.stubEnv('TEMPORAL_PROFILE', 'nowhere');
    warnOfSurprises(context.output, config, setting);
    expect(context.said()).toContain('there is no profile nowhere');
  });

  it('is silent when everything fits', async () => {
    const [context, config] = await configured((text) => text.replace('127.0.0.1:1', 'localhost:7300'));
    warnOfSurprises(context.output, config, { temporalPort: 7300, bundlePort: 8090, sandbox: null });
    expect(context.said()).toBe('');
  });
});

describe("the demo's folder", () => {
  it('is emptied when a demo created it', async () => {
    const folder = join(await emptyFolder(), 'demo-data');
    await prepareDemoFolder(folder);
    await writeFile(join(folder, 'old.txt'), 'old');
    await prepareDemoFolder(folder);
    await expect(stat(join(folder, 'old.txt'))).rejects.toThrow('ENOENT');
  });

  it('is refused when it has other files', async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, 'thesis.txt'), 'years of work');
    await expect(prepareDemoFolder(folder)).rejects.toMatchObject({ exitCode: 2 });
    expect(await readFile(join(folder, 'thesis.txt'), 'utf8')).toBe('years of work');
  });

  it('is refused while a demo is running in it', async () => {
    const folder = await emptyFolder();
    const { dbFile } = await prepareDemoFolder(folder);
    const lock = tryLock(`${dbFile}.lock`);
    await expect(prepareDemoFolder(folder)).rejects.toMatchObject({ code: 'DatabaseInUse' });
    lock?.release();
    await expect(prepareDemoFolder(folder)).resolves.toMatchObject({ folder });
  });
});
