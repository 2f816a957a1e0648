import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bin, docferry, folderWithConfig } from '../../../tools/cli/run-docferry.ts';

const organizations = `  - id: acme
    apiKey: \${NOT_SET_IN_THIS_SHELL}
    projects: [{ id: prj_10 }, { id: prj_2, name: Handbook }]
    sites: [{ domains: [docs10.acme.example, docs2.acme.example, blog.acme.example] }]
  - { id: beta, apiKey: k }
`;

async function completed(cwd: string, ...words: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await docferry(['complete', '--', ...words], { cwd });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
}

describe('completion', () => {
  it('knows commands, flags and choices', async () => {
    const cwd = await folderWithConfig({ organizations });
    expect(await completed(cwd, 'fee')).toEqual(['feedback']);
    expect(await completed(cwd, 'budget', 'p')).toEqual(['pause', 'plan']);
    expect(await completed(cwd, 'compl')).toEqual(['completion']);
    expect(await completed(cwd, 'completion', '')).toEqual(['bash', 'fish', 'zsh']);
    expect(await completed(cwd, 'feedback', 'sync', '--pa')).toEqual(['--pass']);
    expect(await completed(cwd, 'feedback', 'sync', 'prj_2', '--pass', 'r')).toEqual(['review']);
    expect(await completed(cwd, 'export', 'start', '--js')).toEqual(['--json']);
    const { stdout } = await docferry(['--json', 'complete', '--', 'expo'], { cwd });
    expect(JSON.parse(stdout)).toEqual({ candidates: [{ word: 'export', meaning: expect.stringMatching(/./) }] });
  });

  it('knows the names in the configuration, in natural order, whatever else is missing', async () => {
    const cwd = await folderWithConfig({ organizations });
    expect(await completed(cwd, 'export', 'start', 'd')).toEqual(['docs2.acme.example', 'docs10.acme.example']);
    expect(await completed(cwd, '--json', 'feedback', 'stats', '')).toEqual(['prj_2', 'prj_10']);
    expect(await completed(cwd, 'budget', 'show', '')).toEqual(['acme', 'beta']);
    expect(await completed(cwd, 'budget', 'show', 'acme', '')).toEqual([]);
    expect(await completed('/', 'budget', 'show', '')).toEqual([]);
    expect(await completed('/', '--config', join(cwd, 'docferry.yaml'), 'budget', 'show', 'b')).toEqual(['beta']);
  });

  it('works in bash', async () => {
    const cwd = await folderWithConfig({ organizations });
    await writeFile(join(cwd, 'docferry'), `#!/bin/sh\nexec ${process.execPath} ${bin} "$@"\n`);
    await chmod(join(cwd, 'docferry'), 0o755);
    const { stdout: script } = await docferry(['completion', 'bash']);
    const press = `COMP_WORDS=(docferry export start do); COMP_CWORD=3; _docferry; IFS=,; echo "\${COMPREPLY[*]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${script}\n${press}`], {
      cwd,
      encoding: 'utf8',
      env: { PATH: `${cwd}:${process.env.PATH}` },
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'docs2.acme.example,docs10.acme.example\n', stderr: '' });
  });

  it('names the shells it knows', async () => {
    for (const shell of ['zsh', 'fish']) {
      expect((await docferry(['completion', shell])).stdout).toContain('docferry complete -- ');
    }
    expect((await docferry(['completion', 'cmd'])).exitCode).toBe(2);
  });
});
