import { expect, it, vi } from 'vitest';
import { driftedTargets } from '../../src/activities/watch-steps.ts';
import { domain, first, second, siteOfTwoVersions } from '../tools/bundle/two-versions.ts';

/** A site whose only target runs what `running` says. */
async function setOut() {
  const { bundles, acme, site } = await siteOfTwoVersions();
  await bundles.recordRollout(domain, 'shelf', first);
  const running: { version: string | null } = { version: first };
  const shelf = { name: 'shelf', runningVersion: async () => running.version, rollOut: () => expect.fail() };
  const watched = { ...acme, sites: [{ ...site, targets: [shelf] }] };
  return {
    bundles,
    running,
    watched,
    deps: { bundles, organizations: [watched, { ...acme, id: 'globex', sites: [] }] },
  };
}

it('names a target that was rolled out to and runs another version, and no other', async () => {
  const { running, watched, deps } = await setOut();
  expect(await driftedTargets(deps, watched)).toEqual([]);
  running.version = second;
  expect(await driftedTargets(deps, watched)).toEqual([{ domain, target: 'shelf', version: first, running: second }]);
  running.version = null;
  expect(await driftedTargets(deps, watched)).toEqual([]);
});

it('is not misled by a listing from before a rollout that is not recorded yet, and shares it with other looks', async () => {
  const { bundles, running, watched, deps } = await setOut();
  const [listed, read] = [vi.spyOn(bundles, 'inService'), vi.spyOn(bundles, 'current')];
  expect(await driftedTargets(deps, watched)).toEqual([]);
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([1, []]);
  await bundles.moveCurrent(domain, second, 1, new Date());
  running.version = second;
  expect(await driftedTargets(deps, watched)).toEqual([]);
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([1, [[domain]]]);
});
