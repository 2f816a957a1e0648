import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { load } from '../config/config-folder.ts';
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
      ['helmValues:deploy/values.yaml'],
      ['helmValues:deploy/values.yaml'],
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
    const [domain, version] = ['docs.acme.example', smallSiteVersion];
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
