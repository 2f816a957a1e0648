import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tarGz } from '../../../tools/bundle/build-archive.ts';
import { configText, docferry, docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';
import { chromiumProgram } from '../../../tools/servers/chromium.ts';

const program = await chromiumProgram();

async function archive() {
  const cwd = await emptyFolder();
  const items = [
    { name: 'index.html', content: '<h1>Home</h1>' },
    { name: 'bad.html', content: '<h1>Bad</h1><script>throw new Error("boom")</script>' },
  ];
  await writeFile(join(cwd, 'site.tar.gz'), tarGz(items));
  await writeFile(join(cwd, 'bad.tar.gz'), 'no archive');
  return cwd;
}

const verify = ['export', 'verify', 'site.tar.gz'];

describe.skipIf(program === null)('export verify --render', () => {
  it('opens sampled pages and warns of what they show', async () => {
    const cwd = await archive();
    const flags = ['--render', '5', '--browser', program ?? '', '--no-browser-sandbox'];
    const { exitCode, document } = await docferryJson([...verify, ...flags], { cwd });
    expect([exitCode, document.ok, document.rendered]).toEqual([0, true, ['index.html', 'bad.html']]);
    expect(document.warnings).toContainEqual({ rule: 'page-script-error', path: 'bad.html', detail: 'Error: boom' });
    const { stdout } = await docferry([...verify, ...flags, '--explain'], { cwd });
    expect(stdout).toMatch(/^ {2}rendered +2 pages, without network$/m);
    expect(stdout).toContain('page-script-error: an error that no script of the page catches');
  });

  it('does not open a refused archive', async () => {
    const cwd = await archive();
    const flags = ['--render', '5', '--browser', program ?? '', '--no-browser-sandbox'];
    const { exitCode, document } = await docferryJson(['export', 'verify', 'bad.tar.gz', ...flags], { cwd });
    expect([exitCode, document.ok, document.rendered]).toEqual([1, false, []]);
  });
});

describe('flags about rendering', () => {
  it('are refused in combinations that make no sense', async () => {
    const cwd = await archive();
    const wrong: [flags: string[], named: string][] = [
      [['--render', '0'], '--render is "0"'],
      [['--render', 'all'], '--render is "all"'],
      [['--render', '5', '--structure-only'], '--structure-only'],
      [['--browser', 'x'], '--browser'],
      [['--no-browser-sandbox'], '--no-browser-sandbox'],
    ];
    for (const [flags, named] of wrong) {
      const { exitCode, document } = await docferryJson([...verify, ...flags], { cwd });
      expect(exitCode).toBe(2);
      expect(document).toHaveProperty('error.message', expect.stringContaining(named));
    }
  });

  it('say how to get a browser where there is none, also for a worker that needs one', async () => {
    const cwd = await archive();
    const flags = ['--render', '1', '--browser', 'nowhere', '--no-browser-sandbox'];
    expect(await docferryJson([...verify, ...flags], { cwd })).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'BrowserUnusable', message: `there is no browser ${join(cwd, 'nowhere')}` } },
    });
    const site = '{ domain: d.example, bundle: { render: { pages: 1, browser: ./nowhere, sandbox: false } } }';
    const organizations = `  - { id: acme, apiKey: dk_admin_x, sites: [${site}] }\n`;
    await writeFile(join(cwd, 'docferry.yaml'), configText({ organizations }));
    expect(await docferry(['worker'], { cwd })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`there is no browser ${join(cwd, 'nowhere')}`),
    });
    const { document } = await docferryJson(['doctor'], { cwd });
    expect(document.checks).toContainEqual(expect.objectContaining({ name: 'browser', ok: false }));
  });
});
