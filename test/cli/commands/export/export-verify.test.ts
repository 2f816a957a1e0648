import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { smallSite, tarGz } from '../../../tools/bundle/build-archive.ts';
import { docferry, docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';

async function folderWith(archives: Record<string, Buffer>): Promise<string> {
  const folder = await emptyFolder();
  for (const [name, bytes] of Object.entries(archives)) await writeFile(join(folder, name), bytes);
  return folder;
}

describe('export verify', () => {
  it('accepts a good archive without configuration or Temporal', async () => {
    const cwd = await folderWith({ 'bundle.tar.gz': tarGz(smallSite) });
    const { exitCode, document, stderr } = await docferryJson(['export', 'verify', 'bundle.tar.gz'], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(document).toMatchObject({
      ok: true,
      format: 'tar.gz',
      reasons: [],
      warnings: [],
      files: 3,
      pages: 2,
      contentDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('refuses a bad one with exit code 1 and the reasons', async () => {
    const cwd = await folderWith({ 'bad.tar.gz': tarGz([...smallSite, { name: '../escape.html', content: 'x' }]) });
    const { exitCode, document } = await docferryJson(['export', 'verify', 'bad.tar.gz'], { cwd });
    expect(exitCode).toBe(1);
    expect(document).toMatchObject({ ok: false, contentDigest: null });
    expect(document.reasons).toEqual([
      { rule: expect.any(String), path: expect.stringContaining('escape.html'), detail: expect.any(String) },
    ]);
    const { stdout } = await docferry(['export', 'verify', 'bad.tar.gz'], { cwd });
    expect(stdout).toMatch(/^bad\.tar\.gz: refused\n/);
    expect(stdout).toContain('escape.html');
  });

  it('leaves out the rules about the site with --structure-only', async () => {
    const cwd = await folderWith({ 'data.tar.gz': tarGz([{ name: 'data.csv', content: '1,2' }]) });
    expect((await docferry(['export', 'verify', 'data.tar.gz'], { cwd })).exitCode).toBe(1);
    const structure = await docferry(['export', 'verify', 'data.tar.gz', '--structure-only'], { cwd });
    expect(structure).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('0 pages, 1 file, ') });
  });

  it('lists every file with --explain', async () => {
    const cwd = await folderWith({ 'bundle.tar.gz': tarGz(smallSite) });
    const { stdout } = await docferry(['export', 'verify', 'bundle.tar.gz', '--explain'], { cwd });
    expect(stdout).toMatch(/^ {2}[0-9a-f]{64} {2}\d+ {2}guide\/start\.html$/m);
  });

  it('ends with 4 for a missing file and with 2 for a folder', async () => {
    const missing = await docferryJson(['export', 'verify', 'nothing.zip']);
    expect(missing.exitCode).toBe(4);
    expect(missing.document).toHaveProperty('error.code', 'NoSuchFile');
    expect((await docferryJson(['export', 'verify', '.'])).exitCode).toBe(2);
  });
});
