import { join } from 'node:path';
import { expect, it } from 'vitest';
import { publishSite, smallSiteVersion } from '../../../tools/bundle/published-version.ts';
import { docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const digest = smallSiteVersion.split('-')[1];
const [first, second, third] = ['20261120T040200Z', '20261121T040200Z', '20261121T160200Z'].map(
  (time) => `${time}-${digest}`,
) as [string, string, string];

/** Three versions, the last of them current; no Temporal. */
async function place() {
  const cwd = await folderWithConfig({
    organizations: `  - id: acme
    apiKey: dk_admin_acme
    sites: [{ domain: ${domain}, rollout: [{ directory: { path: ./site } }] }]
`,
  });
  const root = join(cwd, 'data/bundles');
  for (const version of [first, second, third]) {
    const { store } = await publishSite({ root, domain, version });
    if (version === third) await store.moveCurrent(domain, third, 0, new Date());
  }
  return (...args: string[]) => docferryJson(['export', ...args], { cwd });
}

it('a name that no version has is exit code 4 before anything is started, with what may be meant', async () => {
  const run = await place();
  const unknown = (message: string, hint: RegExp) => ({
    exitCode: 4,
    document: { error: { code: 'NoSuchVersion', message, hint: expect.stringMatching(hint) } },
  });
  const none = unknown(`${domain} has no version "nope"`, new RegExp(`^published: ${third}, ${second}, ${first}$`));
  expect(await run('rollback', domain, 'nope')).toMatchObject(none);
  expect(await run('deploy-local', domain, 'nope')).toMatchObject(none);
  expect(await run('diff', domain, 'nope')).toMatchObject(none);
  const typo = `${first.slice(0, -1)}9`;
  const near = unknown(`${domain} has no version "${typo}"`, new RegExp(`^did you mean ${first}\\?`));
  expect(await run('rollback', domain, typo)).toMatchObject(near);
  expect(await run('rollback', domain, 'previuos')).toMatchObject({
    document: { error: { hint: expect.stringMatching(/^did you mean previous\?/) } },
  });
  expect(await run('rollback', domain, '../../etc')).toMatchObject({ exitCode: 4 });
});

it('previous and a beginning that is unique are enough', async () => {
  const run = await place();
  expect(await run('deploy-local', domain, 'previous')).toMatchObject({ exitCode: 0, document: { version: second } });
  expect(await run('deploy-local', domain, '20261120')).toMatchObject({ exitCode: 0, document: { version: first } });
  expect(await run('diff', domain, '20261120', 'previous')).toMatchObject({
    document: { from: { version: first }, to: { version: second } },
  });
  // It is understood, and only then Temporal is missing.
  expect(await run('rollback', domain, 'previous')).toMatchObject({ exitCode: 3 });
  expect(await run('rollback', domain, '20261121')).toMatchObject({
    exitCode: 2,
    document: { error: { hint: `published: ${third}, ${second}` } },
  });
});
