import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linksCheck } from '../../../../src/cli/commands/doctor-installation.ts';
import { configJsonSchema } from '../../../../src/config/json-schema.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { docferry, docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';

describe('config init', () => {
  it('writes the example, which passes the check unchanged', async () => {
    const cwd = await emptyFolder();
    const { exitCode, document } = await docferryJson(['config', 'init'], { cwd });
    const out = join(cwd, 'docferry.yaml');
    expect({ exitCode, document }).toEqual({ exitCode: 0, document: { out } });
    expect(await readFile(out, 'utf8')).toBe(await readFile('docferry.example.yaml', 'utf8'));
    expect((await docferry(['config', 'check'], { cwd, env: { ACME_API_KEY: 'k' } })).exitCode).toBe(0);
  });

  it('is safe for a real service as it stands, and has the sandbox only where that is asked for', async () => {
    const cwd = await emptyFolder();
    const read = async (file: string) => loadConfig({ env: { ACME_API_KEY: 'k' }, cwd, file, secrets: 'required' });
    for (const args of [
      ['--out', 'real.yaml'],
      ['--trial', '--out', 'sandbox.yaml'],
    ]) {
      expect((await docferry(['config', 'init', ...args], { cwd })).exitCode).toBe(0);
    }
    const real = await read('real.yaml');
    expect(real.service).toMatchObject({ allowInsecure: false, linkHosts: [] });
    expect(real.service.baseUrl).toMatch(/^https:/);
    expect(linksCheck(real.service).level).toBe('ok');
    const sandbox = await read('sandbox.yaml');
    expect(sandbox.service).toMatchObject({ baseUrl: 'http://127.0.0.1:8787', allowInsecure: true });
    expect(linksCheck(sandbox.service).level).toBe('ok');
    expect([real.console.write, sandbox.console.write]).toEqual([false, true]);
    const same = await docferry(['config', 'init', '--sandbox', '--out', '-'], { cwd });
    expect(same.stdout).toBe(await readFile(join(cwd, 'sandbox.yaml'), 'utf8'));
  });

  it('never replaces a file without --force', async () => {
    const cwd = await emptyFolder();
    const file = join(cwd, 'docferry.yaml');
    await writeFile(file, 'mine');
    const { exitCode, document } = await docferryJson(['config', 'init'], { cwd });
    expect(exitCode).toBe(2);
    expect(document).toHaveProperty('error.hint', expect.stringContaining('--force'));
    expect(await readFile(file, 'utf8')).toBe('mine');
    expect((await docferry(['config', 'init', '--force'], { cwd })).exitCode).toBe(0);
    expect(await readFile(file, 'utf8')).toContain('organizations:');
  });

  it('writes the file that the other commands read, or the one that --out names', async () => {
    const cwd = await emptyFolder();
    const env = { DOCFERRY_CONFIG: join(cwd, 'of-variable.yaml'), ACME_API_KEY: 'k' };
    for (const args of [[], ['--config', 'of-flag.yaml'], ['--config', 'of-flag.yaml', '--out', 'of-out.yaml']]) {
      expect((await docferry(['config', 'init', ...args], { cwd, env })).exitCode).toBe(0);
    }
    for (const name of ['of-variable', 'of-flag', 'of-out']) {
      expect((await docferry(['config', 'check', '--config', `${name}.yaml`], { cwd, env })).exitCode).toBe(0);
    }
    expect((await docferry(['config', 'init', '--out', 'nowhere/x.yaml'], { cwd })).exitCode).toBe(2);
  });
});

describe('config init --out -', () => {
  it('prints the example and writes nothing', async () => {
    const cwd = await emptyFolder();
    const { exitCode, stdout } = await docferry(['config', 'init', '--out', '-'], { cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: await readFile('docferry.example.yaml', 'utf8') });
    expect(await readdir(cwd)).toEqual([]);
    const refused = await docferryJson(['config', 'init', '--out', '-'], { cwd });
    expect(refused).toMatchObject({ exitCode: 2, document: { error: { code: 'Usage' } } });
  });
});

describe('config schema', () => {
  it('prints the JSON Schema, with and without --json', async () => {
    for (const args of [
      ['config', 'schema'],
      ['config', 'schema', '--json'],
    ]) {
      const { exitCode, stdout, stderr } = await docferry(args);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual(configJsonSchema());
    }
  });
});
