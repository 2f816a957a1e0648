import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { publishSite, smallSiteVersion } from '../../../tools/bundle/published-version.ts';
import { docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';

const domain = 'docs.acme.example';
const digest = smallSiteVersion.split('-')[1];
const [first, second, third] = ['20261120T040200Z', '20261121T040200Z', '20261121T160200Z'].map(
  (time) => `${time}-${digest}`,
) as [string, string, string];

/** Three versions, all of them in service one after the other but those left out; no Temporal. */
async function place(neverServed: readonly string[] = []) {
  const cwd = await folderWithConfig({
    organizations: `  - id: acme
    apiKey: dk_admin_acme
    sites: [{ domain: ${domain}, rollout: [{ directory: { path: ./site } }] }]
`,
  });
  const root = join(cwd, 'data/bundles');
  let epoch = 0;
  for (const version of [first, second, third]) {
    const { store } = await publishSite({ root, domain, version });
    if (neverServed.includes(version)) continue;
    await store.moveCurrent(domain, version, epoch, new Date());
    epoch += 1;
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
  expect(await run('diff', domain, '20261120', 'previous')).toMatchObject({
    document: { from: { version: first }, to: { version: second } },
  });
  // It is understood, and only then Temporal is missing.
  expect(await run('rollback', domain, 'previous')).toMatchObject({ exitCode: 3 });
  expect(await run('rollback', domain, '20261121')).toMatchObject({
    exitCode: 2,
    document: { error: { hint: `published: ${third}, ${second}` } },
  });
  const begun = `${digest}`.slice(0, 6);
  expect(await run('diff', domain, begun)).toMatchObject({
    exitCode: 2,
    document: { error: { message: `${begun} is the beginning of several versions` } },
  });
  expect(await run('deploy-local', domain, 'previous')).toMatchObject({ exitCode: 0, document: { version: second } });
  expect(await run('deploy-local', domain, '20261120')).toMatchObject({ exitCode: 0, document: { version: first } });
});

it('previous is a version that readers had, not one that was only stored', async () => {
  const run = await place([second]);
  expect(await run('deploy-local', domain, 'previous')).toMatchObject({ exitCode: 0, document: { version: first } });
  const alone = await place([first, second]);
  expect(await alone('rollback', domain, 'previous')).toMatchObject({
    exitCode: 4,
    document: { error: { message: `no version of ${domain} was in service before ${third}` } },
  });
});

it('too little of a name does nothing, even where only one version has it', async () => {
  const run = await place();
  for (const wanted of ['2026112', '20261120'.slice(0, 6), `${digest}`.slice(0, 5)]) {
    expect(await run('rollback', domain, wanted)).toMatchObject({
      exitCode: 2,
      document: {
        error: {
          message: `${wanted} is too little to name a version: give eight digits of its time, or six characters of its digest`,
        },
      },
    });
  }
  expect(await run('rollback', domain, '2026112016')).toMatchObject({ exitCode: 4 });
});

it('on a terminal, a rollback shows what changes and asks first', async () => {
  const run = await place();
  const { stdin } = process;
  const said: string[] = [];
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => {
    Object.defineProperty(process, 'stdin', { value: stdin });
    stderr.mockRestore();
  });
  const typing = (typed: string) => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    input.end(typed);
    Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  };
  typing('n\n');
  expect(await run('rollback', domain, 'previous')).toMatchObject({
    exitCode: 1,
    document: { error: { code: 'Declined', message: 'cancelled, nothing changed' } },
  });
  expect(said.join('')).toMatch(
    new RegExp(`in service +${third}\\s+then +${second}, held[^]+pages +0 added[^]+roll back\\?`),
  );
  // Asked no more, it looks for Temporal.
  typing('n\n');
  expect(await run('rollback', domain, 'previous', '--yes')).toMatchObject({ exitCode: 3 });
  typing('y\n');
  expect(await run('rollback', domain, 'previous')).toMatchObject({ exitCode: 3 });
});
