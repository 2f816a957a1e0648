import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { devServerTool, downloadWithSdk, resolveBinary } from '../../src/local/binaries.ts';
import { runCommand, TemporalBinaryMissing } from '../../src/local/run-command.ts';
import { testServerTool } from '../tools/temporal/test-server-tool.ts';

/** A machine with only the programs that a test puts on it; its proxy refuses all requests. */
let folder: string;
let bin: string;
let cacheFolder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-binaries-'));
  bin = join(folder, 'bin');
  cacheFolder = join(folder, 'cache');
  await mkdir(bin);
  env = { PATH: bin, HOME: folder, HTTPS_PROXY: 'http://127.0.0.1:1' };
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function script(path: string, body: string): Promise<string> {
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return path;
}

const cli = (server: string) => `echo "temporal version 1.5.1 (Server ${server}, UI 2.42.1)"`;
const usage = 'echo "Usage: <command> <port> <flags>"; echo "--enable-time-skipping - to enable"';
/** A Go that "builds" a CLI, and counts its builds. */
const fakeGo = (counter: string) => `
echo "$@" >> ${counter}
/bin/sleep 0.3
printf '#!/bin/sh\\n${cli('1.29.1')}\\n' > "$GOBIN/temporal"
/bin/chmod 755 "$GOBIN/temporal"`;

async function failureOf(resolving: Promise<unknown>): Promise<TemporalBinaryMissing> {
  const error = await resolving.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof TemporalBinaryMissing)) throw new Error(`expected TemporalBinaryMissing, got ${error}`);
  return error;
}

describe('the explicit path', () => {
  it('takes precedence over the PATH', async () => {
    await script(join(bin, 'temporal'), cli('1.30.0'));
    env.TEMPORAL_CLI_PATH = await script(join(folder, 'mine'), cli('1.29.1'));
    const found = await resolveBinary(devServerTool, { env, cacheFolder });
    expect(found).toMatchObject({ path: env.TEMPORAL_CLI_PATH, from: 'TEMPORAL_CLI_PATH' });
    expect(found.version).toContain('Server 1.29.1');
  });

  it.each([
    ['does not exist', undefined, 'is not an executable file'],
    ['ends with an error', 'echo cannot load >&2; exit 127', 'cannot load'],
    ['is another program', 'echo hello', 'is not a Temporal CLI'],
    ['is too old', cli('1.20.3'), 'too old: Server 1.20.3, at least 1.28'],
  ])('is an error at once when it %s', async (_, body, reason) => {
    await script(join(bin, 'temporal'), cli('1.30.0'));
    env.TEMPORAL_CLI_PATH = join(folder, 'mine');
    if (body) await script(env.TEMPORAL_CLI_PATH, body);
    const error = await failureOf(resolveBinary(devServerTool, { env, cacheFolder }));
    expect(error.tried).toEqual([{ step: 'TEMPORAL_CLI_PATH', reason: expect.stringContaining(reason) }]);
  });

  it('works for the time-skipping server', async () => {
    env.TEMPORAL_TEST_SERVER_PATH = await script(join(folder, 'server'), usage);
    const found = await resolveBinary(testServerTool, { env, cacheFolder });
    expect(found.from).toBe('TEMPORAL_TEST_SERVER_PATH');
  });
});

describe('without an explicit path', () => {
  it('takes the program on the PATH', async () => {
    await script(join(bin, 'temporal'), cli('1.30.0'));
    const found = await resolveBinary(devServerTool, { env, cacheFolder });
    expect(found).toMatchObject({ path: join(bin, 'temporal'), from: 'PATH' });
  });

  it('builds with Go when all else fails, then finds it in the cache', async () => {
    const counter = join(folder, 'count');
    await script(join(bin, 'temporal'), cli('1.20.0'));
    await script(join(bin, 'go'), fakeGo(counter));
    const lines: string[] = [];
    const built = await resolveBinary(devServerTool, { env, cacheFolder, onProgress: (line) => lines.push(line) });
    expect(built).toMatchObject({ path: join(cacheFolder, 'temporal-cli-1.5.1', 'temporal'), from: 'go install' });
    expect(lines).toContain('Temporal dev server: trying go install');
    expect(await readFile(counter, 'utf8')).toContain('github.com/temporalio/cli/cmd/temporal@v1.5.1');
    await rm(join(bin, 'go'));
    expect(await resolveBinary(devServerTool, { env, cacheFolder })).toEqual({ ...built, from: 'cache' });
    expect((await readdir(cacheFolder)).sort()).toEqual(['temporal-cli-1.5.1', 'temporal-cli-1.5.1.lock']);
  });

  it('builds once for two concurrent requests', async () => {
    const counter = join(folder, 'count');
    await script(join(bin, 'go'), fakeGo(counter));
    const both = [1, 2].map(() => resolveBinary(devServerTool, { env, cacheFolder }));
    const from = (await Promise.all(both)).map((found) => found.from);
    expect(from.sort()).toEqual(['cache', 'go install']);
    expect((await readFile(counter, 'utf8')).trim().split('\n')).toHaveLength(1);
  });

  it('replaces a broken program in the cache and removes what a killed build left', async () => {
    await script(join(bin, 'go'), fakeGo(join(folder, 'count')));
    await mkdir(join(cacheFolder, 'temporal-cli-1.5.1'), { recursive: true });
    await mkdir(join(cacheFolder, '.temporal-cli-1.5.1-left'));
    await script(join(cacheFolder, 'temporal-cli-1.5.1', 'temporal'), 'exit 1');
    const found = await resolveBinary(devServerTool, { env, cacheFolder });
    expect(found.from).toBe('go install');
    expect(await readdir(cacheFolder)).not.toContain('.temporal-cli-1.5.1-left');
  });

  it('fetches the time-skipping server with Maven and runs it with Java', async () => {
    await script(join(bin, 'mvn'), '/bin/mkdir lib; /bin/cat pom.xml > lib/x.jar');
    await script(join(bin, 'java'), `echo "$@" >> ${join(folder, 'java')}; ${usage}`);
    const found = await resolveBinary(testServerTool, { env, cacheFolder });
    const home = join(cacheFolder, 'temporal-test-server-1.31.0');
    expect(found).toMatchObject({ path: join(home, 'temporal-test-server'), from: 'Maven' });
    expect(await readFile(join(home, 'lib/x.jar'), 'utf8')).toContain('<version>1.31.0</version>');
    await resolveBinary(testServerTool, { env, cacheFolder });
    const [, fromCache] = (await readFile(join(folder, 'java'), 'utf8')).split('\n');
    expect(fromCache).toContain(`-cp ${home}/lib/* io.temporal.testserver.TestServer`);
  });

  it('names every attempt with its reason, and what to do', async () => {
    await script(join(bin, 'go'), 'echo "go: no such host" >&2; exit 1');
    const error = await failureOf(resolveBinary(devServerTool, { env, cacheFolder }));
    expect(error.tried).toEqual([
      { step: 'PATH', reason: 'no temporal there' },
      { step: `cache ${cacheFolder}`, reason: 'nothing cached yet' },
      { step: 'SDK download', reason: expect.stringMatching(/./) },
      { step: 'go install', reason: 'go ended with 1: go: no such host' },
    ]);
    expect(error.message).toMatch(/^no usable Temporal dev server\. Tried:\n/);
    expect(error.hint).toContain('TEMPORAL_CLI_PATH');
    expect(error.hint).toContain('Go 1.25');
    expect(await readdir(cacheFolder)).toEqual(['temporal-cli-1.5.1.lock']);
  });

  it('says so when the tools to build with are missing', async () => {
    const error = await failureOf(resolveBinary(testServerTool, { env, cacheFolder }));
    expect(error.tried.at(-1)).toEqual({ step: 'Maven', reason: 'no program `mvn` was found' });
  });

  it('says so when the cache cannot be written', async () => {
    await writeFile(join(folder, 'file'), '');
    const error = await failureOf(resolveBinary(devServerTool, { env, cacheFolder: join(folder, 'file', 'cache') }));
    expect(error.tried.at(-1)?.reason).toContain('ENOTDIR');
  });
});

describe('the download by the SDK', () => {
  let silent: Server;

  afterEach(async () => {
    await new Promise((resolve) => silent.close(resolve));
  });

  it('fails when nothing arrives', async () => {
    silent = createServer((socket) => socket.on('error', () => undefined).resume());
    const port = await new Promise<number>((resolve) => {
      silent.listen(0, '127.0.0.1', () => {
        const address = silent.address();
        resolve(typeof address === 'object' && address ? address.port : 0);
      });
    });
    env.HTTPS_PROXY = `http://127.0.0.1:${port}`;
    const target = await mkdtemp(join(folder, 'download-'));
    const download = { method: 'createLocal', version: 'v1.5.1', executable: 'temporal' } as const;
    const downloading = downloadWithSdk(download, { folder: target, env, onProgress: () => undefined }, 1_000);
    await expect(downloading).rejects.toThrow('no data for 1 s');
  });
});

it('a program that builds or downloads is given no key, only what it needs', async () => {
  const kept = {
    PATH: process.env.PATH,
    HOME: '/home/jane',
    https_proxy: 'http://proxy.example:3128',
    NO_PROXY: 'internal.example',
    NODE_EXTRA_CA_CERTS: '/dev/null',
    SSL_CERT_FILE: '/etc/ssl/own.pem',
    GOPROXY: 'https://modules.example',
    GOBIN: '/tmp/bin',
    TMPDIR: '/tmp',
  };
  const secret = { ACME_API_KEY: 'dk_admin_1', TEMPORAL_API_KEY: 'k', GOOGLE_API_KEY: 'g', AWS_SECRET_ACCESS_KEY: 'a' };
  const show = 'console.log(JSON.stringify(process.env))';
  const lines = await runCommand(process.execPath, ['-e', show], { env: { ...kept, ...secret } });
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual(kept);
});
