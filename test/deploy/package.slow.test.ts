import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../tools/bundle/temp-folder.ts';

interface Lockfile {
  packages: Record<string, { dev?: boolean }>;
}

const run = promisify(execFile);
const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
const lockfile: Lockfile = JSON.parse(readFileSync('package-lock.json', 'utf8'));

/**
 * Installs the packed package as npm would, without network: its files into an empty folder's `node_modules`, and beside
 * it links to the dependencies here, but for those of development.
 */
async function installed(): Promise<{ folder: string; bin: string }> {
  const folder = await tempFolder();
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]);
  const [{ filename }]: [{ filename: string }] = JSON.parse(stdout);
  await run('tar', ['-xzf', join(folder, filename), '-C', folder]);
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  await rename(join(folder, 'package'), join(modules, 'docferry'));
  for (const [path, { dev }] of Object.entries(lockfile.packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || dev) continue;
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(resolve(path), join(modules, name));
  }
  const { bin }: { bin: { docferry: string } } = JSON.parse(
    readFileSync(join(modules, 'docferry', 'package.json'), 'utf8'),
  );
  return { folder, bin: join(modules, 'docferry', bin.docferry) };
}

describe('the package that npm pack makes', () => {
  it('shows its version and runs the demo from an empty folder', async () => {
    const { bin } = await installed();
    const cwd = await tempFolder();
    const docferry = async (...args: string[]) => (await run(process.execPath, [bin, ...args], { cwd })).stdout;
    expect(await docferry('--version')).toBe(`${version}\n`);
    const { export: site, feedback } = JSON.parse(await docferry('demo', '--json'));
    expect(site).toMatchObject({ outcome: 'published', version: expect.any(String) });
    expect(feedback.entries.inserted).toBeGreaterThan(0);
    expect(await readdir(cwd)).toEqual(['demo-data']);
  });

  it('holds what runs and what one reads, and nothing of tests, benches and sources', async () => {
    const { folder } = await installed();
    const files = await readdir(join(folder, 'node_modules', 'docferry'), { recursive: true });
    const top = new Set(
      files.map((file) =>
        file
          .split('/')
          .slice(0, file.startsWith('dist/') ? 2 : 1)
          .join('/'),
      ),
    );
    expect([...top].sort()).toEqual([
      'LICENSE',
      'README.md',
      'dist',
      'dist/sandbox',
      'dist/src',
      'dist/workflow-bundle.js',
      'docferry.example.yaml',
      'docs',
      'package.json',
    ]);
    expect(files.filter((file) => /\.(ts|map)$/.test(file))).toEqual([]);
  });
});
