import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ProgramStep } from '../../src/exports/rollout/program-step.ts';
import type { RolloutRequest } from '../../src/exports/rollout/rollout-target.ts';
import { startBundleServer } from '../../src/exports/server/bundle-server.ts';
import { answers, findFreePort } from '../../src/local/ports.ts';
import { load } from '../config/config-folder.ts';
import { unguarded } from '../tools/bundle/place.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';

const page = readFileSync(new URL('../../docs/deployments.md', import.meta.url), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);

describe('docs/deployments.md', () => {
  it('shows configurations that can be used as they stand', () => {
    const sites = blocks('yaml').map((yaml) => load(yaml).organizations[0]?.sites[0]);
    expect(sites.map((site) => site?.rollout.map(({ name }) => name))).toEqual([
      [],
      ['directory:./site'],
      ['bucket:acme-site/docs'],
      ['helmValues:deployments/docs.yaml#spec.values.staticExport'],
      ['directory:./site'],
    ]);
  });

  it('repeats the availability table of the interface', () => {
    const rows = [...page.matchAll(/^\| ([^|]+) \| (available|configurable|unavailable) \| (\w+) \| (\w+) \|/gm)];
    expect(rows.map(([, ...cells]) => cells)).toEqual([
      ['documentation search', 'available', 'configurable', 'unavailable'],
      ['AI assistant', 'available', 'configurable', 'unavailable'],
      ['web analytics', 'available', 'configurable', 'unavailable'],
      ['API playground', 'available', 'available', 'configurable'],
      ['static export bundle', 'available', 'available', 'available'],
    ]);
  });

  it('carries a version to an isolated host by the commands it shows', async () => {
    const [connected, isolated] = [await tempFolder(), await tempFolder()];
    const { store, manifest } = await publishSite({ root: join(connected, 'data', 'bundles'), domain, version });
    await store.moveCurrent(domain, version, 0, new Date(0));
    const { contentDigest } = manifest;
    const [take, putInto] = blocks('console').slice(-2).map(commandsOf);
    const configuration = blocks('yaml').at(-1) ?? '';
    await writeFile(join(connected, 'docferry.yaml'), configuration);
    // The export itself needs Temporal and the service.
    await shell(
      connected,
      take?.filter((command) => !command.startsWith('npx docferry export start')),
    );
    await cp(join(connected, 'docs.tar'), join(isolated, 'docs.tar'));
    await writeFile(join(isolated, 'docferry.yaml'), configuration);
    const shown = /\b\d{8}T\d{6}Z-[0-9a-f]{12}\b/;
    const said = await shell(
      isolated,
      putInto?.map((command) => command.replace(shown, version)),
    );
    expect(said.split(contentDigest)).toHaveLength(2);
    expect(said).toContain('directory:./site  rolled-out');
    expect(await readFile(join(isolated, 'site', 'current', 'index.html'), 'utf8')).toBe('<h1>Home</h1>');
  });
});

/** Whether the program is on the path; says so where it is not. */
function has(program: string): boolean {
  const found = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
  if (!found) process.stderr.write(`${program} is not installed: its recipe is SKIPPED\n`);
  return found;
}

/** The recipe for `run` in the page, with the arguments that it shows; null, with a word, where its program is missing. */
async function recipe(name: string, program: string, args: readonly string[]) {
  if (!has(program)) return null;
  const text = blocks('sh').find((block) => block.includes(`# run: [./${name},`));
  const directory = await tempFolder();
  await writeFile(join(directory, name), text ?? '', { mode: 0o755 });
  const { store, manifest } = await publishSite({ root: join(directory, 'b'), domain, version });
  const step = new ProgramStep({ command: [`./${name}`, ...args], timeoutMs: 300_000 }, { directory, variables: [] });
  const withArchive: RolloutRequest['withArchive'] = (use) => store.withArchive(domain, version, use);
  const take = (url: string) => step.take({ domain, manifest, withArchive, url, ...unguarded });
  return { directory, take, manifest };
}

const [domain, version] = ['docs.acme.example', smallSiteVersion];

describe('the recipes of docs/deployments.md', () => {
  it('rsync: copies the site to several places and switches each in one step', async ({ skip }) => {
    const folder = await tempFolder();
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    const found = await recipe('rsync-sites.sh', 'rsync', ['{version}', '{site}', one, two]);
    if (found === null) return skip();
    for (const _ of [1, 2]) await found.take('http://bundles.example/x');
    for (const place of [one, two]) {
      expect(await readlink(join(place, 'current'))).toBe(`releases/${version}`);
      expect(await readFile(join(place, 'current/index.html'), 'utf8')).toBe('<h1>Home</h1>');
      expect((await readdir(place)).sort()).toEqual(['current', 'releases']);
    }
  });

  it('aws: asks the CDN to forget every path', async ({ skip }) => {
    if (!has('aws')) return skip();
    const asked: string[] = [];
    const cdn = createServer(async (request, answer) => {
      const body = Buffer.concat(await request.toArray()).toString();
      asked.push(`${request.method} ${request.url} ${/<Path>.*<\/Path>/.exec(body)?.[0]}`);
      answer.writeHead(201, { 'content-type': 'text/xml' }).end('<Invalidation><Id>I1</Id></Invalidation>');
    });
    await once(cdn.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void cdn.close().closeAllConnections());
    vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${(cdn.address() as AddressInfo).port}`);
    // Needed with an address of one's own only.
    vi.stubEnv('AWS_DEFAULT_REGION', 'us-east-1');
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, 'planted');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { run } = load(blocks('yaml')[2] ?? '').organizations[0]?.sites[0]?.rollout[0] ?? {};
    if (!run) throw new Error('the page has no such recipe');
    const directory = await tempFolder();
    const { store, manifest } = await publishSite({ root: join(directory, 'b'), domain, version });
    const withArchive: RolloutRequest['withArchive'] = (use) => store.withArchive(domain, version, use);
    const step = new ProgramStep(run, { directory, variables: [] });
    await step.take({ domain, manifest, withArchive, url: 'http://bundles.example/x', ...unguarded });
    expect(asked).toEqual(['POST /2020-05-31/distribution/E1/invalidation <Path>/*</Path>']);
  });

  it('caddy: answers both addresses of a page', async ({ skip }) => {
    if (!has('caddy')) return skip();
    const folder = await tempFolder();
    const site = join(folder, 'site');
    await mkdir(join(site, 'guide'), { recursive: true });
    for (const name of ['index.html', 'guide/index.html', 'guide/start.html']) await writeFile(join(site, name), name);
    const port = await findFreePort();
    const rules = blocks('caddy')[0]?.replace('docs.acme.example', `http://127.0.0.1:${port}`);
    await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${rules?.replace('/srv/site/current', site)}`);
    const caddy = spawn('caddy', ['run', '--config', 'Caddyfile'], {
      cwd: folder,
      env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
      stdio: 'ignore',
    });
    onTestFinished(() => void caddy.kill());
    while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 50));
    const read = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return answer.ok ? answer.text() : answer.status;
    };
    const paths = ['/', '/guide/', '/guide/start', '/guide/start.html', '/none'];
    const expected = ['index.html', 'guide/index.html', 'guide/start.html', 'guide/start.html', 404];
    expect(await Promise.all(paths.map(read))).toEqual(expected);
  });

  it('a function of the CDN: names the file in the bucket', () => {
    const uriFor = (uri: string) => runInNewContext(`${blocks('js')[0]}; handler({ request: { uri } }).uri`, { uri });
    const asked = ['/', '/guide/', '/guide/start', '/guide/start.html', '/app.js'];
    const files = ['/index.html', '/guide/index.html', '/guide/start.html', '/guide/start.html', '/app.js'];
    expect(asked.map(uriFor)).toEqual(files);
  });

  it('crane: pushes the archive as the only layer of an image', async ({ skip }) => {
    const registry = await startRegistry();
    const found = registry && (await recipe('push-image.sh', 'crane', ['{url}', '{version}', `${registry}/docs`]));
    if (!found) return skip();
    const root = join(found.directory, 'b');
    const server = await startBundleServer({ root, port: 0 });
    onTestFinished(() => server.stop());
    await found.take(`${server.url}/${domain}/versions/${version}/bundle.tar.gz`);
    const { stdout } = await promisify(execFile)('crane', ['manifest', `${registry}/docs:current`]);
    expect(JSON.parse(stdout).layers).toMatchObject([{ digest: `sha256:${found.manifest.archive.sha256}` }]);
  });

  it('helm: hands the three values over as text, and waits', async ({ skip }) => {
    const found = await recipe('helm-upgrade.sh', 'helm', ['{version}', '{url}']);
    if (found === null) return skip();
    await cp(fileURLToPath(new URL('../../deploy/chart', import.meta.url)), join(found.directory, 'chart'), {
      recursive: true,
    });
    // Without a cluster helm says that it cannot reach one: the arguments are right, and the version is not to blame.
    await expect(found.take('http://bundles.example/x')).rejects.toMatchObject({
      name: 'TargetRefused',
      message: expect.stringMatching(/cluster|connect|kube/i),
    });
  });
});

/** Null where crane is missing. */
async function startRegistry(): Promise<string | null> {
  const port = await findFreePort();
  const child = spawn('crane', ['registry', 'serve', '--address', `127.0.0.1:${port}`], { stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  const failed = new Promise<null>((resolve) => child.once('error', () => resolve(null)));
  const ready = (async () => {
    while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 50));
    return `127.0.0.1:${port}`;
  })();
  return Promise.race([failed, ready]);
}

function commandsOf(block: string): string[] {
  return block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
}

/** What the commands print; throws when one of them fails. There is no API key in their environment. */
async function shell(cwd: string, commands: readonly string[] = []): Promise<string> {
  expect(commands.length).toBeGreaterThan(0);
  const starter = fileURLToPath(new URL('../../dist/src/starter.js', import.meta.url));
  const script = ['set -eu', 'npx() { shift; node "$STARTER" "$@"; }', ...commands].join('\n');
  const env = { PATH: process.env.PATH, HOME: cwd, STARTER: starter };
  return (await promisify(execFile)('/bin/sh', ['-c', script], { cwd, env })).stdout;
}
