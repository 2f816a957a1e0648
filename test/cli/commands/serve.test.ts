import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findFreePort } from '../../../src/local/ports.ts';
import { publishSite } from '../../tools/bundle/published-version.ts';
import { docferry, folderWithConfig } from '../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const version = '20261121T040200Z-aaaaaaaaaaaa';

it('serves with the token and the limits of the configuration', async () => {
  const cwd = await folderWithConfig();
  await publishSite({ root: join(cwd, 'data', 'bundles'), domain, version });
  const config = await readFile(join(cwd, 'docferry.yaml'), 'utf8');
  const server = `server: { token: "\${BUNDLES_TOKEN}", readers: 1 }`;
  await writeFile(join(cwd, 'docferry.yaml'), `${config}store: { bundles: { ${server} } }\n`);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/${domain}/versions/${version}/manifest.json`;
  const statuses: number[] = [];
  let asked: Promise<void> | null = null;
  const finished = await docferry(['serve', '--bundle-port', `${port}`], {
    cwd,
    env: { BUNDLES_TOKEN: 'swordfish-4f1c' },
    onOutput: (child, said) => {
      if (!said.includes('serve: ready')) return;
      asked ??= (async () => {
        for (const token of ['swordfish', 'swordfish-4f1c']) {
          statuses.push((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status);
        }
      })().finally(() => child.kill('SIGTERM'));
    },
  });
  await asked;
  expect(statuses).toEqual([401, 200]);
  expect(finished.exitCode).toBe(0);
  expect(finished.stdout + finished.stderr).not.toContain('swordfish');
});

it('says so when it serves others without a token', async () => {
  const cwd = await folderWithConfig();
  const port = await findFreePort();
  const { stderr } = await docferry(['serve', '--bundle-port', `${port}`, '--bundle-host', '0.0.0.0'], {
    cwd,
    onOutput: (child, said) => void (said.includes('serve: ready') && child.kill('SIGTERM')),
  });
  expect(stderr).toContain('served at 0.0.0.0 without a token');
});

it.each([
  ['serve', '--bundle-port'],
  ['up', '--no-server', '--console-port', 'off', '--bundle-port'],
])('ends with the name of the variable where the token is not set: %s', async (...command) => {
  const cwd = await folderWithConfig();
  const config = await readFile(join(cwd, 'docferry.yaml'), 'utf8');
  await writeFile(
    join(cwd, 'docferry.yaml'),
    `${config}store: { bundles: { server: { token: "\${BUNDLES_TOKEN}" } } }\n`,
  );
  const { exitCode, stderr } = await docferry([...command, `${await findFreePort()}`], {
    cwd,
    env: { ACME_API_KEY: 'k' },
  });
  expect(stderr).toContain('the environment variable BUNDLES_TOKEN is not set');
  expect(exitCode).toBe(2);
});
