import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { untouchedView, type WindowView } from '../../../src/budget/rules/window-view.ts';
import { ConsoleReader } from '../../../src/console/readings/console-reader.ts';
import { usualTimes } from '../../../src/console/readings/shared-reading.ts';
import { publishSite, smallSiteVersion } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';

it('expects delays of the window as it is now, not as it was when the console started', async () => {
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const limits = { requests: 100, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
  const state: WindowView = { ...untouchedView(limits) };
  const setting = fakeSetting({ calls: [], auditEntries: [] }, { state });
  const feedback = await setting.openFeedback();
  const asked: number[] = [];
  const waits: number[] = [];
  const refreshDelays = async (_organization: unknown, { limit }: { limit: number }) => {
    asked.push(limit);
    return new Map();
  };
  const openFeedback = async () => ({ ...feedback, refreshDelays }) as never;
  const budget = (limit: number) => ({
    ...setting,
    openFeedback,
    askWorker: async (_client: unknown, _ask: unknown, withinMs?: number) => {
      waits.push(Number(withinMs));
      return { ...state, limit } as never;
    },
  });
  const changing = { ...budget(100) };
  const reader = new ConsoleReader(changing, { freshMs: 10, maxWaitMs: 5_000, firstMs: 5_000 });
  await reader.budgets.get();
  changing.askWorker = budget(20).askWorker;
  vi.setSystemTime(Date.now() + 600_000);
  await reader.budgets.get();
  expect(asked).toEqual([100, 20]);
  // A silent worker must not keep the first page from coming.
  expect(Math.max(...waits)).toBeLessThan(usualTimes.firstMs);
});

it('shows the drift of all sites but those whose record is damaged, and names these', async () => {
  const domains = ['docs.acme.example', 'api.acme.example', 'help.acme.example'];
  const [damaged = '', drifted = '', good = ''] = domains;
  const root = await tempFolder();
  const target = 'directory:./site';
  const since = '2026-11-21T04:02:00.000Z';
  const { store } = await publishSite({ root, domain: damaged, version: smallSiteVersion });
  for (const domain of [drifted, good]) await publishSite({ root, domain, version: smallSiteVersion });
  for (const domain of domains) {
    await store.moveCurrent(domain, smallSiteVersion, 0, new Date());
    await store.recordRollout(domain, target, smallSiteVersion);
    const version = domain === good ? smallSiteVersion : 'v-old';
    await store.recordObserved(domain, { [target]: { runs: 'version', version, why: null, since } });
  }
  await writeFile(join(root, damaged, 'observed.json'), '{"dir');
  const setting = {
    ...fakeSetting({ calls: [], auditEntries: [] }, { domains }),
    openBundles: async () => store,
  };
  const { overview } = new ConsoleReader(setting, { freshMs: 1, maxWaitMs: 5_000, firstMs: 5_000 });
  // The first overview does not wait for the drift.
  await expect.poll(async () => (await overview.get()).value.drifts.has(drifted)).toBe(true);
  const { drifts, unavailable } = (await overview.get()).value;
  expect([...drifts.keys()]).toEqual([drifted]);
  expect(unavailable).toMatchObject([
    {
      part: 'bundle store',
      message: `${damaged}/observed.json in the bundle store is damaged`,
      unknown: `drifted targets of ${damaged}`,
    },
  ]);
});
