import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bin, docferry, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { hasTerminals, TerminalSession } from '../../tools/cli/terminal-session.ts';

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

  it.each([
    ['bash', 'bash --norc --noprofile -i', 'PS1="ready> "; source <(docferry completion bash)'],
    ['zsh', 'zsh -f -i', 'PS1="ready> "; autoload -U compinit; compinit -u -D; source <(docferry completion zsh)'],
    ['fish', 'fish --no-config -i', 'function fish_prompt; echo -n "ready> "; end; docferry completion fish | source'],
  ])('works in %s, as a person types', async (shell, command, preparation) => {
    const lacking = hasTerminals ? (spawnSync(shell, ['--version']).error ? shell : null) : "util-linux's script";
    if (lacking !== null) return void process.stderr.write(`  not tested: ${lacking} is not installed\n`);
    const cwd = await folderWithConfig({ organizations });
    // What completes is the built program; what is then run is only shown.
    const real = `exec ${process.execPath} ${bin} "$@"`;
    const program = `#!/bin/sh\ncase "$1" in comp*) ${real};; esac\necho "RUN: $*"\n`;
    await writeFile(join(cwd, 'docferry'), program);
    await chmod(join(cwd, 'docferry'), 0o755);
    const person = new TerminalSession(command, { cwd, env: { PATH: `${cwd}:${process.env.PATH}` } });
    person.type(`${preparation}; echo now ready\n`);
    await person.says(/^now ready/m);
    // A word with one way to go on, a name of the configuration, and a flag.
    person.type('docferry expo\t');
    await person.says('docferry export');
    person.type('start docs1\t');
    await person.says('docs10.acme.example');
    person.type('--on-ru\t');
    await person.says('--on-running');
    person.type('refuse\n');
    await person.says(/^RUN: export start docs10\.acme\.example --on-running refuse/m);
  });

  it('names the shells it knows', async () => {
    for (const shell of ['zsh', 'fish']) {
      expect((await docferry(['completion', shell])).stdout).toContain('docferry complete -- ');
    }
    expect((await docferry(['completion', 'cmd'])).exitCode).toBe(2);
  });
});
