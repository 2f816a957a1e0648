import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** The linter's findings, with this project's settings, in a folder that holds one file with this content. */
function lint(path: string, code: string): { ok: boolean; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'docferry-lint-'));
  folders.push(folder);
  cpSync('biome.json', join(folder, 'biome.json'));
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), `${code}\n`);
  const { status, stdout, stderr } = spawnSync(
    resolve('node_modules/.bin/biome'),
    ['lint', '--error-on-warnings', '--vcs-enabled=false', '--colors=off', '.'],
    { cwd: folder, encoding: 'utf8' },
  );
  return { ok: status === 0, output: stdout + stderr };
}

describe('the layers of architecture.md are kept by the linter', () => {
  it.each([
    ['src/model/x.ts', "import { x } from '../service/x.ts';\nexport const y = x;"],
    ['src/model/x.ts', "import { readFileSync } from 'node:fs';\nexport const y = readFileSync;"],
    ['src/model/x.ts', "import { sleep } from '@temporalio/workflow';\nexport const y = sleep;"],
    ['src/workflows/x.ts', "import { readFileSync } from 'node:fs';\nexport const y = readFileSync;"],
    ['src/workflows/x.ts', "import axios from 'axios';\nexport const y = axios;"],
    ['src/workflows/x.ts', "import { x } from '../feedback/x.ts';\nexport const y = x;"],
    ['src/service/x.ts', "import { x } from '../bundle/x.ts';\nexport const y = x;"],
    ['src/bundle/x.ts', "import { x } from '@temporalio/common';\nexport const y = x;"],
    ['src/webhooks/x.ts', "import { x } from '../service/x.ts';\nexport const y = x;"],
    ['src/workflows/x.ts', "import { x } from '../webhooks/x.ts';\nexport const y = x;"],
    ['src/activities/x.ts', "import { x } from '../cli/x.ts';\nexport const y = x;"],
    ['src/feedback/x.ts', "import { x } from '../report/x.ts';\nexport const y = x;"],
    ['src/report/x.ts', "import { x } from '../feedback/x.ts';\nexport const y = x;"],
    ['src/model/x.ts', "import { init } from 'echarts/core';\nexport const y = init;"],
    ['src/cli/x.ts', "import { x } from '../service/x.ts';\nexport const y = x;"],
    ['sandbox/x.ts', "import { x } from '../src/model/x.ts';\nexport const y = x;"],
    ['src/cli/x.ts', "console.log('printed past src/cli/terminal/output.ts');"],
  ])('refuses in %s: %s', (path, code) => {
    const { ok, output } = lint(path, code);
    expect(ok).toBe(false);
    expect(output).toMatch(/noRestrictedImports|noNodejsModules|noConsole/);
  });

  it.each([
    ['src/workflows/x.ts', "import type { Activities } from '../activities/index.ts';\nexport type Y = Activities;"],
    ['src/activities/x.ts', "import { x } from '../service/x.ts';\nexport const y = x;"],
    ['src/cli/x.ts', "import { x } from '../client/x.ts';\nexport const y = x;"],
    ['src/report/x.ts', "import { x } from '../model/x.ts';\nexport const y = x;"],
  ])('allows in %s: %s', (path, code) => {
    const { ok, output } = lint(path, code);
    expect(output).not.toContain('Found');
    expect(ok).toBe(true);
  });
});
