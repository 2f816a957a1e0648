import { describe, expect, it } from 'vitest';
import { type BundleStore, NoSuchVersion } from '../../../src/exports/store/bundle-store.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, runningConsole, signIn } from '../../tools/console/running-console.ts';

const address = (version: string) => `/sites/acme/docs.acme.example/changes/${version}`;

/** Asks for what a version changes, of a store with these manifests. */
async function changesOf(version: string, manifest: BundleStore['manifest'], times = 1) {
  const setting = fakeSetting({ calls: [], auditEntries: [] });
  const store = await setting.openBundles();
  const openBundles = async () => ({ ...store, manifest });
  const console = await runningConsole({ setting: { ...setting, openBundles } });
  const headers = { cookie: await signIn(console) };
  const answers = await Promise.all(Array.from({ length: times }, () => ask(console, address(version), { headers })));
  return answers.map(({ status, text }) => ({ status, text }));
}

const manifestOf = (version: string) => ({
  version,
  contentDigest: version,
  archive: { sha256: '', bytes: 1, format: 'tar' as const },
  pages: 1,
  files: [{ path: 'index.html', bytes: 1, sha256: '' }],
  source: { org: 'acme', domain: 'docs.acme.example', jobId: 'j' },
});

describe('the address of what a version changes', () => {
  it('answers everybody from one reading of the store', async () => {
    let read = 0;
    const answers = await changesOf(
      'v2',
      async (_domain, version) => {
        if (version === 'v2') read += 1;
        return manifestOf(version);
      },
      20,
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(read).toBe(1);
  });

  it('says that a version is gone, as when retention has removed it', async () => {
    const [answer] = await changesOf('v2', async (_domain, version) => {
      if (version === 'v2') throw new NoSuchVersion('there is no version v2');
      return manifestOf(version);
    });
    expect(answer?.status).toBe(410);
    expect(answer?.text).toContain('That version is gone');
    expect(answer?.text).toContain('href="/sites/acme/docs.acme.example"');
  });

  it.each(['..%2f..%2fsecret', '%2e%2e', 'a%2fb', '%00', '%ff', 'x'.repeat(300)])(
    'knows no version %s',
    async (name) => {
      const asked: string[] = [];
      const [answer] = await changesOf(name, async (_domain, version) => {
        asked.push(version);
        return manifestOf(version);
      });
      expect([400, 404]).toContain(answer?.status);
      expect(asked.filter((version) => !version.startsWith('2026'))).toEqual([]);
    },
  );
});
